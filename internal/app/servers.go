package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"dragoman/channels/terminal"
	"dragoman/internal/console"
	"dragoman/internal/httpapi"
	"dragoman/internal/storage"
)

// serverGrace is how long requests may run on when everything else has ended.
// Streams never end by themselves, so it is short.
const serverGrace = 500 * time.Millisecond

// server is a handler on a listener that is open already: a port in use is an
// error at start, not a line in the log later.
type server struct {
	name    string
	ln      net.Listener
	most    int // connections; 0: no limit
	handler http.Handler
}

func (s *server) addr() string { return s.ln.Addr().String() }

// openServers opens the public port and the operator's socket.
func (d *Daemon) openServers(context.Context) error {
	if err := d.openAdmin(); err != nil {
		return err
	}
	if d.opts.NoHTTP || d.cfg.HTTP.Listen == "off" {
		return nil
	}
	ln, err := net.Listen("tcp", d.cfg.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("app: cannot listen on %s (http.listen in the configuration): %w", d.cfg.HTTP.Listen, err)
	}
	d.public = &server{name: "page", ln: ln, most: maxConnections()}
	d.onClose("the page", closeOnce(ln))
	o := console.Options{
		Addr: ln.Addr().String(), Token: d.cfg.HTTP.Token.Reveal(), Sessions: pageSessions(d.state.File(storage.PageSessionsName)), Failed: d.loginFailed, Logger: d.log,
	}
	if o.Proxies, err = d.cfg.HTTP.Proxies(); err != nil {
		return fmt.Errorf("app: http.trusted_proxies: %w", err)
	}
	if text := d.cfg.HTTP.PublicURL; text != "" {
		if o.PublicURL, err = url.Parse(text); err != nil {
			return fmt.Errorf("app: http.public_url: %w", err)
		}
	}
	o.Ask = httpapi.Ask(d.asker(false))
	if d.channels.web != nil {
		o.Chat, o.Accounts = d.channels.web.Handler(), accounts{d, d.links}
	}
	o.Others = d.tellLogins()
	page, err := console.New(o)
	d.page = page
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d.watchAll()
	probes := httpapi.Public(httpapi.PublicOptions{
		Check: d.checkStore, Ready: d.ready, Channels: d.gateway.Channels, Knows: page.Knows,
	})
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/healthz", probes)
	mux.Handle("/readyz", probes)
	mux.Handle("GET /metrics", page.Protect(d.metrics.Handler()))
	d.public.handler = mux
	return nil
}

func (d *Daemon) openAdmin() error {
	ln, err := httpapi.Listen(storage.Socket(d.state.Path))
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d.onClose("the socket", closeOnce(ln))
	d.eraser = newEraser(d.store, d.state, d.cfg.Store.Type, d.hooks.Emit)
	mux := http.NewServeMux()
	mux.Handle("/", httpapi.Admin(httpapi.AdminOptions{
		Store: d.store, Jobs: d.beats, Info: d.info, Events: d.hooks.Emit, Audit: auditLog(d.state), Eraser: d.eraser,
		Approve: d.gateway.ApprovePairing, Ask: d.asker(true), Nodes: lister(d.peers), Phones: d.links,
	}))
	if d.channels.terminal != nil {
		mux.Handle(terminal.Path+"/", http.StripPrefix(terminal.Path, d.channels.terminal.Handler()))
	}
	d.admin = &server{name: "socket", ln: ln, handler: mux}
	return nil
}

// closeOnce closes a listener that its server has usually closed already.
func closeOnce(ln net.Listener) func() error {
	return func() error {
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

var started = time.Now()

// info is what status tells about this process.
func (d *Daemon) info() httpapi.Info {
	turns, oldest := d.gateway.Running()
	trouble, _ := d.models.Trouble()
	i := httpapi.Info{
		Version: d.opts.Version, PID: os.Getpid(), Started: started, Config: d.cfg.Source().String(),
		StateDir: d.state.Path, Store: d.cfg.Store.Type, Model: d.models.Main.Name(), ModelTrouble: trouble, OtherTroubles: d.models.OtherTroubles(), Running: true,
		Turns: turns, OldestTurnS: oldest.Seconds(), Channels: d.gateway.Channels(), Policy: d.current.Load().Policy(),
	}
	if d.public != nil {
		i.Listen = d.public.addr()
	}
	for _, w := range d.current.Load().Warnings() {
		i.Warnings = append(i.Warnings, w.String())
	}
	i.Warnings = append(i.Warnings, d.models.Warnings()...)
	disk := storage.DiskWarnings(d.cfg)
	i.DiskFull, i.Warnings = len(disk) > 0, append(i.Warnings, disk...)
	i.Warnings = append(i.Warnings, storage.DamageWarnings(d.cfg)...)
	return i
}

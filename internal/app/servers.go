package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/channels/terminal"
	"dragoman/internal/config"
	"dragoman/internal/console"
	"dragoman/internal/httpapi"
	"dragoman/internal/linking"
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
		Addr: ln.Addr().String(), Token: d.cfg.HTTP.Token.Reveal(), Sessions: pageSessions(d.state.file(pageSessionsName)), Failed: d.loginFailed, Logger: d.log,
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
	ln, err := httpapi.Listen(d.state.file(socketName))
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
		StateDir: d.state.path, Store: d.cfg.Store.Type, Model: d.models.Main.Name(), ModelTrouble: trouble, OtherTroubles: d.models.OtherTroubles(), Running: true,
		Turns: turns, OldestTurnS: oldest.Seconds(), Channels: d.gateway.Channels(), Policy: d.current.Load().Policy(),
	}
	if d.public != nil {
		i.Listen = d.public.addr()
	}
	for _, w := range d.current.Load().Warnings() {
		i.Warnings = append(i.Warnings, w.String())
	}
	i.Warnings = append(i.Warnings, d.models.Warnings()...)
	disk := diskWarnings(d.state.path, d.cfg.Store.Type)
	i.DiskFull, i.Warnings = len(disk) > 0, append(i.Warnings, disk...)
	i.Warnings = append(i.Warnings, damageWarnings(d.cfg)...)
	return i
}

// Admin is a client for the operator's verbs: of the daemon that serves this
// state directory, or, if none runs, of the store itself. The caller calls
// release when done; until then no daemon can start on the store.
func Admin(ctx context.Context, cfg *config.Config, who Caller) (c *httpapi.Client, release func(), err error) {
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, fs.ErrNotExist) && !slices.Contains(beginning, who.Verb) {
		return adminOfNothing(ctx, cfg, who)
	}
	state, err := waitState(ctx, cfg.StateDir, who)
	if err != nil {
		if !served(ctx, cfg.StateDir) {
			return nil, nil, err
		}
		c := httpapi.Dial((&stateDir{path: cfg.StateDir}).file(socketName))
		return c, c.Close, nil
	}
	c, closeAll, err := adminOf(ctx, cfg, who, state)
	if err != nil {
		return nil, nil, errors.Join(err, state.unlock())
	}
	return c, func() { closeAll(); _ = state.unlock() }, nil
}

// adminOf is a client for the verbs on the store in state.
func adminOf(ctx context.Context, cfg *config.Config, who Caller, state *stateDir) (c *httpapi.Client, release func(), err error) {
	var undo []func() error
	closeAll := func() (errs error) {
		for _, f := range slices.Backward(undo) {
			errs = errors.Join(errs, f())
		}
		return errs
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	store, err := openStore(ctx, cfg, state, "", nil)
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, store.Close)
	files, err := openMedia(ctx, cfg, state, nil)
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, files.Close)
	beats, err := newBeats(cfg, store, nil, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	beats.idle = true
	told, endHooks := startHooks(cfg)
	undo = append(undo, endHooks)
	filed := filing{wrapStore(store), files, &channelErasers{cfg: cfg}}
	o := httpapi.AdminOptions{
		Store: filed, Jobs: beats, Events: told.Emit, Audit: auditLog(state), Nodes: lister(peersOf(store)),
		Eraser: newEraser(filed, state, cfg.Store.Type, told.Emit),
		Phones: linking.New(func(name string) (channels.Linker, error) { return onlyLinkable(cfg, name) }),
		Info: func() httpapi.Info {
			return httpapi.Info{
				Version: who.Version, Config: cfg.Source().String(), StateDir: cfg.StateDir, Store: cfg.Store.Type, Policy: cfg.Policy(),
				Warnings: append(diskWarnings(cfg.StateDir, cfg.Store.Type), damageWarnings(cfg)...),
			}
		},
	}
	return httpapi.InProcess(httpapi.Admin(o)), func() { _ = closeAll() }, nil
}

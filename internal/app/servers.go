package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/console"
	"dragoman/internal/mcpserver"
	"dragoman/internal/media"
	"dragoman/internal/openai"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/internal/storage"
	"dragoman/internal/stream"
	"dragoman/internal/web"
	"dragoman/sessions/erasure"
)

// serverGrace is how long requests may continue after everything else has ended. It
// is short because streams never end by themselves.
const serverGrace = 500 * time.Millisecond

// server is a handler on an open listener: a port in use is an error at the start,
// not a line in the log later.
type server struct {
	ln      net.Listener
	most    int // connections; 0: no limit
	handler http.Handler
}

// maxConnections is the limit of the page's connections: a quarter of the file
// descriptors, so that channels and the store always have enough.
func maxConnections() int {
	const most = 1024
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return most
	}
	return int(max(16, min(most, limit.Cur/4)))
}

func (s *server) addr() string { return s.ln.Addr().String() }

// takenPort is the error for an http.listen that another program has.
type takenPort struct {
	addr  string
	cause error
}

// Plain is for people: see [plain.Text].
func (t *takenPort) Plain() string {
	host, port, _ := net.SplitHostPort(t.addr)
	free := "0" // the system chooses one
	if n, err := strconv.Atoi(port); err == nil && n < 65535 {
		free = strconv.Itoa(n + 1)
	}
	return fmt.Sprintf("another program has the port %s, perhaps another Dragoman. Stop it, or write another port into the configuration:\nhttp:\n  listen: %q", t.addr, net.JoinHostPort(host, free))
}

func (t *takenPort) Error() string { return "app: " + t.Plain() }

// Unwrap returns the cause.
func (t *takenPort) Unwrap() error { return t.cause }

// openServers opens the public port and the operator's socket.
func (d *Daemon) openServers(ctx context.Context) error {
	verbs := d.verbs()
	d.leaving = d.newLeaving()
	if err := d.openAdmin(verbs); err != nil {
		return err
	}
	if d.partial() || d.cfg.HTTP.Listen == "off" {
		return nil
	}
	if err := d.checkTokens(ctx); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", d.cfg.HTTP.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &takenPort{addr: d.cfg.HTTP.Listen, cause: err}
	}
	if err != nil {
		return fmt.Errorf("app: cannot listen on %s (http.listen in the configuration): %w", d.cfg.HTTP.Listen, err)
	}
	d.public = &server{ln: ln, most: maxConnections()}
	d.onClose("the page", closeOnce(ln))
	o := web.Options{
		Addr: ln.Addr().String(), Token: d.cfg.HTTP.Token.Reveal(), Tokens: d.tokens, Links: people.NewLinks(d.tokens),
		Proxies: d.cfg.HTTP.Proxies(), Identity: identityOf(d.cfg.HTTP), SessionsFile: d.state.File(storage.PageSessionsName),
		Broadcast: d.tellLogins(), Failed: d.metrics.LoginFailed, Served: d.metrics.Request, Logger: d.log,
	}
	if text := d.cfg.HTTP.PublicURL; text != "" {
		if o.PublicURL, err = url.Parse(text); err != nil {
			return fmt.Errorf("app: http.public_url: %w", err)
		}
	}
	if d.channels.web != nil {
		o.LoginPage = console.LoginPage
	}
	d.door, err = web.New(o)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d.watchAll()
	if d.channels.web != nil {
		console.Serve(d.door, d.channels.web.Handler())
	}
	d.door.Protect(api.Root+"/", people.Chat, verbs)
	d.door.Open(api.HookPattern, verbs)
	if d.cfg.HTTP.OpenAI {
		d.door.Protect(openai.Root+"/", people.Chat, d.openAI())
	}
	d.door.Protect("POST /api/ask", people.Chat, formerAsk(verbs))
	if d.cfg.MCP.Serve {
		served := mcpserver.New(mcpserver.Options{Client: api.AsCaller(verbs), Version: d.opts.Version, Send: d.cfg.MCP.Send})
		d.door.Protect("/mcp", people.Chat, served.Handler())
	}
	d.serveCallbacks()
	d.door.Protect("GET "+profilePath, people.Admin, http.HandlerFunc(profile))
	d.door.Protect("GET /metrics", people.Read, d.metrics.Handler())
	d.door.Probes(web.ProbeOptions{Check: d.store.Check, Ready: d.ready, Channels: d.gateway.Channels})
	d.public.handler = d.door
	return nil
}

// checkTokens refuses an address that other machines can reach, if no token was ever made:
// nobody could come in. If those that were made have all ended, the log says so, because the
// channels go on.
func (d *Daemon) checkTokens(ctx context.Context) error {
	if !d.cfg.HTTP.NeedsNamedToken() {
		return nil
	}
	good, err := d.tokens.Any(ctx)
	if err != nil || good {
		return err
	}
	made, err := d.tokens.List(ctx)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	if !slices.ContainsFunc(made, func(t people.Token) bool { return !t.Linked }) {
		return fmt.Errorf("app: other machines can reach http.listen (%s), and there is no token: make one with %s, set http.token, or listen on 127.0.0.1",
			d.cfg.HTTP.Listen, d.opts.Command("token create NAME --scope chat"))
	}
	d.log.Warn("all tokens have ended, so nobody can open the page: make a new one with dragoman token create", "listen", d.cfg.HTTP.Listen)
	return nil
}

// identityOf is who the proxies in front of the page may name.
func identityOf(c config.HTTP) web.Identity {
	named := map[string]people.Principal{}
	for _, one := range c.Identities {
		named[one.Name] = people.Principal{ID: one.Person, Name: one.Name, Scope: people.Scope(one.Scope), Token: people.ProxiedName}
	}
	return web.Identity{Header: c.IdentityHeader, Secret: c.IdentitySecret.Reveal(), People: named}
}

// visitor is who sends a request to the rooms of the page or the terminal. They write
// there under the name of their person, in rooms of their own.
func visitor(r *http.Request) live.Visitor {
	p, _ := people.From(r.Context())
	return live.Visitor{ID: people.RoomAuthor(p), Chat: func(room string) string { return people.Room(p, room) }}
}

// errNoRoom refuses a question of somebody outside of their rooms. On a network, only the
// network says who writes.
var errNoRoom = &respond.Refusal{
	Status: http.StatusForbidden, Param: "key", Sentence: "Ask in a room of your own: its key is like web:telegram:123456/default.",
}

// formerAsk serves the verb that asks a question under its path of before the API.
func formerAsk(verbs http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asking := r.Clone(r.Context())
		asking.URL.Path = api.Root + api.PutQuestion.Path
		verbs.ServeHTTP(w, asking)
	})
}

func (d *Daemon) openAdmin(verbs http.Handler) error {
	ln, err := web.ListenSocket(storage.Socket(d.state.Path))
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d.onClose("the socket", closeOnce(ln))
	mux := http.NewServeMux()
	mux.Handle("/", verbs)
	mux.HandleFunc("GET "+profilePath, profile)
	if d.channels.terminal != nil {
		mux.Handle(terminal.Path+"/", http.StripPrefix(terminal.Path, d.channels.terminal.Handler()))
	}
	d.admin = &server{ln: ln, handler: api.Socket(mux)}
	return nil
}

// pageURL is where people open the page: at its public address, else at its port on this
// machine. "" if it is off.
func (d *Daemon) pageURL() string {
	switch {
	case d.public == nil || d.channels.web == nil:
		return ""
	case d.cfg.HTTP.PublicURL != "":
		return strings.TrimRight(d.cfg.HTTP.PublicURL, "/")
	}
	host, port, err := net.SplitHostPort(d.public.addr())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// verbs handles the operator's commands, for a daemon or for a command without one.
func (d *Daemon) verbs() http.Handler {
	d.eraser = erasure.New(erasure.Options{
		Store: d.store, People: d.people, Log: auditLog(d.state), File: d.state.File(storage.ErasingName), FileName: media.Name,
		Leftovers: func() ([]string, error) { return storage.Leftovers(d.state.Path, d.cfg.Store.Type) },
		Rooms:     d.roomsOf,
		Gone: func(k channels.Key) {
			d.events.Publish(stream.Event{Event: stream.SessionDelete, At: time.Now(), Key: k, Why: "erased"})
		},
	})
	o := api.Options{
		Store: api.Store{
			Conversations: d.store, Transcripts: d.store, Queue: queue{d.store, d.hooks}, JobLog: d.store, People: d.store, Facts: d.store, Copies: d.store, Health: d.store, Counted: d.store,
		},
		Zone:  namedZone(d.zone),
		Notes: d.store, Files: filesOf(d.files), Tokens: d.tokens, Directory: d.people, Reads: d.reads, Jobs: jobs{d.beats, d.reminders, d}, Reminders: jobs{d.beats, d.reminders, d}, Info: d.info, Events: d.events.Publish, Audit: auditLog(d.state), Eraser: d.eraser, Phones: d.links, Logger: d.log,
	}
	o.Budgets = budgets{d}
	if d.mcp != nil {
		o.ToolServers = toolServers{d}
		o.ToolLogins = toolLogins{d}
	}
	if d.cfg.Skills.Dir != "" {
		o.Skills = skillFolder{d}
	}
	if d.metrics != nil { // nil: a command without a daemon
		o.Served = d.metrics.APIRequest
	}
	if d.peers != nil {
		o.Nodes = d.peers.Nodes
	}
	if d.gateway != nil {
		o.PageURL = d.pageURL
		o.Figures = figures{d}
		o.Log = d.logTail()
		o.Models = d.modelChoices
		o.Commands = d.commandsIn
		o.MayAnswer = d.gateway.MayAnswer
		o.Agents = d.agentsIn
		o.Listening = d.events
		o.Talk = doors{d}
		o.Approvals = approvals{d.book, d.gateway}
		o.Callers = callers{d.incoming}
		o.Configuration = d.configuration
		o.Stopping = d.stopping
		o.Channels = d.listChannels
		o.Features = func() []api.Feature { return features(d.cfg, d) }
		o.Approve, o.Ask = d.gateway.ApprovePairing, d.ask
		if d.files != nil {
			o.Uploads = d.files
			o.MaxFile = int64(d.cfg.Media.MaxBytes)
		}
	}
	return api.New(o)
}

// closeOnce closes a listener, unless its server has closed it already.
func closeOnce(ln net.Listener) func() error {
	return func() error {
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

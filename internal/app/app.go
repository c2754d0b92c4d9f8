// Package app builds a daemon from its configuration, runs it, and stops it in
// reverse order. It is the only package that knows all the others.
//
// The promise: [Open] either builds everything that the configuration asks for, or
// returns one error that says why not and leaves nothing running. One process
// serves one state directory. When the context of [Daemon.Run] ends, the daemon
// accepts no more messages, lets running turns finish within a limit, and closes
// the store last.
//
// Goroutines: Run owns one each for the heartbeats, the reminders, the hooks, the traces, the two HTTP
// servers, the watchdog, alerts, warnings, the figures of the last hour, reloads, the daily check of files, people
// who want to be erased, and an interrupted erasure. It waits for all of them.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/toolbox"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/admission"
	"dragoman/internal/api"
	"dragoman/internal/background"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/health"
	"dragoman/internal/hooks"
	"dragoman/internal/incoming"
	"dragoman/internal/linking"
	"dragoman/internal/llm"
	"dragoman/internal/logtail"
	"dragoman/internal/media"
	"dragoman/internal/metrics"
	"dragoman/internal/people"
	"dragoman/internal/personas"
	"dragoman/internal/reminders"
	"dragoman/internal/storage"
	"dragoman/internal/stream"
	"dragoman/internal/trace"
	"dragoman/internal/web"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Options are what a daemon needs beside its configuration.
type Options struct {
	storage.Caller
	// Command returns a command that a person can paste. Nil: dragoman, the verb and
	// the words.
	Command func(verb string, words ...string) string
	// Out gets the start-up report, for people. Nil: no report.
	Out io.Writer
	// Terminal says that Out is a terminal, which a person reads. A first start then ends
	// the report with a link that opens the page.
	Terminal bool
	// Logger is used by all parts. Nil: nothing is logged.
	Logger *slog.Logger
	// Level, if not nil, is set from the configuration, also on reload.
	Level *slog.LevelVar
	// Hangup asks for a reload; Reload reads the configuration again.
	Hangup <-chan struct{}
	Reload func() (*config.Config, error)
	// Getenv finds a model if none is configured.
	Getenv func(string) string
	// Only, if not empty, starts only the channels of this type: no jobs and no page.
	Only string
	// Hint gets a sentence for the person at the start of a chat. Nil: none.
	Hint io.Writer
}

// Daemon is everything that runs. Make it with [Open].
type Daemon struct {
	cfg  *config.Config
	opts Options
	// current is cfg with the allow lists of the last reload.
	current atomic.Pointer[config.Config]
	// refused is nil unless the last reload was refused.
	refused atomic.Pointer[api.RefusedReload]
	// restart are the settings that the last reload did not take; nil: there was none.
	restart atomic.Pointer[[]string]
	log     *slog.Logger

	state     *storage.Dir
	store     filing
	peers     sessions.Peers // nil: the store has one node
	tokens    *people.Tokens
	people    *people.Directory
	gate      *people.Gate
	reads     *people.Visibility
	unowned   atomic.Int64 // conversations of which nobody knows yet who wrote in them
	files     *media.Store // of messages
	eraser    *erasure.Eraser
	leaving   *erasure.Leaving // who asked to be erased
	kept      *channelErasers
	workspace *tools.Workspace
	commands  tools.Running // nil without
	foreign   foreign       // reads what people sent
	drawer    *drawer       // nil without
	accepting sync.Mutex    // guards the file of accepted skills
	outages   outages
	metrics   *metrics.Set
	tail      *logtail.Tail
	health    *health.Watch
	models    *llm.Models
	personas  *personas.Set
	toolRules atomic.Pointer[toolRules]
	mcp       *mcp.Pool  // nil: no server of tools is configured
	launch    mcp.Launch // of their programs; nil: they are children
	lent      *toolbox.Lent
	agent     *agent.Agent
	channels  *adapters
	links     *linking.Links
	gateway   *gateway.Gateway
	book      *actions.Book  // what needs a yes
	zone      *time.Location // of days: agent.time_zone
	calls     *admission.Calls
	turns     int // conversations that are answered at the same time
	beats     *beats
	reminders *reminders.Book
	ongoing   *background.Book // commands in the background
	events    *stream.Hub
	follower  *stream.Follower // nil: no other node shares the store
	hooks     *hooks.Hooks
	incoming  *incoming.Hooks
	traces    *trace.Tracer // nil: nobody is told
	door      *web.Door     // nil without, as public is
	public    *server
	admin     *server
	closers   []closer
	stopping  chan struct{} // closed when streams are to end

	reloadAsked chan struct{} // capacity 1: another node was asked to read its configuration
	warn        chan struct{} // capacity 1: a turn has ended, so there may be warnings
}

// closer is one thing that Close closes. The name tells the operator which one
// failed.
type closer struct {
	name  string
	close func() error
}

// Open builds a daemon. It connects to nothing and accepts no messages before Run.
// The caller must call Close, also after Run.
func Open(ctx context.Context, cfg *config.Config, opts Options) (d *Daemon, err error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Out == nil {
		opts.Out = io.Discard
	}
	if opts.Command == nil {
		opts.Command = func(verb string, words ...string) string {
			return strings.Join(append([]string{"dragoman", verb}, words...), " ")
		}
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	tail := &logtail.Tail{}
	opts.Logger = slog.New(tail.Handler(opts.Logger.Handler()))
	d = &Daemon{cfg: cfg, opts: opts, tail: tail, zone: zoneOf(cfg.Agent.TimeZone), log: opts.Logger, metrics: metrics.New(opts.Version, storage.Node(cfg)), reloadAsked: make(chan struct{}, 1), warn: make(chan struct{}, 1), stopping: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
			d = nil
		}
	}()
	d.health = d.newHealth()
	d.metrics.Listen(d.health)
	d.current.Store(cfg)
	d.setLevel(cfg)
	d.models = llm.Begin(cfg, opts.Getenv, d.log)
	d.onClose("the models", d.models.Close)
	for _, step := range []func(context.Context) error{
		d.openState, d.openModel, d.openGateway, d.openServers,
	} {
		if err := step(ctx); err != nil {
			return d, err
		}
	}
	return d, nil
}

// startPercent is how much garbage may lie about during a start, in percent of what is
// used. A start makes twice as much as stays; collected early, it leaves fewer pages behind.
const startPercent = 25

// Serve opens a daemon and serves until ctx ends.
func Serve(ctx context.Context, cfg *config.Config, opts Options) error {
	usual := debug.SetGCPercent(startPercent)
	d, err := Open(ctx, cfg, opts)
	debug.SetGCPercent(usual)
	if err != nil {
		return err
	}
	return errors.Join(d.Run(ctx), d.Close())
}

func (d *Daemon) onClose(name string, f func() error) {
	d.closers = append(d.closers, closer{name, f})
}

// Close undoes Open in reverse order. It may be called twice.
func (d *Daemon) Close() error {
	var errs []error
	for len(d.closers) > 0 {
		last := d.closers[len(d.closers)-1]
		d.closers = d.closers[:len(d.closers)-1]
		if err := last.close(); err != nil {
			errs = append(errs, fmt.Errorf("app: close %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

func (d *Daemon) openState(ctx context.Context) (err error) {
	if d.state, err = storage.Lock(ctx, d.cfg.StateDir, d.opts.Caller); err != nil {
		return err
	}
	d.onClose("the state directory", d.state.Unlock)
	if err := d.openStore(ctx, d.opts.Version); err != nil {
		return err
	}
	if err := storage.MoveToShared(ctx, d.cfg, d.state, d.files, d.log); err != nil {
		return err
	}
	d.workspace, err = tools.OpenWorkspace(d.cfg.Workspace, tools.WorkspaceOptions{
		Private: d.private(), Operators: []string{config.FileJobName},
		PerChat: d.cfg.WorkspaceMode == config.WorkspacePerChat, Quota: int64(d.cfg.WorkspaceQuota),
	})
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d.onClose("the workspace", d.workspace.Close)
	return nil
}

// openStore opens the store and its files. version is the daemon's, or "" for a
// command.
func (d *Daemon) openStore(ctx context.Context, version string) error {
	store, err := storage.OpenStore(ctx, d.cfg, d.state, version, d.opts.Caller, d.log)
	if err != nil {
		return err
	}
	d.onClose("the store", store.Close)
	if d.metrics != nil { // nil: a command without a daemon
		store.Measure(d.metrics.StoreCall)
	}
	d.openEvents(store)
	d.peers, _ = store.Backend().(sessions.Peers)
	if version != "" {
		d.openFollower()
	}
	if d.files, err = storage.OpenMedia(ctx, d.cfg, d.state, d.log); err != nil {
		return err
	}
	d.onClose("the files", d.files.Close)
	d.kept = &channelErasers{cfg: d.cfg, log: d.log, running: map[string]channels.Eraser{}}
	d.store = filing{crashStore: crashStore{store}, files: d.files, kept: d.kept, tell: d.events.Publish}
	d.openPeople()
	return nil
}

// private are the files that no workspace may contain.
func (d *Daemon) private() []string {
	files := d.state.Private(d.cfg)
	paths := []string{d.cfg.Media.Path, d.cfg.Source().Path}
	for _, p := range d.cfg.Agents {
		paths = append(paths, p.File)
	}
	for _, path := range paths {
		if path != "" {
			files = append(files, path)
		}
	}
	return files
}

func (d *Daemon) openModel(ctx context.Context) error {
	err := d.models.Open(ctx, llm.Options{Notes: d.state.File(llm.NotesName), Files: d.files, Metrics: d.metrics, Label: d.labelOf})
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	return nil
}

func (d *Daemon) openGateway(context.Context) (err error) {
	if d.channels, err = buildChannels(d.cfg, feedOf(d.store.Feed), d.files, d.peers, d.log, d.opts.Only); err != nil {
		return err
	}
	d.links = linking.New(d.findLinkable)
	for _, b := range d.channels.bindings {
		if e, able := b.Channel.(channels.Eraser); able {
			d.kept.running[b.Channel.Name()] = e
		}
	}
	d.reminders = d.newReminders()
	d.ongoing = d.newOngoing()
	d.personas = d.newPersonas()
	d.toolRules.Store(newToolRules(d.cfg))
	d.openMCP()
	d.warnOfGround()
	if d.agent, err = d.buildAgent(); err != nil {
		return err
	}
	d.tellRoom(d.agent)
	if d.beats, err = newBeats(d.cfg, d.store, d.workspace, d.log, d.metrics); err != nil {
		return err
	}
	d.beats.idle = d.partial()
	d.traces = d.newTracer()
	d.openHooks()
	window := d.models.Window()
	for _, w := range d.models.Windows() {
		window = max(window, w)
	}
	messages, bytes := gateway.HistoryFor(window)
	d.turns = maxTurns(d.cfg, d.models.IsLocal(), memoryLimit())
	d.book = d.newBook()
	listening, err := d.listening()
	if err != nil {
		return err
	}
	speaking, err := d.speaking()
	if err != nil {
		return err
	}
	d.calls = admission.NewCalls(d.store, admission.CallsOptions{Shared: d.cfg.Store.Type == "postgres", Logger: d.log})
	d.gateway, err = gateway.New(gateway.Store{
		Inbox: d.store, Work: d.store, Outbox: d.store, Conversations: d.store, People: d.store, Leases: countedLeases{d.store, d.metrics}, Records: d.store,
	}, d.agent, d.channels.bindings, gateway.Options{
		Limits: gateway.Limits{
			HistoryMessages: messages, HistoryBytes: bytes, MaxTurns: d.turns, MaxWaiting: d.cfg.Queue.MaxWaiting,
			MaxMessageBytes: int(d.cfg.Queue.MaxMessageBytes), RatePerMinute: cmp.Or(d.cfg.Queue.RatePerMinute, -1),
			GiveUpAfter: d.cfg.Agent.GiveUpAfter.D(), DeliveryLimit: d.cfg.Delivery.GiveUpAfter.D(),
			PairingExpires: d.cfg.Pairing.Expires.D(), PairingPending: d.cfg.Pairing.MaxPending,
			RetentionDays: d.cfg.Sessions.RetentionDays,
		},
		Node: gateway.Node{
			Partial: d.partial(), NoChannels: !d.cfg.Has(config.RoleChannels), NoTurns: !d.cfg.Has(config.RoleTurns),
			Peers: d.peers, Methods: d.methods(),
		},
		About: gateway.About{Version: d.opts.Version, Model: d.models.Main.Name(), OneModel: d.models.Other == nil, Models: d.choices},
		Queue: gateway.Mode(d.cfg.Queue.Mode), Reset: resetOf(d.cfg.Sessions.Reset),
		Actions: d.book, Forms: d.newForms(), Rules: d.rules(d.cfg), Calls: d.calls, Price: d.priceNow, Count: d.countTurn, Usage: d.saidUsage, People: d.people, Connections: people.NewConnections(d.people), Gate: d.gate, Known: d.known(), NameOf: d.nameOf, Memory: people.Memory{Facts: d.store, People: d.people}, Agents: d.personas, Permit: d.permitOf, Heartbeats: d.beats, Reminders: d.reminders, Commands: running{d.ongoing}, Routes: routesOf(d.cfg), Events: d.events,
		Media: d.files, Listener: listening,
		Pager:   pager{d.files, d.foreign},
		Kept:    d.files,
		Speaker: speaking,
		Leaving: leaving{d}, Audit: auditLog(d.state).Record, Observer: observer{d.metrics, d.turnEnded}, Traces: d.traces, Logger: d.log,
		Keep: d.hooks.Keep,
	})
	d.incoming = incoming.New(incomingOf(d.cfg), taker{d}, incoming.Options{Logger: d.log})
	return err
}

// partial reports whether this daemon serves only some channels. Jobs, and
// everything of the other channels, then wait for a daemon that serves them all.
func (d *Daemon) partial() bool { return d.opts.Only != "" }

// Run serves until ctx ends, then drains. Errors are failures of the store's
// dispatcher or of a listener.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	late, end := context.WithCancel(context.WithoutCancel(ctx)) // for servers and hooks, which outlive the drain
	defer end()

	var wg sync.WaitGroup
	for _, s := range []*server{d.public, d.admin} {
		if s == nil {
			continue
		}
		wg.Go(func() {
			if err := web.Serve(late, s.ln, s.handler, web.ServeOptions{Grace: serverGrace, Connections: s.most, Logger: d.log}); err != nil {
				fail(err)
			}
		})
	}
	if d.door != nil {
		wg.Go(func() { _ = d.door.Run(late) }) // it only ends with its context
	}
	wg.Go(func() { d.ongoing.Run(late) })
	if !d.partial() {
		if d.cfg.Has(config.RoleJobs) {
			wg.Go(func() { d.beats.run(ctx) })
			wg.Go(func() { d.runReminders(ctx) })
		}
		wg.Go(func() { d.tidyFiles(ctx) })
		wg.Go(func() { d.alert(ctx) })
		wg.Go(func() { d.watchWarnings(ctx) })
		wg.Go(func() { d.watchHealth(late) })
		wg.Go(func() { d.leaving.Run(ctx) })
	}
	wg.Go(func() { _ = d.hooks.Run(late) }) // it only ends with its context
	if d.traces != nil {
		wg.Go(func() { d.traces.Run(late) })
	}
	stopFeed := feedHooks(d.events, d.hooks, d.log)
	wg.Go(func() { d.feedRooms(ctx) })
	if d.follower != nil {
		wg.Go(func() { d.follower.Run(ctx) })
	}
	wg.Go(func() { d.finishErase(ctx) })
	wg.Go(func() { d.findOwners(ctx) })
	announced := make(chan struct{})
	wg.Go(func() {
		if ctx.Err() == nil {
			d.sayReady()
		}
		close(announced)
		wg.Go(func() { d.askLogins(ctx) })
		wg.Go(func() { d.watch(ctx) })
		d.reloads(ctx)
	})

	err := d.gateway.Run(ctx)
	fail(err)
	<-announced // or it would say READY after STOPPING
	notify("STOPPING=1")
	close(d.stopping)
	d.links.Close() // while the servers can still tell their pages
	stopFeed()
	end()
	wg.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d.log.Info("stopped")
	return nil
}

// watchEvery is how often the daemon proves to the service manager that it works.
// WatchdogSec in the unit must be well above.
const watchEvery = 10 * time.Second

// Package hooks tells programs of the operator's what happens: as a command
// that reads one JSON event on its standard input, or as an HTTP POST.
//
// The promise: a hook harms nothing. [Hooks.Emit] never blocks; a hook that
// fails, hangs, crashes or answers 500 is counted, and logged once an hour, and the next
// event goes to it all the same. Every hook has its own bounded queue and gets
// its events in order, one at a time; what does not fit is dropped and counted.
// An event is told at most once and may be lost in a crash: hooks are for
// notification, not for bookkeeping.
//
// A command is started without a shell, with an environment that holds none of
// the daemon's secrets, in a process group that is killed whole when its time
// is up. Requests follow no redirect, so that a secret goes nowhere else.
//
// Goroutines: [Hooks.Run] owns one per hook. When its context ends it tells
// what is queued, within [Options.DrainLimit], and returns with none left.
// [Hooks.Replace] changes which hooks there are meanwhile.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/event"
)

// Hook is one program or address. Exactly one of Command and URL is set. The
// configuration has checked both: no shell, and no event over an open network.
type Hook struct {
	On      []event.Name
	Command []string // the program's path and its arguments
	URL     string   // http on loopback, or https
	// Secret is sent as "Authorization: Bearer …" if it is not empty.
	Secret  string
	Timeout time.Duration // of one event; 10 seconds
}

// Options tune hooks. The zero value works.
type Options struct {
	Queue      int           // events waiting for one hook; 256
	DrainLimit time.Duration // at the end; 5 seconds
	// Count is told the outcome of every event: ok, failed, timeout, dropped.
	// It must not block. Nil: nobody counts.
	Count  func(event, outcome string)
	Logger *slog.Logger
	Now    func() time.Time // for how often the log tells of a hook that is down; time.Now
}

func (o *Options) setDefaults() {
	if o.Queue <= 0 {
		o.Queue = 256
	}
	if o.DrainLimit <= 0 {
		o.DrainLimit = 5 * time.Second
	}
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Hooks are all hooks of a daemon.
type Hooks struct {
	opts Options

	mu      sync.Mutex // guards all below, so that nothing enters a queue that is closed
	workers []*worker
	left    []*worker     // replaced before Run began
	start   func(*worker) // set when Run begins
	shut    bool
}

type worker struct {
	Hook
	// name is for the log: the program or the host. Not the path of a URL, which
	// may be secret; number, its place in the configuration, tells hooks on one
	// host apart.
	name     string
	number   atomic.Int32
	queue    chan event.Event // closed when the hook is replaced, and at the end
	http     *http.Client
	failing  outage // belongs to the goroutine that tells it events
	dropping outage // guarded by Hooks.mu
}

// New makes hooks. Nothing starts before Run.
func New(hooks []Hook, opts Options) *Hooks {
	opts.setDefaults()
	h := &Hooks{opts: opts}
	h.Replace(hooks)
	return h
}

// Replace puts these hooks in the place of those there are. One that is the
// same as before goes on with what is queued for it; another one is told what
// is queued, and then no more.
func (h *Hooks) Replace(hooks []Hook) {
	now := make([]*worker, len(hooks))
	for i, hook := range hooks {
		now[i] = newWorker(hook, i, h.opts.Queue)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut {
		return
	}
	old := h.workers
	for i, w := range now {
		same := slices.IndexFunc(old, func(o *worker) bool { return reflect.DeepEqual(o.Hook, w.Hook) })
		if same >= 0 {
			now[i] = old[same]
			now[i].number.Store(int32(i))
			old = slices.Delete(slices.Clone(old), same, same+1)
		} else if h.start != nil {
			h.start(w)
		}
	}
	for _, w := range old {
		close(w.queue)
		if h.start == nil {
			h.left = append(h.left, w)
		}
	}
	h.workers = now
}

func newWorker(hook Hook, number, queue int) *worker {
	if hook.Timeout == 0 {
		hook.Timeout = 10 * time.Second
	}
	w := &worker{Hook: hook, queue: make(chan event.Event, queue)}
	w.number.Store(int32(number))
	if hook.URL != "" {
		w.name, w.http = hostOf(hook.URL), newClient()
	} else {
		w.name = hook.Command[0]
	}
	return w
}

// label names w in the log as the configuration does.
func (w *worker) label() string { return fmt.Sprintf("hooks[%d] %s", w.number.Load(), w.name) }

// Emit queues e for the hooks that want it. It never blocks.
func (h *Hooks) Emit(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.workers {
		if !slices.Contains(w.On, e.Event) {
			continue
		}
		if h.shut {
			h.drop(w, e)
			continue
		}
		select {
		case w.queue <- e:
		default:
			h.drop(w, e)
		}
	}
}

// Waiting is how many events wait for each hook, by its name in the log.
func (h *Hooks) Waiting() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := make(map[string]int, len(h.workers))
	for _, w := range h.workers {
		n[w.label()] = len(w.queue)
	}
	return n
}

// drop counts an event that nobody will hear of.
func (h *Hooks) drop(w *worker, e event.Event) {
	h.opts.Count(string(e.Event), "dropped")
	if w.dropping.note(h.opts.Now()) {
		h.opts.Logger.Warn("a hook cannot keep up; events are dropped", "hook", w.label(), "event", string(e.Event), "dropped", w.dropping.count)
	}
}

// Run tells events until ctx ends, then what is queued, and returns nil.
func (h *Hooks) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var wg sync.WaitGroup
	h.mu.Lock()
	h.start = func(w *worker) { wg.Go(func() { h.serve(life, w) }) }
	for _, w := range slices.Concat(h.left, h.workers) {
		h.start(w)
	}
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	h.shut = true // nothing is queued and nobody is started any more
	for _, w := range h.workers {
		close(w.queue)
	}
	h.mu.Unlock()
	limit := time.AfterFunc(h.opts.DrainLimit, end)
	defer limit.Stop()
	wg.Wait()
	return nil
}

// serve works off one hook's queue until that is closed; calls end with life.
func (h *Hooks) serve(life context.Context, w *worker) {
	if w.http != nil {
		defer w.http.CloseIdleConnections()
	}
	for e := range w.queue {
		h.tell(life, w, e)
	}
}

// tell makes one attempt. Its error is for the log only.
func (h *Hooks) tell(life context.Context, w *worker, e event.Event) {
	if life.Err() != nil {
		h.opts.Count(string(e.Event), "dropped")
		return
	}
	ctx, cancel := context.WithTimeout(life, w.Timeout)
	defer cancel()
	err := w.call(ctx, e)
	h.opts.Count(string(e.Event), h.outcome(ctx, w, e, err))
}

// outcome names what came of telling e to w, and logs it if it is news.
func (h *Hooks) outcome(ctx context.Context, w *worker, e event.Event, err error) string {
	if err == nil {
		if n := w.failing.count; n > 0 {
			w.failing = outage{}
			h.opts.Logger.Info("hook works again", "hook", w.label(), "failures", n)
		}
		return "ok"
	}
	outcome := "failed"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		outcome, err = "timeout", fmt.Errorf("not done within %s", w.Timeout)
	}
	if w.failing.note(h.opts.Now()) {
		h.opts.Logger.Warn("hook failed", "hook", w.label(), "event", string(e.Event), "key", e.Key.String(), "failures", w.failing.count, "err", err)
	}
	return outcome
}

// Package hooks sends events to programs of the operator: to a command, as one line of
// JSON on its standard input, or to a URL, as an HTTP POST.
//
// The promise: a hook cannot harm the daemon. [Hooks.Emit] never blocks. A hook that
// fails, hangs, crashes or answers 500 is counted, logged once an hour, and still gets
// the next event. Every hook has its own bounded queue and gets its events in order, one
// at a time; an event that does not fit is dropped and counted. An event is sent at most
// once and may be lost in a crash: hooks are for notification, not for bookkeeping.
//
// A command runs without a shell, with an environment without the daemon's secrets, in a
// process group that is killed as a whole when its time is up. Requests follow no
// redirect, so that a secret reaches no other server.
//
// Goroutines: [Hooks.Run] owns one for each hook. When its context ends it sends the
// queued events, within [Options.DrainLimit], and waits for all goroutines.
// [Hooks.Replace] may change the hooks meanwhile.
package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/internal/stream"
)

// Hook is one program or URL. Exactly one of Command and URL is set. The configuration
// has checked both.
type Hook struct {
	On      []stream.Name
	Command []string // the program's path and its arguments
	URL     string   // http on loopback, or https
	// Secret is sent as "Authorization: Bearer …" if it is not empty.
	Secret  string
	Timeout time.Duration // for one event; 0: 10 seconds
}

// Options tune hooks. The zero value works.
type Options struct {
	Queue      int           // how many events may wait for one hook; 0: 256
	DrainLimit time.Duration // for the queued events at the end; 0: 5 seconds
	// Count, if not nil, is called with the outcome of every event: ok, failed,
	// timeout, dropped. It must not block.
	Count  func(event, outcome string)
	Logger *slog.Logger
	Now    func() time.Time // the clock for the hourly log; nil: time.Now
}

func (o *Options) setDefaults() {
	o.Queue, o.DrainLimit = cmp.Or(o.Queue, 256), cmp.Or(o.DrainLimit, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Hooks are all hooks of a daemon.
type Hooks struct {
	opts Options

	mu       sync.Mutex // guards the fields below, so that no event enters a closed queue
	workers  []*worker
	replaced []*worker     // before Run began
	start    func(*worker) // set when Run begins
	closed   bool
}

// worker runs one hook in its own goroutine, with its own queue: a slow hook
// delays no other.
type worker struct {
	Hook
	// name is for the log: the program or the host. The path of a URL may be secret.
	// number, the index in the configuration, distinguishes hooks on one host.
	name     string
	number   atomic.Int32
	queue    chan stream.Event // closed when the hook is replaced, and at the end
	http     *http.Client
	failing  outage // used by the goroutine of serve only
	dropping outage // guarded by Hooks.mu
}

// New makes hooks. Nothing starts before Run.
func New(hooks []Hook, opts Options) *Hooks {
	opts.setDefaults()
	h := &Hooks{opts: opts}
	h.Replace(hooks)
	return h
}

// Replace replaces all hooks. A hook that is the same as before keeps its queue. A hook
// that is gone still gets its queued events.
func (h *Hooks) Replace(hooks []Hook) {
	next := make([]*worker, len(hooks))
	for i, hook := range hooks {
		next[i] = newWorker(hook, i, h.opts.Queue)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	old := h.workers
	for i, w := range next {
		same := slices.IndexFunc(old, func(o *worker) bool { return reflect.DeepEqual(o.Hook, w.Hook) })
		if same >= 0 {
			next[i] = old[same]
			next[i].number.Store(int32(i))
			old = slices.Delete(slices.Clone(old), same, same+1)
		} else if h.start != nil {
			h.start(w)
		}
	}
	for _, w := range old {
		close(w.queue)
		if h.start == nil {
			h.replaced = append(h.replaced, w)
		}
	}
	h.workers = next
}

func newWorker(hook Hook, number, queue int) *worker {
	hook.Timeout = cmp.Or(hook.Timeout, 10*time.Second)
	w := &worker{Hook: hook, queue: make(chan stream.Event, queue)}
	w.number.Store(int32(number))
	if hook.URL != "" {
		w.name, w.http = "its server", newClient()
		if u, err := url.Parse(hook.URL); err == nil {
			w.name = u.Host
		}
	} else {
		w.name = hook.Command[0]
	}
	return w
}

// label is the name of w in the log.
func (w *worker) label() string { return fmt.Sprintf("hooks[%d] %s", w.number.Load(), w.name) }

// Emit queues e for the hooks that want it. It never blocks.
func (h *Hooks) Emit(e stream.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.workers {
		if !slices.Contains(w.On, e.Event) {
			continue
		}
		if h.closed {
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

// Wants reports whether one of the hooks gets events called name.
func (h *Hooks) Wants(name stream.Name) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.workers, func(w *worker) bool { return slices.Contains(w.On, name) })
}

// Waiting returns how many events wait for each hook, by its name in the log.
func (h *Hooks) Waiting() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := make(map[string]int, len(h.workers))
	for _, w := range h.workers {
		n[w.label()] = len(w.queue)
	}
	return n
}

func (h *Hooks) drop(w *worker, e stream.Event) {
	h.opts.Count(string(e.Event), "dropped")
	if w.dropping.note(h.opts.Now()) {
		h.opts.Logger.Warn("a hook cannot keep up; events are dropped", "hook", w.label(), "event", string(e.Event), "dropped", w.dropping.count)
	}
}

// Run sends events until ctx ends, then the queued ones, and returns nil.
func (h *Hooks) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var wg sync.WaitGroup
	h.mu.Lock()
	h.start = func(w *worker) { wg.Go(func() { h.serve(life, w) }) }
	for _, w := range slices.Concat(h.replaced, h.workers) {
		h.start(w)
	}
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	h.closed = true // no more events and no more hooks
	for _, w := range h.workers {
		close(w.queue)
	}
	h.mu.Unlock()
	limit := time.AfterFunc(h.opts.DrainLimit, end)
	defer limit.Stop()
	wg.Wait()
	return nil
}

// serve sends the events of one hook until its queue is closed. Calls end with life.
func (h *Hooks) serve(life context.Context, w *worker) {
	if w.http != nil {
		defer w.http.CloseIdleConnections()
	}
	for e := range w.queue {
		h.send(life, w, e)
	}
}

func (h *Hooks) send(life context.Context, w *worker, e stream.Event) {
	if life.Err() != nil {
		h.opts.Count(string(e.Event), "dropped")
		return
	}
	ctx, cancel := context.WithTimeout(life, w.Timeout)
	defer cancel()
	err := w.call(ctx, e)
	h.opts.Count(string(e.Event), h.outcome(ctx, w, e, err))
}

// outcome returns the outcome of sending e to w, and logs changes.
func (h *Hooks) outcome(ctx context.Context, w *worker, e stream.Event, err error) string {
	if err == nil {
		if n := w.failing.count; n > 0 {
			w.failing = outage{}
			h.opts.Logger.Info("hook works again", "hook", w.label(), "failures", n)
		}
		return "ok"
	}
	outcome := "failed"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		outcome, err = "timeout", fmt.Errorf("did not finish within %s", w.Timeout)
	}
	if w.failing.note(h.opts.Now()) {
		h.opts.Logger.Warn("hook failed", "hook", w.label(), "event", string(e.Event), "key", e.Key.String(), "failures", w.failing.count, "err", err)
	}
	return outcome
}

// logEvery is how often the failures of one hook are logged. A line for every event
// would fill the log.
const logEvery = time.Hour

// outage counts failures in a row, so that a broken hook is logged once in a while
// and not with each event.
type outage struct {
	count  int
	logged time.Time
}

// note counts a failure and reports whether to log it.
func (o *outage) note(now time.Time) bool {
	o.count++
	if o.count > 1 && now.Sub(o.logged) < logEvery {
		return false
	}
	o.logged = now
	return true
}

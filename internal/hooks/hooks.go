// Package hooks sends events to programs of the operator: to a command, as one line of
// JSON on its standard input, or to a URL, as a webhook.
//
// The promise: a hook cannot harm the daemon. [Hooks.Emit] never blocks. A hook that
// fails, hangs, crashes or answers 500 is counted, logged once an hour, and still gets
// the next event.
//
// A URL gets each event at least once. What is to be sent is a note of the store, a
// letter, until the server has answered 2xx; each repeat has the same webhook-id. The
// letters about a turn are part of the turn's own commit ([Hooks.Keep]). If a hook has a
// signing secret, its letters are signed as Standard Webhooks 1.0 says.
//
// A command gets each event at most once, in order, one at a time. Events wait in a
// bounded queue in memory; those that do not fit are dropped and counted.
//
// Failures:
//
//	what happens                               what becomes of a letter
//	kill -9 before the commit                  there is none, and nothing to tell
//	kill -9 between commit and POST            it is sent after the restart
//	kill -9 between POST and its record        it is sent again, with the same webhook-id
//	kill -9 between another change and the     it is lost: only events about turns are
//	note about it (see [Hooks.Keep])           stored with what they are about
//	no answer, or one that is not 2xx          it is repeated for three days, with jitter
//	Retry-After                                the hook gets nothing before that time
//	410                                        the hook is off, until somebody retries a letter
//	                                           or changes its URL; its letters are dead
//	three days have passed                     it is dead: dragoman queue lists it for 30 days
//	1000 letters wait for one hook             later events are dropped and counted
//	the store cannot write                     it is sent once, from memory
//	its conversation is erased                 it is erased, too
//
// A command runs without a shell, with an environment without the daemon's secrets, in a
// process group that is killed as a whole when its time is up. Requests follow no
// redirect, so that a secret reaches no other server.
//
// Goroutines: [Hooks.Run] owns one for each hook, and one that writes letters. When its
// context ends it sends what was not tried yet, within [Options.DrainLimit], and waits for
// all goroutines. [Hooks.Replace] may change the hooks meanwhile.
package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/internal/webhook"
)

// Hook is one program or URL. Exactly one of Command and URL is set. The configuration
// has checked both.
type Hook struct {
	// Name is by which the queue knows the letters of a URL. "": its host and a part of a
	// hash of it. It is unique.
	Name    string
	On      []stream.Name
	Command []string // the program's path and its arguments
	URL     string   // http on loopback, or https
	// Secret is sent as "Authorization: Bearer …" if it is not empty.
	Secret string
	// Signing are the keys that sign what is posted, each with a signature of its own:
	// two while a key is changed. Empty: nothing is signed.
	Signing []webhook.Key
	Timeout time.Duration // for one event; 0: 10 seconds
}

// Options tune hooks. The zero value works without URLs, which need a Store.
type Options struct {
	Queue      int           // how many events may wait for one command; 0: 256
	DrainLimit time.Duration // for what is not sent at the end; 0: 5 seconds
	// Store keeps the letters.
	Store Store
	// Hold calls run while this process alone may send the letters of a hook. Nil: at once.
	Hold func(ctx context.Context, name string, run func(context.Context) error) error
	// Look is how often to look for letters that other processes have stored; 0: never.
	Look time.Duration
	// Pauses are those after the first, second, … failure of a letter. Nil: three days of
	// them. After one more failure it is dead.
	Pauses []time.Duration
	// Count, if not nil, is called with the outcome of every event or attempt: ok, failed,
	// timeout, dropped, dead. It must not block.
	Count  func(event, outcome string)
	Logger *slog.Logger
	Now    func() time.Time // the clock; nil: time.Now
}

func (o *Options) setDefaults() {
	o.Queue = cmp.Or(o.Queue, 256)
	o.DrainLimit = cmp.Or(o.DrainLimit, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Pauses == nil {
		o.Pauses = pauses
	}
	if o.Hold == nil {
		o.Hold = func(ctx context.Context, _ string, run func(context.Context) error) error { return run(ctx) }
	}
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
	// unwritten are events that are not letters yet. It has room for some; more are
	// dropped.
	unwritten chan *unwritten

	mu       sync.Mutex // guards the fields below, so that no event enters a closed queue
	workers  []*worker
	senders  []*sender
	replaced []*worker     // before Run began
	start    func(*worker) // set when Run begins
	post     func(*sender) // set when Run begins
	closed   bool
}

// worker runs one command in its own goroutine, with its own queue: a slow one delays no
// other.
type worker struct {
	Hook
	// number, the index in the configuration, is for the log.
	number   atomic.Int32
	queue    chan stream.Event // closed when the hook is replaced, and at the end
	failing  outage            // used by the goroutine of serve only
	dropping outage            // guarded by Hooks.mu
}

// New makes hooks. Nothing starts before Run.
func New(hooks []Hook, opts Options) *Hooks {
	opts.setDefaults()
	h := &Hooks{opts: opts, unwritten: make(chan *unwritten, opts.Queue)}
	h.Replace(hooks)
	return h
}

// Replace replaces all hooks. A hook that is the same as before keeps its queue. A command
// that is gone still gets its queued events; the letters of a URL that is gone stay in
// dragoman queue.
func (h *Hooks) Replace(hooks []Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	var workers []*worker
	var senders []*sender
	taken := map[string]bool{}
	for i, hook := range hooks {
		hook.Timeout = cmp.Or(hook.Timeout, 10*time.Second)
		if hook.URL != "" {
			hook.Name = freeName(hook, taken)
			senders = append(senders, h.senderFor(hook, i))
		} else {
			workers = append(workers, h.workerFor(hook, i))
		}
	}
	for _, w := range h.workers {
		if slices.Contains(workers, w) {
			continue
		}
		close(w.queue)
		if h.start == nil {
			h.replaced = append(h.replaced, w)
		}
	}
	for _, s := range h.senders {
		if !slices.Contains(senders, s) {
			s.retire()
		}
	}
	h.workers = workers
	h.senders = senders
}

// workerFor is the worker of hook: the present one if nothing changed. The caller holds h.mu.
func (h *Hooks) workerFor(hook Hook, number int) *worker {
	for i, w := range h.workers {
		if reflect.DeepEqual(w.Hook, hook) {
			w.number.Store(int32(number))
			h.workers = slices.Delete(slices.Clone(h.workers), i, i+1)
			return w
		}
	}
	w := &worker{Hook: hook, queue: make(chan stream.Event, h.opts.Queue)}
	w.number.Store(int32(number))
	if h.start != nil {
		h.start(w)
	}
	return w
}

// label is the name of w in the log.
func (w *worker) label() string { return fmt.Sprintf("hooks[%d] %s", w.number.Load(), w.Command[0]) }

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
	for _, s := range h.senders {
		if slices.Contains(s.On, e.Event) {
			h.emitTo(s, e)
		}
	}
}

// Wants reports whether one of the hooks gets events called name.
func (h *Hooks) Wants(name stream.Name) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.workers, func(w *worker) bool { return slices.Contains(w.On, name) }) ||
		slices.ContainsFunc(h.senders, func(s *sender) bool { return slices.Contains(s.On, name) })
}

// Missed says that events were published that Emit did not get: letters that were stored
// with a turn are sent all the same.
func (h *Hooks) Missed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.senders {
		s.ring()
	}
}

// Waiting returns how many events wait for each hook, by its name in the log.
func (h *Hooks) Waiting() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := make(map[string]int, len(h.workers))
	for _, w := range h.workers {
		n[w.label()] = len(w.queue)
	}
	for _, s := range h.senders {
		n[s.label()] = int(s.waiting.Load())
	}
	return n
}

func (h *Hooks) drop(w *worker, e stream.Event) {
	h.opts.Count(string(e.Event), "dropped")
	if w.dropping.note(h.opts.Now()) {
		h.opts.Logger.Warn("a hook cannot keep up; events are dropped", "hook", w.label(), "event", string(e.Event), "dropped", w.dropping.count)
	}
}

// Run sends events until ctx ends, then what was not tried yet, and returns nil.
func (h *Hooks) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var wg sync.WaitGroup
	var writer sync.WaitGroup
	h.mu.Lock()
	h.start = func(w *worker) { wg.Go(func() { h.serve(life, w) }) }
	written := make(chan struct{}) // closed when all events of before the end are letters
	h.post = func(s *sender) { wg.Go(func() { h.deliver(ctx, life, s, written) }) }
	for _, w := range slices.Concat(h.replaced, h.workers) {
		h.start(w)
	}
	for _, s := range h.senders {
		h.post(s)
	}
	h.mu.Unlock()
	writer.Go(func() { h.write(life) })
	<-ctx.Done()
	h.mu.Lock()
	h.closed = true // no more events and no more hooks
	for _, w := range h.workers {
		close(w.queue)
	}
	close(h.unwritten)
	h.mu.Unlock()
	limit := time.AfterFunc(h.opts.DrainLimit, end)
	defer limit.Stop()
	writer.Wait()
	close(written)
	wg.Wait()
	return nil
}

// serve sends the events of one command until its queue is closed. Calls end with life.
func (h *Hooks) serve(life context.Context, w *worker) {
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
	outcome := "failed"
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		outcome = "timeout"
		err = fmt.Errorf("did not finish within %s", w.Timeout)
	}
	h.tell(&w.failing, w.label(), e.Event, e.Key, err)
	if err == nil {
		return "ok"
	}
	return outcome
}

// tell logs when a hook begins to fail, once an hour while it fails, and when it works
// again.
func (h *Hooks) tell(failing *outage, label string, event stream.Name, key channels.Key, err error) {
	if err == nil {
		if n := failing.count; n > 0 {
			*failing = outage{}
			h.opts.Logger.Info("hook works again", "hook", label, "failures", n)
		}
		return
	}
	if failing.note(h.opts.Now()) {
		h.opts.Logger.Warn("hook failed", "hook", label, "event", string(event), "key", key.String(), "failures", failing.count, "err", err)
	}
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

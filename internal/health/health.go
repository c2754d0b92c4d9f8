// Package health keeps the figures of the last hour, and of each channel the last day, for
// people who look whether all is well.
//
// The promise. Every 15 seconds there is one figure of everything (see [Figure]), for an
// hour, and for each channel and half hour one [HalfHour], for a day. Both take the same
// small memory whatever happens: some 50 KB, of which a process that has just started
// writes almost nothing. Counting never blocks for longer than a lock and never fails. No
// figure says who wrote what.
//
// Failures:
//
//	what happens                           what is seen
//	the process did not run                a gap: the hour has no values for it. The half hours
//	                                       say how often a channel was looked at, and are kept
//	                                       by [Options.Keep].
//	it is killed                           counts of half hours since the last Keep are lost: half
//	                                       an hour at most
//	the store does not answer in time      no values of the queues at that moment
//	nothing was measured (no model call)   no value
//	more than 256 calls in 15 seconds      p50 and p95 are those of 256 of them, chosen by chance
//	the clock is set back                  values replace those of the same time
//	Keep fails                             the log says so once; it is tried again half an hour later
//
// Goroutines: none; [Watch.Run] runs in its caller's.
package health

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"time"

	"dragoman/sessions"
)

const (
	// Every is the time between two figures.
	Every = 15 * time.Second
	// Kept is how many figures of a kind there are: an hour.
	Kept = 240
	// lookWithin bounds one look at the queues.
	lookWithin = 2 * time.Second
	// keepWithin bounds one Keep.
	keepWithin = 5 * time.Second
)

// Figure is one kind of figure.
type Figure int

// The figures. Times are in seconds, memory is in bytes.
const (
	TurnsRunning  Figure = iota
	TurnsWaiting         // turns that wait for a free place
	Waiting              // messages without an answer
	OldestWaiting        // the age of the oldest of them
	Unsent               // answers that are not delivered
	OldestUnsent         // the age of the oldest of them
	Failed               // attempts to deliver that failed since the figure before
	ModelCalls           // calls of models that ended since the figure before
	ModelP50             // how long half of them took at most
	ModelP95
	Commits // commits of messages and turns since the figure before
	CommitP50
	CommitP95
	Memory     // resident
	Goroutines // how many there are
	CPU        // cores in use since the figure before: 1 is all of one
	figures    // how many figures there are
)

// Options are what a [Watch] looks at. Turns, Queues and Channels must be set.
type Options struct {
	Turns func() (running, waiting int)
	// Queues counts the queues of the store.
	Queues func(context.Context) (sessions.Stats, error)
	// Channels says which channels this process runs, and whether each is connected.
	Channels func() map[string]bool
	// Keep stores the half hours of each channel, so that they outlive the process. Nil:
	// they do not.
	Keep func(ctx context.Context, channels map[string][]HalfHour) error
	// Looked is called after each look. Nil: it is not.
	Looked func()
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discard
}

// moment is the figures of one time.
type moment struct {
	slot   int64 // which 15 seconds since 1970
	values [figures]float64
}

// Watch looks at everything. Make it with [New].
type Watch struct {
	o Options

	mu      sync.Mutex
	hour    [Kept]moment // by slot, modulo its length
	last    int64        // the slot of the last look
	failed  int
	models  durations
	commits durations
	days    map[string]*day

	// Only Run uses the following.
	usedCPU time.Duration
	lookAt  time.Time // of the last look; zero: there was none
	kept    int64     // the half hour of the last Keep
	cannot  bool      // the last Keep failed
}

// New makes a Watch, which looks at nothing before Run.
func New(o Options) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Looked == nil {
		o.Looked = func() {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Watch{o: o, days: map[string]*day{}}
}

// Run looks at everything, until ctx ends. Then it keeps the half hours.
func (w *Watch) Run(ctx context.Context) {
	w.kept = halfHourOf(w.o.Now())
	for {
		w.look(ctx)
		w.o.Looked()
		if half := halfHourOf(w.o.Now()); half != w.kept {
			w.kept = half
			w.keep(ctx)
		}
		if !w.pause(ctx) {
			w.keep(context.WithoutCancel(ctx))
			return
		}
	}
}

// pause waits for the middle of the next 15 seconds: near their edge, two looks could
// fall into the same. It reports false at the end of ctx.
func (w *Watch) pause(ctx context.Context) bool {
	now := w.o.Now()
	next := time.Unix(0, (slotOf(now)+1)*int64(Every)).Add(Every / 2)
	timer := time.NewTimer(next.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// keep stores the half hours.
func (w *Watch) keep(ctx context.Context) {
	if w.o.Keep == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	err := w.o.Keep(ctx, w.Days())
	if err != nil && !w.cannot {
		w.o.Logger.Warn("what the channels did in the last half hour is not kept over a restart", "err", err)
	}
	w.cannot = err != nil
}

// look takes the figures of now.
func (w *Watch) look(ctx context.Context) {
	var m moment
	for f := range m.values {
		m.values[f] = math.NaN()
	}
	now := w.o.Now()
	m.slot = slotOf(now)
	running, waiting := w.o.Turns()
	m.values[TurnsRunning] = float64(running)
	m.values[TurnsWaiting] = float64(waiting)
	asking, cancel := context.WithTimeout(ctx, lookWithin)
	st, err := w.o.Queues(asking)
	cancel()
	if err == nil {
		m.values[Waiting] = float64(st.Waiting)
		m.values[OldestWaiting] = age(now, st.Oldest)
		m.values[Unsent] = float64(st.Answers)
		m.values[OldestUnsent] = age(now, st.OldestSend)
	}
	m.values[Memory] = resident()
	m.values[Goroutines] = float64(runtime.NumGoroutine())
	used := cpuTime()
	starting := w.lookAt.IsZero()
	if !starting && now.After(w.lookAt) {
		m.values[CPU] = round((used - w.usedCPU).Seconds() / now.Sub(w.lookAt).Seconds())
	}
	w.usedCPU = used
	w.lookAt = now
	connected := w.o.Channels()

	w.mu.Lock()
	defer w.mu.Unlock()
	m.values[Failed] = float64(w.failed)
	w.failed = 0
	m.values[ModelCalls], m.values[ModelP50], m.values[ModelP95] = w.models.take()
	m.values[Commits], m.values[CommitP50], m.values[CommitP95] = w.commits.take()
	w.hour[m.slot%Kept] = m
	w.last = m.slot
	for name, up := range connected {
		if starting && !up {
			continue // it is about to connect, and in no trouble
		}
		half := w.half(name, now)
		if half == nil {
			continue
		}
		half.Looks++
		if up {
			half.Up++
		}
	}
}

// Hour is the last hour. From is the time of the first of its [Kept] values of each figure,
// which are [Every] apart; nil: there is none of that time.
func (w *Watch) Hour() (from time.Time, values func(Figure) []*float64) {
	now := w.o.Now()
	w.mu.Lock()
	hour := w.hour
	last := w.last
	w.mu.Unlock()
	if over := slotOf(now.Add(-Every / 2)); over > last || last > slotOf(now) { // nothing looks any more, or the clock was set
		last = over
	}
	first := last - Kept + 1
	return time.Unix(0, first*int64(Every)).UTC(), func(f Figure) []*float64 {
		list := make([]*float64, Kept)
		for i := range list {
			slot := first + int64(i)
			m := &hour[slot%Kept]
			if m.slot == slot && !math.IsNaN(m.values[f]) {
				list[i] = &m.values[f]
			}
		}
		return list
	}
}

// ModelCall hears how long a call of a model took.
func (w *Watch) ModelCall(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.models.add(took)
}

// StoreCall hears how long an operation of the store took. Only those that a turn waits
// for are figures.
func (w *Watch) StoreCall(operation string, took time.Duration) {
	if operation != "accept" && operation != "commit turn" && operation != "append step" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commits.add(took)
}

// slotOf is which 15 seconds t is in.
func slotOf(t time.Time) int64 { return t.UnixNano() / int64(Every) }

// age is how many seconds ago t was; 0 if it is not set, or in the future.
func age(now, t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return round(max(0, now.Sub(t).Seconds()))
}

// round leaves four decimals, so that what is sent is short.
func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

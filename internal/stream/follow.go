package stream

import (
	"context"
	"sync"
	"time"
)

// How a follower looks.
const (
	// lookEvery is the pause between two looks at the newest rows, and wholeEvery between
	// two looks that allow for clocks that differ by Slack, and at the outcomes of jobs.
	lookEvery  = 400 * time.Millisecond
	wholeEvery = 5 * time.Second
	// newest is how far back a look at the newest rows goes.
	newest = 2 * time.Second
	// followFor is how long a follower goes on after the last listener has left.
	followFor = 30 * time.Second
	// askEvery is how often it asks the other processes to tell it what they change, and
	// askedFor how long a process believes that.
	askEvery = 2 * time.Second
	askedFor = 3 * askEvery
	// gatherFor is how long changes are gathered before the others are told.
	gatherFor = 50 * time.Millisecond
	// maxTold is how many rows others are told of at once. If there are more, the others
	// are told to look.
	maxTold = 500
)

// News is what one process tells the others about its rows: which ones changed, and no more.
type News struct {
	Rows []Ref `json:"rows,omitempty"`
	// Look: there are more, or the outcome of a job.
	Look bool `json:"look,omitempty"`
}

// Others reaches the other processes that share the store. Both calls may be lost.
type Others interface {
	// AskForNews asks them to tell their news for a while.
	AskForNews(ctx context.Context) error
	// TellNews tells them news.
	TellNews(ctx context.Context, n News) error
}

// Follower publishes in its Hub what other processes of the same store do. They tell it
// which rows changed; the rows it reads from the store. What nobody told it, because a
// process was killed or a connection broke, it finds when it looks. It works only while
// somebody listens to durable events.
type Follower struct {
	hub    *Hub
	others Others
	onErr  func(error)

	// looking is held during a look, so that a state never overtakes a later one.
	looking sync.Mutex

	mu        sync.Mutex
	following bool
	idleSince time.Time // zero: somebody listens
	seen      map[Ref]seenRow
	jobs      map[string]time.Time // outcomes that were published, and when
	askedAt   time.Time            // when another process last asked for news
	news      News
	tell      chan struct{} // capacity 1: there are news
}

// seenRow is a row as the hub has published it: when that changed, and when it was last read.
type seenRow struct {
	event         Event
	changed, read time.Time
}

// NewFollower makes the follower of h, whose Source must be set. onErr gets what a look
// failed with.
func NewFollower(h *Hub, others Others, onErr func(error)) *Follower {
	f := &Follower{hub: h, others: others, onErr: onErr, seen: map[Ref]seenRow{}, jobs: map[string]time.Time{}, tell: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follower = f
	return f
}

// Run looks and tells, until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { f.tellNews(ctx) })
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var asked, whole time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !f.goesOn() {
			continue
		}
		now := time.Now()
		if now.Sub(asked) >= askEvery {
			asked = now
			f.report(ctx, f.others.AskForNews(ctx))
		}
		if now.Sub(whole) >= wholeEvery {
			whole = now
			f.report(ctx, f.look(ctx, Slack, true))
		} else {
			f.report(ctx, f.look(ctx, newest, false))
		}
	}
}

func (f *Follower) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		f.onErr(err)
	}
}

// goesOn reports whether f follows, and ends that when nobody has listened for a while.
func (f *Follower) goesOn() bool {
	listened := f.hub.followed()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case listened:
		f.idleSince = time.Time{}
	case f.idleSince.IsZero():
		f.idleSince = time.Now()
	case time.Since(f.idleSince) > followFor:
		f.following = false
		clear(f.seen)
		clear(f.jobs)
	}
	return f.following
}

// start makes f follow before a listener is added: what was stored before is known, and
// what comes later is published. What the hub remembers from before is not whole.
func (f *Follower) start(ctx context.Context) error {
	f.looking.Lock()
	defer f.looking.Unlock()
	f.mu.Lock()
	already := f.following
	f.idleSince = time.Time{}
	f.mu.Unlock()
	if already {
		return nil
	}
	events, _, err := f.hub.opts.Source.Since(ctx, f.hub.opts.Now().Add(-Slack), MaxMissed*64, func(*Event) bool { return true })
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.following = true
	for i := range events {
		f.isNews(&events[i])
	}
	f.mu.Unlock()
	f.hub.forget()
	return f.others.AskForNews(ctx)
}

// own notes an event that this process publishes itself, and tells the others if they asked.
func (f *Follower) own(e *Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.following {
		f.isNews(e)
	}
	if time.Since(f.askedAt) > askedFor {
		return
	}
	if e.Event == JobDone || len(f.news.Rows) >= maxTold {
		f.news.Look = true
	} else {
		f.news.Rows = append(f.news.Rows, Ref{e.Key, e.Seq})
	}
	select {
	case f.tell <- struct{}{}:
	default: // it tells soon anyway
	}
}

// tellNews tells the others, until ctx ends.
func (f *Follower) tellNews(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.tell:
		}
		timer := time.NewTimer(gatherFor)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		f.mu.Lock()
		news := f.news
		f.news = News{}
		f.mu.Unlock()
		f.report(ctx, f.others.TellNews(ctx, news))
	}
}

// Asked is called when another process asks for news.
func (f *Follower) Asked() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.askedAt = time.Now()
}

// Told is called when another process tells news.
func (f *Follower) Told(ctx context.Context, n News) error {
	f.mu.Lock()
	following := f.following
	f.mu.Unlock()
	if !following {
		return nil
	}
	if n.Look {
		return f.look(ctx, Slack, true)
	}
	f.looking.Lock()
	defer f.looking.Unlock()
	events, err := f.hub.opts.Source.States(ctx, n.Rows)
	f.publish(events)
	return err
}

// look publishes the rows of the last back that are new, and what became of deliveries
// that were under way. jobs: also the outcomes of jobs.
func (f *Follower) look(ctx context.Context, back time.Duration, jobs bool) error {
	f.looking.Lock()
	defer f.looking.Unlock()
	source := f.hub.opts.Source
	look := source.Rows
	if jobs {
		look = func(ctx context.Context, t time.Time) ([]Event, bool, error) {
			return source.Since(ctx, t, MaxMissed*64, func(*Event) bool { return true })
		}
	}
	events, whole, err := look(ctx, f.hub.opts.Now().Add(-back))
	if err != nil {
		return err
	}
	if !whole {
		f.hub.publish(Event{Event: Reset})
	}
	f.publish(events)
	asked := f.underWay(jobs)
	states, err := source.States(ctx, asked)
	f.publish(states)
	if err == nil {
		f.dropGone(asked, states)
	}
	return err
}

// dropGone forgets rows that were asked for and do not exist any more.
func (f *Follower) dropGone(asked []Ref, states []Event) {
	there := map[Ref]bool{}
	for i := range states {
		there[Ref{states[i].Key, states[i].Seq}] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ref := range asked {
		if !there[ref] {
			delete(f.seen, ref)
		}
	}
}

// publish publishes those of events that are news.
func (f *Follower) publish(events []Event) {
	for i := range events {
		f.mu.Lock()
		news := f.isNews(&events[i])
		f.mu.Unlock()
		if news {
			f.hub.publish(events[i])
		}
	}
}

// isNews notes e, and reports whether it says something new. The caller holds f.mu.
func (f *Follower) isNews(e *Event) bool {
	if e.Event == JobDone {
		name := e.Job + e.Due.String() + e.Outcome
		_, known := f.jobs[name]
		f.jobs[name] = time.Now()
		return !known
	}
	ref := Ref{e.Key, e.Seq}
	before, known := f.seen[ref]
	if known && !e.newer(&before.event) {
		f.seen[ref] = seenRow{before.event, before.changed, time.Now()}
		return false
	}
	f.seen[ref] = seenRow{*e, time.Now(), time.Now()}
	return true
}

// underWay are the deliveries without a final state that changed lately; with all, also
// the others, and those of the listeners. It forgets old rows that have one: a look does
// not find them any more.
func (f *Follower) underWay(all bool) (list []Ref) {
	open := map[Ref]bool{}
	if all {
		open = f.hub.open()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for ref, row := range f.seen {
		switch {
		case row.event.Event == DeliveryChanged && !row.event.final():
			if all || time.Since(row.changed) < Slack {
				open[ref] = true
			}
		case time.Since(row.read) > 2*Slack:
			delete(f.seen, ref)
		}
	}
	for name, at := range f.jobs {
		if time.Since(at) > 2*Slack {
			delete(f.jobs, name)
		}
	}
	for ref := range open {
		list = append(list, ref)
	}
	return list[:min(len(list), MaxMissed)]
}

// Package alerts tells an operator, in a conversation, that something does not
// work, and again that it does.
//
// The promise: what fails for [Options.After] is told once, in one message with
// everything else that fails at that time, and told once more when it is well
// again. What only flickers is not told. A message that cannot be stored or
// whose channel fails is tried again until it is told; meanwhile it grows with
// the news. What was told is memory only: after a restart a trouble that is
// still there is told again, and one that is over is not mentioned.
//
// [Watcher.Run] starts no goroutines.
package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Trouble is one thing that does not work now.
type Trouble struct {
	// ID is the same for as long as it is the same trouble: "channel irc".
	ID string
	// Name begins a sentence about it: "Channel irc has not worked".
	Name string
	// Well is the sentence when that is over: "Channel irc works again".
	Well string
	// Why is a sentence about the cause, or empty.
	Why string
}

// Options are what a watcher needs.
type Options struct {
	// After is how long something must fail before it is told.
	After time.Duration
	// Look lists what does not work now. Its context has a deadline.
	Look func(ctx context.Context) []Trouble
	// Reachable reports whether the conversation that is told can be reached
	// now. Nil: nobody is told, only Changed is called.
	Reachable func() bool
	// Tell says text there. After an error it is called again with the same id,
	// maybe with more text.
	Tell func(ctx context.Context, id, text string) error
	// Changed is called when t has failed for After, and when it is well again.
	Changed func(t Trouble, failed bool)
	Logger  *slog.Logger
}

// Watcher looks and tells. Its fields belong to Run.
type Watcher struct {
	opts  Options
	cases map[string]*trouble
	id    string // of the message that is told next
}

// trouble is what is known of one trouble.
type trouble struct {
	Trouble
	since, well time.Time // when it began to fail, and to be well; well is zero while it fails
	calm        time.Duration
	counted     bool // it has failed for After
	told        bool // the conversation knows that
	over        bool // it is well, and the conversation is to know that
}

const (
	// lookMost is the longest time between two looks, lookWithin how long one
	// may take.
	lookMost   = 30 * time.Second
	lookWithin = 10 * time.Second
	// settles is how long something must be well before a failure that was not
	// told is forgotten: a channel that is up for a second in each minute fails.
	settles = time.Minute
	// calmMost: who fails again soon after it was told to be well must be well
	// for longer each time before that is told again, at most for so long.
	calmMost = 2 * time.Hour
)

// New makes a watcher. Nothing starts before Run.
func New(o Options) *Watcher {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(Trouble, bool) {}
	}
	return &Watcher{opts: o, cases: map[string]*trouble{}, id: rand.Text()}
}

// Run looks until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(min(lookMost, max(w.opts.After/5, 100*time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		look, cancel := context.WithTimeout(ctx, lookWithin)
		now := w.opts.Look(look)
		cancel()
		if ctx.Err() != nil {
			return // an end is no trouble
		}
		w.see(now, time.Now())
		w.tell(ctx)
	}
}

// see takes in what fails now.
func (w *Watcher) see(failing []Trouble, now time.Time) {
	for _, t := range failing {
		c := w.cases[t.ID]
		if c == nil {
			c = &trouble{since: now, calm: w.opts.After}
			w.cases[t.ID] = c
		} else if !c.counted && !c.well.IsZero() && now.Sub(c.well) >= min(settles, w.opts.After) {
			c.since = now // another failure than the one that was seen before
		}
		c.Trouble, c.well = t, time.Time{}
	}
	due := false
	for id, c := range w.cases {
		if c.well.IsZero() && !slices.ContainsFunc(failing, func(t Trouble) bool { return t.ID == id }) {
			c.well = now
		}
		due = due || w.fails(c, now, w.opts.After)
	}
	for id, c := range w.cases {
		switch {
		case due && w.fails(c, now, w.opts.After/2): // in one message with what is due
			c.counted, c.over = true, false
			w.opts.Changed(c.Trouble, true)
		case c.counted && !c.well.IsZero() && now.Sub(c.well) >= c.calm:
			c.counted, c.over = false, true
			c.calm = min(2*c.calm, max(calmMost, w.opts.After))
			w.opts.Changed(c.Trouble, false)
		case !c.counted && !c.over && !c.well.IsZero() && now.Sub(c.well) >= max(settles, 2*c.calm):
			delete(w.cases, id)
		}
	}
}

// fails reports whether c is not counted and has failed for so long.
func (w *Watcher) fails(c *trouble, now time.Time, long time.Duration) bool {
	return !c.counted && c.well.IsZero() && now.Sub(c.since) >= long
}

// tell says what the conversation does not know yet.
func (w *Watcher) tell(ctx context.Context) {
	if w.opts.Reachable == nil || !w.opts.Reachable() {
		return
	}
	var bad, good []*trouble
	for _, c := range w.cases {
		switch {
		case c.counted && !c.told:
			bad = append(bad, c)
		case c.over && !c.well.IsZero():
			good = append(good, c)
		}
	}
	if len(bad)+len(good) == 0 {
		return
	}
	if err := w.opts.Tell(ctx, w.id, text(bad, good)); err != nil {
		w.opts.Logger.Error("an alert could not be sent; will try again", "err", err)
		return
	}
	w.id = rand.Text()
	for _, c := range bad {
		c.told = true
	}
	for _, c := range good {
		c.over, c.told = false, false
	}
}

// text is the message.
func text(bad, good []*trouble) string {
	var b strings.Builder
	list := func(title string, all []*trouble, line func(*trouble) string) {
		if len(all) == 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		slices.SortFunc(all, func(a, b *trouble) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.ID, b.ID)) })
		b.WriteString(title + "\n")
		for _, c := range all {
			b.WriteString("\n- " + line(c))
		}
	}
	list("Something is wrong:", bad, func(c *trouble) string {
		said := fmt.Sprintf("%s since %s", c.Name, clock(c.since))
		if why := strings.TrimRight(strings.TrimSpace(c.Why), "."); why != "" {
			said += ": " + why
		}
		return said + "."
	})
	list("Well again:", good, func(c *trouble) string {
		return fmt.Sprintf("%s. The trouble lasted from %s to %s.", c.Well, clock(c.since), clock(c.well))
	})
	return b.String()
}

// clock is a time as people of this machine read it.
func clock(t time.Time) string { return t.Local().Format("Jan 2 15:04") }

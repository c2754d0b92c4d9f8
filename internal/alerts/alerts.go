// Package alerts tells an operator, in a conversation, when something fails and when it
// works again.
//
// The promise: what fails for [Options.After] is reported once, in one message with
// everything else that fails at that time, and once more when it works again. Short
// failures are not reported. If a message cannot be stored or its channel fails, the
// watcher tries again until it succeeds, and adds the news of the meantime. It remembers
// reports in memory only: after a restart it reports a failure that continues again, and
// does not mention one that is over.
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

	"dragoman/channels"
)

// Trouble is one thing that fails now.
type Trouble struct {
	// ID identifies the trouble for as long as it lasts: "channel irc".
	ID string
	// Name begins a sentence about it: "Channel irc has not worked".
	Name string
	// Well is a sentence for its end: "Channel irc works again".
	Well string
	// Why is a sentence of ours about the cause, or empty.
	Why string
	// Said is what a network or a server says about the cause, or empty. People see it
	// as code, because it can hold links.
	Said string
}

// Options are what a watcher needs.
type Options struct {
	// After is how long something must fail before it is reported.
	After time.Duration
	// Look lists what fails now. Its context has a deadline.
	Look func(ctx context.Context) []Trouble
	// Reachable reports whether the operator's conversation can be reached now. Nil:
	// there is none, and only Changed is called.
	Reachable func() bool
	// Tell sends text to the conversation. After an error it is called again with the
	// same id, perhaps with more text.
	Tell func(ctx context.Context, id, text string) error
	// Changed is called when t has failed for After, and when it works again.
	Changed func(t Trouble, failed bool)
	Logger  *slog.Logger
}

// Watcher looks for troubles and reports them. Only Run uses its fields.
type Watcher struct {
	opts     Options
	troubles map[string]*trouble // by ID
	id       string              // of the next message
}

// trouble is a [Trouble] with what the watcher knows of it.
type trouble struct {
	Trouble
	since, well time.Time     // when it began to fail and to work; well is zero while it fails
	calm        time.Duration // how long it must work before it counts as over
	failed      bool          // it has failed for After, and is not over
	reported    bool          // the operator knows that it failed
	over        bool          // the operator should hear that it is over
}

const (
	// maxPause is the longest time between two looks, and lookTimeout bounds one look.
	maxPause    = 30 * time.Second
	lookTimeout = 10 * time.Second
	// minWell is how long something must work before a failure that was not reported
	// is forgotten. A channel that is up for a second in each minute fails.
	minWell = time.Minute
	// maxCalm bounds calm, which doubles each time that a trouble is over.
	maxCalm = 2 * time.Hour
)

// New makes a watcher. Nothing starts before Run.
func New(o Options) *Watcher {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(Trouble, bool) {}
	}
	return &Watcher{opts: o, troubles: map[string]*trouble{}, id: rand.Text()}
}

// Run looks until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(min(maxPause, max(w.opts.After/5, 100*time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		look, cancel := context.WithTimeout(ctx, lookTimeout)
		failing := w.opts.Look(look)
		cancel()
		if ctx.Err() != nil {
			return // Look may have failed because of that
		}
		w.update(failing, time.Now())
		w.report(ctx)
	}
}

// update takes what fails now, and reports what has failed or worked for long
// enough.
func (w *Watcher) update(failing []Trouble, now time.Time) {
	for _, t := range failing {
		c := w.troubles[t.ID]
		if c == nil {
			c = &trouble{since: now, calm: w.opts.After}
			w.troubles[t.ID] = c
		} else if !c.failed && !c.well.IsZero() && now.Sub(c.well) >= min(minWell, w.opts.After) {
			c.since = now // a new failure
		}
		c.Trouble, c.well = t, time.Time{}
	}
	due := false
	for id, c := range w.troubles {
		if c.well.IsZero() && !slices.ContainsFunc(failing, func(t Trouble) bool { return t.ID == id }) {
			c.well = now
		}
		due = due || c.newFor(w.opts.After, now)
	}
	for id, c := range w.troubles {
		switch {
		case due && c.newFor(w.opts.After/2, now): // in one message with the due ones
			c.failed, c.over = true, false
			w.opts.Changed(c.Trouble, true)
		case c.failed && !c.well.IsZero() && now.Sub(c.well) >= c.calm:
			c.failed, c.over = false, true
			c.calm = min(2*c.calm, max(maxCalm, w.opts.After))
			w.opts.Changed(c.Trouble, false)
		case !c.failed && !c.over && !c.well.IsZero() && now.Sub(c.well) >= max(minWell, 2*c.calm):
			delete(w.troubles, id)
		}
	}
}

// newFor reports whether c is new and has lasted for that long.
func (c *trouble) newFor(long time.Duration, now time.Time) bool {
	return !c.failed && c.well.IsZero() && now.Sub(c.since) >= long
}

// report sends what the operator does not know yet.
func (w *Watcher) report(ctx context.Context) {
	if w.opts.Reachable == nil || !w.opts.Reachable() {
		return
	}
	var bad, good []*trouble
	for _, c := range w.troubles {
		switch {
		case c.failed && !c.reported:
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
		c.reported = true
	}
	for _, c := range good {
		c.over, c.reported = false, false
	}
}

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
		line := fmt.Sprintf("%s since %s", c.Name, clock(c.since))
		why := strings.TrimRight(strings.TrimSpace(c.Why), ".")
		for _, cause := range []string{why, channels.Foreign(c.Said)} {
			if cause != "" {
				line += ": " + cause
			}
		}
		return line + "."
	})
	list("Working again:", good, func(c *trouble) string {
		return fmt.Sprintf("%s. The trouble lasted from %s to %s.", c.Well, clock(c.since), clock(c.well))
	})
	return b.String()
}

// clock returns a time in this machine's time zone.
func clock(t time.Time) string { return t.Local().Format("Jan 2 15:04") }

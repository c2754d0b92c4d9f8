package agent

import (
	"context"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// usualKeep returns what a summary leaves of the history beside the running turn.
func (r *run) usualKeep() *window.Keep { return r.keepInWindow(r.a.usableWindow(r.model.Name())) }

// keepAfterRefusal is usualKeep after the server refused a request of this many tokens,
// as we count them (0: none), as too long. What is kept fits the window that is learned
// from that, or the next summary would be due right after this turn.
func (r *run) keepAfterRefusal(refused int) *window.Keep {
	if refused == 0 {
		return r.usualKeep()
	}
	name := r.model.Name()
	return r.keepInWindow(r.a.windowHolding(name, r.a.usableWindow(name), refused*safeTenths/10))
}

func (r *run) keepInWindow(size int) *window.Keep {
	k := r.a.KeepIn(r.t.History, size, r.budgetIn(size)-r.turnTokens())
	return &k
}

// turnTokens returns how many tokens the running turn takes of a full request.
func (r *run) turnTokens() (n int) {
	largest := r.budget() / window.LargestTurnShare // see window.Fit
	own := window.Stamped(r.all[r.inputAt:], r.a.opts.Zone, nil)
	for i := range own {
		m := own[i:][:1]
		size := r.a.messageTokens(m)
		if m[0].Role != sessions.RoleUser {
			size = min(size, largest)
		}
		n += size
	}
	return n
}

// keepIfTooLong returns what a summary before the next call should keep, or nil if
// the person who waits would gain nothing from one: the request fits, or only
// messages that are kept anyway make it too long, or shortening huge messages is
// enough. If messages would be left out, even a few, a summary is made, since nothing
// else would be left of them. A very long turn needs a second summary, of everything
// that the first one kept.
func (r *run) keepIfTooLong(final bool) *window.Keep {
	if r.t.Compact == nil || r.fit.compactTried && !r.fit.compacted || r.fit.compactedAll || r.surelyFits() {
		return nil
	}
	view, users, _ := r.view(final)
	if r.fits(view) {
		return nil
	}
	h, keep := r.t.History, r.usualKeep()
	if r.fit.compacted {
		keep = &window.Keep{Unit: window.UnitMessages}
	}
	cut := window.CutAt(h.Messages, *keep)
	if h.Omitted == 0 && cut == 0 {
		return nil
	}
	if r.fit.compacted || !r.a.Frees(h, cut) {
		if fitted, listed := window.Fit(view, users, r.budget(), r.a.opts.Count); countMissing(view, fitted, listed) == 0 {
			return nil
		}
	}
	r.fit.compactedAll = r.fit.compacted
	return keep
}

// enforceMessageLimit has older messages summarised while there are more than a
// request may show. The messages to keep verbatim are counted from the end of the
// running turn, so a long turn may leave none of the history. If no summary can be
// made, newestMessages cuts the view.
func (r *run) enforceMessageLimit(ctx context.Context) error {
	most := r.a.Compaction().Keep.MaxMessages
	for tries := 0; most > 0 && len(r.all) > most && r.inputAt > 0 && !r.fit.limitStuck; tries++ {
		before, turn := r.inputAt, len(r.all)-r.inputAt
		keep := max(r.inputAt-window.CutAt(r.all, r.a.Keep(r.t.History)), 0)
		keep = max(min(keep, most-turn), 0)
		if tries > 0 {
			keep = 0 // a group of tool calls was in the way, or another summary was made first
		}
		if err := r.compact(ctx, &window.Keep{Unit: window.UnitMessages, N: keep}); err != nil {
			return err
		}
		r.fit.limitStuck = r.inputAt >= before
	}
	return nil
}

// newestMessages cuts the view to the number of messages that it may have.
func (r *run) newestMessages(msgs []sessions.Message, users int) []sessions.Message {
	c := r.a.Compaction()
	if c.Keep.MaxMessages == 0 {
		return msgs
	}
	step := c.Keep.MaxMessages / 2
	if c.Keep.Unit == window.UnitMessages {
		step = c.Keep.MaxMessages - c.Keep.N
	}
	return window.Newest(msgs, users, c.Keep.MaxMessages, step)
}

package agent

import (
	"dragoman/agent/window"
	"dragoman/sessions"
)

// keep is what stays of the history beside the running turn.
func (r *run) keep() *window.Keep { return r.keepIn(r.a.windowOf(r.model.Name())) }

// keepAfter is the same when the server has found a request of so many tokens,
// as we count them, too long, if it is not 0: what stays fits the window that is learned of
// that. Else the next summary would be due as soon as this turn is over.
func (r *run) keepAfter(refused int) *window.Keep {
	if refused == 0 {
		return r.keep()
	}
	name := r.model.Name()
	return r.keepIn(r.a.windowFor(name, r.a.windowOf(name), refused*learnedTenths/10))
}

// keepIn is what stays of it in a window of so many tokens.
func (r *run) keepIn(size int) *window.Keep {
	k := r.a.KeepIn(r.t.History, size, r.budgetIn(size)-r.ownTokens())
	return &k
}

// ownTokens are what the running turn takes of a request that is full.
func (r *run) ownTokens() (n int) {
	largest := r.budget() / window.LargestOwnShare // see window.Fit
	own := window.Stamped(r.all[r.own:], r.a.opts.Zone)
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

// keepNow is what a summary before the next call leaves of the history, or nil
// if the person who waits for it would gain nothing: the request fits, or those
// that stay anyway are what makes it too long, or it is enough to show huge
// messages by their ends. Of messages that it would leave out, however few, the
// summary is all that is left. A turn that goes on and on needs a second one,
// of all that the first one left.
func (r *run) keepNow(final bool) *window.Keep {
	if r.t.Compact == nil || r.compactTried && !r.compacted || r.compactedAll || r.surelyFits() {
		return nil
	}
	view, users, _ := r.view(final)
	if r.fits(view) {
		return nil
	}
	h, keep := r.t.History, r.keep()
	if r.compacted {
		keep = &window.Keep{Unit: window.UnitMessages}
	}
	cut := window.CutAt(h.Messages, *keep)
	if h.Omitted == 0 && cut == 0 {
		return nil
	}
	if r.compacted || !r.a.Frees(h, cut) {
		if fitted, listed := r.fit(view, users); missing(view, fitted, listed) == 0 {
			return nil
		}
	}
	r.compactedAll = r.compacted
	return keep
}

package agent

import (
	"sort"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Keep is what stays word for word beside a summary.
type Keep = window.Keep

// keptShare is the part, one n-th, that what stays word for word may have of
// the room for messages below the trigger. If more stayed, a turn or two would
// fill the rest, and each summary would free little.
const keptShare = 2

// keep is what stays of h word for word: what Compaction.Keep says, or less
// where the window has no room for so much.
func (a *Agent) keep(h sessions.History) Keep {
	return a.keepWithin(h, a.keptRoom(h), 1)
}

// keepOr is k, or what usually stays of h if that is nil.
func (a *Agent) keepOr(k *Keep, h sessions.History) Keep {
	if k != nil {
		return *k
	}
	return a.keep(h)
}

// keep is what stays of the history beside the running turn.
func (r *run) keep() *Keep { return r.keepIn(r.a.windowOf(r.model.Name())) }

// keepAfter is the same when the server has found a request of so many tokens,
// as we count them, too long, if it is not 0: what stays fits the window that is learned of
// that. Else the next summary would be due as soon as this turn is over.
func (r *run) keepAfter(refused int) *Keep {
	if refused == 0 {
		return r.keep()
	}
	name := r.model.Name()
	return r.keepIn(r.a.windowFor(name, r.a.windowOf(name), refused*learnedTenths/10))
}

// keepIn is what stays of it in a window of so many tokens.
func (r *run) keepIn(size int) *Keep {
	h := r.t.History
	room := r.budgetIn(size) - r.ownTokens() - r.a.summaryTokensIn(size)
	k := r.a.keepWithin(h, min(room, r.a.keptRoomIn(h, size)), 0)
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
func (r *run) keepNow(final bool) *Keep {
	if r.t.Compact == nil || r.compactTried && !r.compacted || r.compactedAll || r.surelyFits() {
		return nil
	}
	view, users, _ := r.view(final)
	if r.fits(view) {
		return nil
	}
	h, keep := r.t.History, r.keep()
	if r.compacted {
		keep = &Keep{Unit: window.UnitMessages}
	}
	cut := window.CutAt(h.Messages, *keep)
	if h.Omitted == 0 && cut == 0 {
		return nil
	}
	if r.compacted || !r.a.frees(h, cut) {
		if fitted, told := r.fit(view, users); missing(view, fitted, told) == 0 {
			return nil
		}
	}
	r.compactedAll = r.compacted
	return keep
}

// keptRoom is how many tokens, as we count them, may stay of h.
func (a *Agent) keptRoom(h sessions.History) int {
	return a.keptRoomIn(h, a.windowOf(a.nameFor(h.Settings)))
}

// keptRoomIn is the same in a window of so many tokens.
func (a *Agent) keptRoomIn(h sessions.History, size int) int {
	name := a.nameFor(h.Settings)
	most := size - a.answerReserve(size)
	if percent := a.compacting.Load().Trigger.TokensPercent; percent > 0 {
		most = min(most, size*percent/100)
	}
	frame, offer := a.framing(name, &h, "", nil)
	return max(a.room(name, most)-frame.Tokens(a.opts.Count)-offer.tokens, size/8) / keptShare
}

// keepWithin is what Compaction.Keep says, but no more of h than takes so many
// tokens, and least messages at least. Tokens of the configuration are those
// of the model that answers there, and window.CutAt counts its own.
func (a *Agent) keepWithin(h sessions.History, room, least int) Keep {
	k := a.compacting.Load().Keep
	if k.Unit == window.UnitTokens {
		k.N = max(a.room(a.nameFor(h.Settings), k.N), 1)
	}
	first := window.CutAt(a.without(a.nameFor(h.Settings), h.Messages), k)
	if a.bound(h.Messages[first:]) <= room {
		return k
	}
	shown := a.pruned(h)
	// sizes[i] is what shown takes from i on. One message alone gets no more of
	// a request that is full: see window.Fit.
	largest := a.keptRoom(h) * keptShare / window.LargestShare
	sizes := make([]int, len(shown)+1)
	for i := len(shown) - 1; i >= 0; i-- {
		sizes[i] = sizes[i+1] + min(a.messageTokens(shown[i:i+1]), largest)
	}
	n := len(h.Messages) - first
	gone := sort.Search(n, func(gone int) bool {
		cut := window.Cut(h.Messages, n-gone)
		// Repaired by itself, what is before the cut is what it is in the whole.
		return sizes[min(len(window.Repair(h.Messages[:cut])), len(shown))] <= max(room, 0)
	})
	return Keep{Unit: window.UnitMessages, N: min(max(n-gone, least), n)}
}

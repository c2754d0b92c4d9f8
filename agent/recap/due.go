package recap

import (
	"sort"

	"dragoman/agent/window"
	"dragoman/sessions"
)

const (
	// usefulShare is the part of the window, one n-th, that summarising must
	// be able to free before the size of a history alone asks for it. A few
	// huge messages at the end would otherwise start it after every turn.
	usefulShare = 10
	// usefulMessages is the same for the number of messages: the part of the
	// trigger that must be old enough, where turns or tool groups make more
	// messages stay than the trigger allows.
	usefulMessages = 4
	// keptShare is the part, one n-th, that what stays word for word may have of
	// the room for messages below the trigger. If more stayed, a turn or two would
	// fill the rest, and each summary would free little.
	keptShare = 2
)

// Level is how much a conversation wants a summary.
type Level int

// The levels.
const (
	Nothing  Level = iota // summaries are off, or would stand for nothing
	Possible              // a person may ask for one
	Choice                // a trigger is reached, and the person is to choose
	Due                   // a trigger is reached, or turns do not load all of it any more, so that what they leave out would stand nowhere
)

// Level says how much h wants a summary.
func (s *Summarizer) Level(h sessions.History) Level {
	c := s.now.Load()
	if c.When == window.WhenOff {
		return Nothing
	}
	cut := window.CutAt(h.Messages, s.Keep(h))
	switch {
	case cut == 0 && h.Omitted == 0:
		return Nothing
	case !s.reached(c, h, cut):
		return Possible
	case c.When == window.WhenAsk && h.Omitted == 0:
		return Choice
	}
	return Due
}

// reached reports whether h, of which a summary would stand for the messages
// before cut, has reached a trigger.
func (s *Summarizer) reached(c *settings, h sessions.History, cut int) bool {
	total := len(h.Messages) + h.Omitted
	switch {
	case total < c.Trigger.MinMessages:
		return false
	case c.When == window.WhenEveryTurn, h.Omitted > 0:
		return true
	case c.Trigger.Messages > 0 && total > c.Trigger.Messages && cut >= c.usefulCut(c.Trigger.Messages):
		return true
	case c.MaxMessages > 0 && total+window.LastTurn(h.Messages) > c.MaxMessages && cut >= c.usefulCut(c.MaxMessages):
		return true // else the next turn, if it is as long as this one, would wait for it
	case c.Trigger.TokensPercent > 0 && s.fills(h, s.meter.Window(h.Settings)*c.Trigger.TokensPercent/100):
		return s.Frees(h, cut)
	default:
		return false
	}
}

// usefulCut is how many messages a summary must stand for when more than most
// of them ask for it. Where that leaves just so many, it is enough.
func (c *settings) usefulCut(most int) int {
	least := most / usefulMessages
	if c.Keep.Unit == window.UnitMessages {
		least = min(least, most-c.Keep.N)
	}
	return max(least, 1)
}

// Frees reports whether a summary of the messages before cut frees so much of
// the window that it is worth a call. A result that is shown by its ends takes no
// more room than they do.
func (s *Summarizer) Frees(h sessions.History, cut int) bool {
	if h.Omitted > 0 {
		return true
	}
	// Repaired by itself, what is before the cut is what it is in the whole.
	before := s.meter.Shown(h)[:len(window.Repair(h.Messages[:cut]))]
	return s.tokens(before) >= s.room(h.Settings, s.meter.Window(h.Settings)/usefulShare)
}

// Keep is what stays of h word for word: what Compaction.Keep says, or less
// where the window has no room for so much.
func (s *Summarizer) Keep(h sessions.History) window.Keep {
	return s.keepWithin(h, s.keptRoom(h, s.meter.Window(h.Settings)), 1)
}

// KeepIn is what stays of h beside a running turn in a window of so many tokens,
// of which room is left for h and its summary.
func (s *Summarizer) KeepIn(h sessions.History, size, room int) window.Keep {
	return s.keepWithin(h, min(room-s.summaryTokens(size), s.keptRoom(h, size)), 0)
}

// keptRoom is how many tokens, as we count them, may stay of h in a window of so
// many tokens.
func (s *Summarizer) keptRoom(h sessions.History, size int) int {
	most := size - window.Reserve(size, s.opts.AnswerTokens)
	if percent := s.now.Load().Trigger.TokensPercent; percent > 0 {
		most = min(most, size*percent/100)
	}
	frame, tools := s.meter.Frame(&h, nil)
	return max(s.room(h.Settings, most)-frame.Tokens(s.opts.Count)-tools, size/8) / keptShare
}

// keepWithin is what Compaction.Keep says, but no more of h than takes so many
// tokens, and least messages at least. Tokens of the configuration are those
// of the model that answers there, and window.CutAt counts its own.
func (s *Summarizer) keepWithin(h sessions.History, room, least int) window.Keep {
	k := s.now.Load().Keep
	if k.Unit == window.UnitTokens {
		k.N = max(s.room(h.Settings, k.N), 1)
	}
	first := window.CutAt(h.Messages, k)
	if bound(h.Messages[first:]) <= room {
		return k
	}
	shown := s.meter.Shown(h)
	// sizes[i] is what shown takes from i on. One message alone gets no more of
	// a request that is full: see window.Fit.
	largest := s.keptRoom(h, s.meter.Window(h.Settings)) * keptShare / window.LargestShare
	sizes := make([]int, len(shown)+1)
	for i := len(shown) - 1; i >= 0; i-- {
		sizes[i] = sizes[i+1] + min(s.tokens(shown[i:i+1]), largest)
	}
	n := len(h.Messages) - first
	gone := sort.Search(n, func(gone int) bool {
		cut := window.Cut(h.Messages, n-gone)
		// Repaired by itself, what is before the cut is what it is in the whole.
		return sizes[min(len(window.Repair(h.Messages[:cut])), len(shown))] <= max(room, 0)
	})
	return window.Keep{Unit: window.UnitMessages, N: min(max(n-gone, least), n)}
}

// summaryTokens is how long a summary may be: it must leave room in the window of
// the model that answers, which takes so many tokens.
func (s *Summarizer) summaryTokens(size int) int { return min(s.now.Load().MaxTokens, size/4) }

package recap

import (
	"sort"

	"dragoman/agent/window"
	"dragoman/sessions"
)

const (
	// The size of a history starts a summary only if that frees at least one
	// usefulShare-th of the window. Otherwise a few huge messages at the end would
	// start one after every turn.
	usefulShare = 10
	// The number of messages starts a summary only if it would cover at least one
	// usefulMessages-th of the trigger. Whole turns and tool groups may keep more
	// messages than the trigger allows.
	usefulMessages = 4
	// Kept messages may take at most one keptShare-th of the room below the trigger.
	// If more were kept, a turn or two would fill the rest, and each summary would
	// free little.
	keptShare = 2
)

// Level says how urgently a conversation needs a summary.
type Level int

// The levels.
const (
	Nothing  Level = iota // summaries are off, or one would cover nothing
	Possible              // a person may ask for one
	Choice                // a trigger is reached, and the person should choose
	Due                   // a trigger is reached, or turns cannot load everything any more, so messages would be left out without a summary
)

// Level says how urgently h needs a summary.
func (s *Summarizer) Level(h sessions.History) Level {
	c := s.now.Load()
	if c.When == window.WhenOff {
		return Nothing
	}
	cut := window.CutAt(h.Messages, s.Keep(h))
	switch {
	case cut == 0 && h.Omitted == 0:
		return Nothing
	case !s.triggered(c, h, cut):
		return Possible
	case c.When == window.WhenAsk && h.Omitted == 0:
		return Choice
	}
	return Due
}

// triggered reports whether h has reached a trigger. A summary would cover the
// messages before cut.
func (s *Summarizer) triggered(c *settings, h sessions.History, cut int) bool {
	total := len(h.Messages) + h.Omitted
	switch {
	case total < c.Trigger.MinMessages:
		return false
	case c.When == window.WhenEveryTurn, h.Omitted > 0:
		return true
	case c.Trigger.Messages > 0 && total > int(c.Trigger.Messages) && cut >= c.usefulCut(int(c.Trigger.Messages)):
		return true
	case c.Keep.MaxMessages > 0 && total+window.LastTurn(h.Messages) > c.Keep.MaxMessages && cut >= c.usefulCut(c.Keep.MaxMessages):
		return true // otherwise the next turn, if it is as long as this one, would wait for a summary
	case c.Trigger.TokensPercent > 0 && s.fills(h, s.meter.Window(h.Settings)*int(c.Trigger.TokensPercent)/100):
		return s.Frees(h, cut)
	default:
		return false
	}
}

// usefulCut returns how many messages a summary must cover if it is due because there
// are more than most. If the preset leaves fewer than that to cover, fewer are
// enough.
func (c *settings) usefulCut(most int) int {
	least := most / usefulMessages
	if c.Keep.Unit == window.UnitMessages {
		least = min(least, most-c.Keep.N)
	}
	return max(least, 1)
}

// Frees reports whether a summary of the messages before cut frees enough of the
// window to be worth a call. A pruned result counts at its pruned size.
func (s *Summarizer) Frees(h sessions.History, cut int) bool {
	if h.Omitted > 0 {
		return true
	}
	// Repair changes the messages before the cut in the same way alone and in the whole.
	before := s.meter.Shown(h)[:len(window.Repair(h.Messages[:cut]))]
	return s.tokens(before) >= s.room(h.Settings, s.meter.Window(h.Settings)/usefulShare)
}

// Keep returns how much of h is kept verbatim: Compaction.Keep, or less if the window
// has no room for that.
func (s *Summarizer) Keep(h sessions.History) window.Keep {
	return s.limitKeep(h, s.keepBudget(h, s.meter.Window(h.Settings)), 1)
}

// KeepIn is Keep beside a running turn, in a window of size tokens with room tokens
// left for h and its summary.
func (s *Summarizer) KeepIn(h sessions.History, size, room int) window.Keep {
	return s.limitKeep(h, min(room-s.summaryTokens(size), s.keepBudget(h, size)), 0)
}

// keepBudget returns how many tokens, as we count them, kept messages may take in a
// window of size tokens.
func (s *Summarizer) keepBudget(h sessions.History, size int) int {
	most := size - window.Reserve(size, s.opts.AnswerTokens)
	if percent := int(s.now.Load().Trigger.TokensPercent); percent > 0 {
		most = min(most, size*percent/100)
	}
	frame, tools := s.meter.Frame(&h, nil)
	return max(s.room(h.Settings, most)-frame.Tokens(s.opts.Count)-tools, size/8) / keptShare
}

// limitKeep returns Compaction.Keep, reduced to what fits into room tokens, but at
// least least messages. Tokens in the configuration are those of the answering model,
// while window.CutAt counts ours.
func (s *Summarizer) limitKeep(h sessions.History, room, least int) window.Keep {
	k := s.now.Load().Keep
	if k.Unit == window.UnitTokens {
		k.N = max(s.room(h.Settings, k.N), 1)
	}
	first := window.CutAt(h.Messages, k)
	if bound(h.Messages[first:]) <= room {
		return k
	}
	shown := s.meter.Shown(h)
	// sizes[i] is the size of shown[i:]. A single message gets no more of a full
	// request than largest: see window.Fit.
	largest := s.keepBudget(h, s.meter.Window(h.Settings)) * keptShare / window.LargestShare
	sizes := make([]int, len(shown)+1)
	for i := len(shown) - 1; i >= 0; i-- {
		sizes[i] = sizes[i+1] + min(s.tokens(shown[i:i+1]), largest)
	}
	n := len(h.Messages) - first
	gone := sort.Search(n, func(gone int) bool {
		cut := window.Cut(h.Messages, n-gone)
		// Repair changes the messages before the cut in the same way alone and in the whole.
		return sizes[min(len(window.Repair(h.Messages[:cut])), len(shown))] <= max(room, 0)
	})
	return window.Keep{Unit: window.UnitMessages, N: min(max(n-gone, least), n)}
}

// summaryTokens returns how long a summary may be. It must leave room in the window
// of the answering model, which has size tokens.
func (s *Summarizer) summaryTokens(size int) int { return min(s.now.Load().MaxTokens, size/4) }

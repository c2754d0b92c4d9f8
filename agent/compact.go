package agent

import (
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
)

// NeedsSummary reports whether h is to be summarised now: by one of the
// triggers, after every turn where that is chosen, or because turns do not
// load all of it any more, so that what they leave out would stand nowhere. It
// is false where Summarize could do nothing about it, and where the person is
// asked instead.
func (a *Agent) NeedsSummary(h sessions.History) bool {
	return (a.compacting.Load().When != window.WhenAsk || h.Omitted > 0) && a.triggered(h)
}

// Summarizes reports whether summaries are made at all.
func (a *Agent) Summarizes() bool { return a.compacting.Load().When != window.WhenOff }

// AsksForSummary reports whether the person is to choose now: by one of the
// triggers, where that is chosen.
func (a *Agent) AsksForSummary(h sessions.History) bool {
	return a.compacting.Load().When == window.WhenAsk && h.Omitted == 0 && a.triggered(h)
}

// CanSummarize reports whether there is something that a summary of h would
// stand for.
func (a *Agent) CanSummarize(h sessions.History) bool {
	return a.Summarizes() && (h.Omitted > 0 || window.CutAt(h.Messages, a.keep(h)) > 0)
}

// triggered reports whether h has reached a trigger.
func (a *Agent) triggered(h sessions.History) bool {
	c := a.compacting.Load()
	total := len(h.Messages) + h.Omitted
	if c.When == window.WhenOff || total < c.Trigger.MinMessages {
		return false
	}
	size := a.windowOf(a.nameFor(h.Settings))
	cut := window.CutAt(h.Messages, a.keep(h))
	switch {
	case cut == 0 && h.Omitted == 0:
		return false
	case c.When == window.WhenEveryTurn, h.Omitted > 0:
		return true
	case c.Trigger.Messages > 0 && total > c.Trigger.Messages && cut >= a.usefulCut(c.Trigger.Messages):
		return true
	case c.MaxMessages > 0 && total+window.LastTurn(h.Messages) > c.MaxMessages && cut >= a.usefulCut(c.MaxMessages):
		return true // else the next turn, if it is as long as this one, would wait for it
	case c.Trigger.TokensPercent > 0 && a.fills(h, size*c.Trigger.TokensPercent/100):
		return a.frees(h, cut)
	default:
		return false
	}
}

// frees reports whether a summary of the messages before cut frees so much of
// the window that it is worth a call.
func (a *Agent) frees(h sessions.History, cut int) bool {
	name := a.nameFor(h.Settings)
	if h.Omitted > 0 {
		return true
	}
	// Repaired by itself, what is before the cut is what it is in the whole.
	before := a.pruned(h)[:len(window.Repair(h.Messages[:cut]))]
	return a.messageTokens(before) >= a.room(name, a.windowOf(name)/usefulShare)
}

// pruned is what requests show of h's messages. A result that is shown by its
// ends takes no more room than they do, and that is what triggers go by: else
// summaries would take the place of messages that there is room for.
func (a *Agent) pruned(h sessions.History) []sessions.Message {
	name := a.nameFor(h.Settings)
	frame, offer := a.framing(name, &h, "", h.Summary)
	return a.opts.Prune.Apply(a.shown(name, h.Messages), window.Sight{
		Window: a.sizeOf(name), Fixed: offer.tokens + frame.Tokens(a.opts.Count), Count: a.opts.Count,
	})
}

// usefulCut is how many messages a summary must stand for when more than most
// of them ask for it. Where that leaves just so many, it is enough.
func (a *Agent) usefulCut(most int) int {
	c := a.compacting.Load()
	least := most / usefulMessages
	if c.Keep.Unit == window.UnitMessages {
		least = min(least, most-c.Keep.N)
	}
	return max(least, 1)
}

// Fill is how many tokens a request with h takes of its model, the system
// prompt and the tools included, and how many the model takes: both as its
// server counts.
func (a *Agent) Fill(h sessions.History) (tokens, limit int) {
	name := a.nameFor(h.Settings)
	frame, offer := a.framing(name, &h, "", h.Summary)
	n := a.messageTokens(a.pruned(h)) + frame.Tokens(a.opts.Count) + offer.tokens
	return int(float64(n) * a.opts.Calibration.Factor(name)), a.windowOf(name)
}

// fills reports whether a request with h takes so many tokens of its model.
func (a *Agent) fills(h sessions.History, tokens int) bool {
	name := a.nameFor(h.Settings)
	limit := a.room(name, tokens)
	frame, offer := a.framing(name, &h, "", h.Summary)
	length := func(s string) int { return len(s) }
	if a.bound(h.Messages)+frame.Tokens(length)+offer.tokens < limit {
		return false
	}
	return a.messageTokens(a.pruned(h))+frame.Tokens(a.opts.Count)+offer.tokens >= limit
}

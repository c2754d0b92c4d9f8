package config

import (
	"fmt"

	"dragoman/agent/window"
)

const (
	// roomForTurns is how many messages there must be between what stays and
	// what is shown at most: a summary is to last for two short turns. With less,
	// every turn would wait for one of its own.
	roomForTurns = 4
	// leastMessages is the least keep.max_messages, beside which one turn stays.
	leastMessages = roomForTurns + 2
)

// summaryStart finds settings by which nothing starts a summary, or something
// does that the person was to be asked about.
func (v *validator) summaryStart(s Summary) {
	when, t := window.When(s.When), s.Trigger
	byTrigger := when == window.WhenAuto || when == window.WhenAsk
	none := t.TokensPercent.N() == 0 && t.Messages.N() == 0
	switch {
	case when == window.WhenAsk && s.Keep.MaxMessages > 0:
		v.bad("summary.keep.max_messages", "summarises without asking the person, but summary.when is ask", "write 0 here, or summary.when: auto")
	case byTrigger && none && s.Keep.MaxMessages == 0:
		v.bad("summary.trigger", "nothing starts a summary", "give it tokens_percent or messages, or write summary.when: off")
	case byTrigger && t.Messages.N() > 0 && t.MinMessages > t.Messages.N():
		v.warn("summary.trigger.min_messages", fmt.Sprintf("is %d, so summary.trigger.messages (%d) is always reached too early to count", t.MinMessages, t.Messages.N()),
			fmt.Sprintf("write at most %d, or a larger messages, or messages: none", t.Messages.N()))
	}
}

// summaryKeep finds settings that would keep everything there is. trigger is
// the number of messages that starts a summary; 0: none.
func (v *validator) summaryKeep(k SummaryKeep, trigger int) {
	const path = "summary.keep.n"
	// A turn has two messages, or more.
	unit, kept := window.Unit(k.Unit), k.N
	if unit == window.UnitTurns {
		kept *= 2
	}
	room := k.MaxMessages - roomForTurns
	switch {
	case k.N < 1:
	case unit == window.UnitTokens:
		if half := v.c.Model.window() / 2; k.N >= half {
			v.bad(path, "is half of model.context_window or more, so too little is left to summarise", fmt.Sprintf("write less than %d", half))
		}
	case trigger >= 2 && kept >= trigger && unit == window.UnitTurns:
		v.bad(path, "this many turns have more messages than summary.trigger.messages, so nothing is left to summarise", fmt.Sprintf("write less than %d, or a larger trigger", (trigger+1)/2))
	case trigger >= 2 && kept >= trigger:
		v.bad(path, "must be less than summary.trigger.messages, or nothing is left to summarise", fmt.Sprintf("write less than %d", trigger))
	case k.MaxMessages >= leastMessages && kept > room && unit == window.UnitTurns:
		v.bad(path, fmt.Sprintf("this many turns have %d messages or more, too close to summary.keep.max_messages: every turn would wait for a summary", kept),
			fmt.Sprintf("write at most %d, or a max_messages of at least %d", room/2, kept+roomForTurns))
	case k.MaxMessages >= leastMessages && kept > room:
		v.bad(path, "is too close to summary.keep.max_messages: every turn would wait for a summary",
			fmt.Sprintf("write at most %d, or a max_messages of at least %d", room, kept+roomForTurns))
	}
}

// Package budget is the rule that ends turns when a person, a chat, a job or everybody
// together has used up what they may use in a day or a month.
//
// The promise. What was used is read from the counts that turns add in their own commits
// (package usage, and [rule.Count] for jobs and for all), so a crash gives back nothing that
// the journal has and takes nothing twice, and all nodes add up. A turn has no commit more: only
// calls that take long are noted. Without a limit nothing is read and nothing counted.
//
// Before a turn, and before each call of the model in it, the rule asks whether anything is
// left. While a call runs, its estimated input and the longest answer are reserved. A call
// that would pass a limit by what is reserved waits until the calls that run here have
// ended: near its end a budget is used one call after the other. The last of them may pass
// the limit, because nobody knows what an answer costs before it is written. Calls that run
// on other nodes are reserved in the same way, once they have run for five seconds and are
// noted ([admission.Calls]). A limit may be passed by younger ones.
//
// A call that a crash cuts is charged its estimated input, if it was noted: once, in the
// commit that ends its turn. A call that ran less than five seconds is not.
//
// A turn that finds nothing left ends with a sentence, or with [Settings].Keep is parked until
// the budget goes on: see [admission.Verdict]. It looks again every hour, because a budget also
// goes on when identities become one person or others; new limits make it look at once. In the
// middle of a turn, the answer is what was said so far and that sentence. A job is skipped.
//
// At four fifths of a limit, one answer a day ends with a sentence about it: in a private
// chat about the person, else about the chat. A note says that it was said, in the commit of
// that answer, so all nodes say it once, over restarts.
//
// What is used of the budgets of all and of jobs concerns nobody's chat: whoever runs
// Dragoman is warned, after turns, at four fifths and at the end ([admission.Warner]).
//
// A budget is a person's: the sums of all their identities count (people.Directory).
//
// Days and months are those of agent.time_zone. In a private chat, the sentences name the
// time on the person's clock. Sums are read again after a second,
// above four fifths of a limit before each call, and where several nodes share a store before
// each call in any case: the others may use up a budget within that second.
//
// A summary counts for whoever caused it, and is made also when nothing is left: the
// conversation could not go on without it. Not counted is what package usage does not count.
//
// Failures:
//
//	the store cannot be read       The turn fails as with any rule, and is tried again.
//	the daemon dies in a turn      What its finished calls used is in the journal, and is
//	                               counted when the turn ends, with the input of the call
//	                               that was cut, if that ran for five seconds or more.
//	another node dies              What it has noted is reserved for 15 seconds more.
//	a model has no price           Its calls cost nothing, so a budget in money does not end.
//	the configuration is reloaded  Calls that run are no longer reserved here. Their turns
//	                               are counted.
//
// Goroutines: none. Calls wait in those of their turns, until their context ends.
package budget

import (
	"math"

	"dragoman/sessions"
)

// Settings are those of the rule.
type Settings struct {
	Unit   string `yaml:"unit" default:"money" oneof:"money tokens" doc:"What the numbers below are: money (in the currency of model.prices) or tokens (input and output)."`
	Keep   bool   `yaml:"keep" doc:"Keep messages for which nothing is left, and answer them when the budget goes on, the oldest first. Each conversation is told once. false: they are answered with the sentence."`
	Person Limits `yaml:"person"`
	Chat   Limits `yaml:"chat"`
	Job    Limits `yaml:"job"`
	All    Limits `yaml:"all"`
}

// The values of Settings.Unit.
const (
	Money  = "money"
	Tokens = "tokens"
)

// Limits are how much may be used. 0: as much as they like.
type Limits struct {
	Day   float64 `yaml:"day" range:"0..1000000000" doc:"How much each of them may use in a day. When it is used up, messages are answered with a sentence that says so, without asking the model. 0: no limit."`
	Month float64 `yaml:"month" range:"0..1000000000" doc:"How much each of them may use in a calendar month. 0: no limit."`
}

// On reports whether there is any limit.
func (s *Settings) On() bool {
	return s.Person != (Limits{}) || s.Chat != (Limits{}) || s.Job != (Limits{}) || s.All != (Limits{})
}

// NeedsPrices implements [admission.Priced].
func (s *Settings) NeedsPrices() bool { return s.On() && s.Unit == Money }

// billion is how many units of used-cost are 1, and of which sums of money are made here.
const billion = 1e9

// units returns a limit in the units of sums.
func (s *Settings) units(limit float64) int64 {
	if s.Unit == Tokens {
		return int64(limit)
	}
	return int64(math.Round(limit * billion))
}

// used returns u in the units of sums.
func (s *Settings) used(u sessions.Usage) int64 {
	if s.Unit == Tokens {
		return int64(u.Input) + int64(u.Output)
	}
	return int64(math.Round(u.Cost * billion))
}

package agent

import (
	"context"
	"time"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// Turn is the input of one run of the loop.
type Turn struct {
	ID      string
	Key     channels.Key
	Person  channels.Person // the newest message's sender
	Private bool
	// Operator: the operator asks, in their own chat or by a job that they configured.
	Operator bool
	// Job: it was planned, and nobody has written just now.
	Job bool
	// System is the channel's part of the system prompt, the same from turn to turn.
	System string
	// History must not change while the turn runs. Its Messages may have spare
	// capacity, which the run uses: a copy would take as much memory as the
	// conversation, for each waiting turn.
	History sessions.History
	// Input is what the turn answers: one or more user messages.
	Input []sessions.Message
	// Steps is the journal of an earlier run of this turn. Finished steps are not
	// repeated.
	Steps []sessions.Step
	// Record journals a step, and returns once it is durable. Its error ends the
	// turn.
	Record func(context.Context, sessions.Step) error
	// Progress, if not nil, is called as the answer grows. It must not block.
	Progress func(Progress)
	// Thoughts, if not nil, gets the model's thoughts piece by piece, where its
	// server marks them as such, for people to see while they wait. It must not
	// block. The thoughts of each later call begin with "\n\n".
	Thoughts func(piece string)
	// Alive, if not nil, is called for every piece of an answer that arrives, shown
	// or not. It must not block.
	Alive func()
	// MayUseTools, if not nil, is asked before each tool call whether the person may
	// still use tools. If not, the call is answered with a refusal, and the model
	// answers without tools. An error ends the turn. It must be safe for concurrent
	// use.
	MayUseTools func(context.Context) (bool, error)
	// Guard decides which calls of our tools run. Nil: those that only read, and those that
	// change what is ours.
	Guard Guard
	// Asker puts forms of calls to the person. Nil: nobody answers them.
	Asker Asker
	// Known is what was remembered about the person, or "". It is shown in front of Input and
	// kept nowhere, so what comes before it stays the same from turn to turn.
	Known string
	// KnownOrigins are whose words Known has, beside the person's.
	KnownOrigins []sessions.Origin
	// Permit, if not nil, says which tools the turn may use.
	Permit *Permit
	// Meter, if not nil, is asked before each call of the model, except for summaries.
	Meter Meter
	// Until, if not zero, is when the caller gives up: see [Request.Until].
	Until time.Time
	// MayBeSilent: an empty answer is an answer, as it is for jobs. Otherwise the model
	// is asked once more.
	MayBeSilent bool
	// Steer, if not nil, is asked between steps for messages that arrived meanwhile.
	// It has journaled them (StepSteer).
	Steer func(context.Context) ([]sessions.Message, error)
	// Compact, if not nil, summarises the conversation and returns its new history. It
	// is called when a request does not fit, before sending it or after the server
	// refused it. What the running turn said and did is not summarised. keep is passed
	// to [recap.Summarizer.Summarize] and may be nil. If it fails, the turn continues
	// with the history it has, and leaves older messages out of its requests.
	Compact func(ctx context.Context, keep *window.Keep) (sessions.History, error)
	// Given, if not nil, says that the messages come from a caller who keeps them.
	Given *Given
}

// Meter limits what a turn may use.
type Meter interface {
	// Begin is asked before a call of the model whose request has about that many tokens. A
	// sentence ends the turn: its answer is what was said so far and the sentence. Begin may
	// wait. An error ends the turn.
	Begin(ctx context.Context, model string, input int) (say string, err error)
	// Used is called after the call. u is nil if the call failed, or if its server does not
	// say.
	Used(u *sessions.Usage)
}

// Progress is what people see of a running turn.
type Progress struct {
	Text string // all visible text so far
	Note string // what is happening: "web_fetch …"; "" while text streams
}

// Result is the outcome of a turn.
type Result struct {
	// Messages are for the transcript: the input, then what the model and the tools
	// added. Every tool call is answered, except for Calls.
	Messages []sessions.Message
	// Calls are for the caller to run: calls of [Given.Tools], in the order of the last
	// answer. Their ids are unique among all turns.
	Calls []sessions.ToolCall
	// Text is the answer for the person, in Markdown. It is empty only if the model's
	// answer is; the caller decides what to do then.
	Text  string
	Steps int // model calls
	// Finish and Thought are [Response.Finish] and [Response.Thought] of the last
	// answer. If Text is empty, they say why.
	Finish  string
	Thought bool
	// Unaccounted is the largest number of messages that one of the turn's requests
	// neither showed nor had a summary of: there was no room and no summary could be
	// made, or the turn's own messages are too many. The model is told their number.
	Unaccounted int
	// SilentlyDropped is how many of these were left out without telling the model.
	// More than 0 is a bug.
	SilentlyDropped int
	// Taint is the union of the taints of all requests of the turn, in earlier runs too as
	// far as they ended with calls.
	Taint []sessions.Origin
	// SummaryFailed says that requests left messages out because a summary failed, now
	// or shortly before. The caller should tell people, once.
	SummaryFailed bool
}

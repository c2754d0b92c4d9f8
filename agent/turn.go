package agent

import (
	"context"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// Turn is what one run of the loop works on.
type Turn struct {
	ID      string
	Key     channels.Key
	Person  channels.Person // the newest message's sender
	Private bool
	// Operator says that the turn is of whoever runs Dragoman: their own chat, or a
	// job that they configured.
	Operator bool
	// System is added to the agent's system prompt: the channel's own part.
	// It stays the same from turn to turn.
	System string
	// History is only read, but its Messages may have room for more, as stores
	// give it: that is the run's while it lasts. A copy would be as large as
	// the conversation, for every turn that waits.
	History sessions.History
	// Input is what the turn answers: one or more user messages.
	Input []sessions.Message
	// Steps is the journal of an earlier run of the same turn. Finished steps
	// are not repeated.
	Steps []sessions.Step
	// Record journals a step and returns once it is durable. An error ends the
	// turn with that error.
	Record func(context.Context, sessions.Step) error
	// Progress is told how the answer grows. It must not block. May be nil.
	Progress func(Progress)
	// Thoughts, if not nil, is told of each piece of the model's thoughts that its
	// server marks as such, for people to see while they wait. It must not block.
	// The thoughts of one call begin with "\n\n" after those of another.
	Thoughts func(piece string)
	// Alive, if not nil, is told of every piece of an answer that comes, also of
	// those that nobody is shown. It must not block.
	Alive func()
	// MayUseTools, if not nil, is asked before each call of a tool whether the
	// person may still have it. If not, the call is answered so, and the model
	// answers without tools. An error ends the turn. It is called side by side.
	MayUseTools func(context.Context) (bool, error)
	// Steer, if not nil, is asked between steps for messages that came
	// meanwhile; it has journaled them itself (StepSteer).
	Steer func(context.Context) ([]sessions.Message, error)
	// Compact, if not nil, summarises the conversation and returns what its
	// history is then. It is called when a request does not fit, before it is
	// sent or after the server refused it; what the turn itself has said and
	// done so far is no part of it. keep is for [recap.Summarizer.Summarize], and may be
	// nil. On an error, which may be [recap.ErrNothingToSummarize], the turn goes on
	// with the history that it has and leaves older messages out of its requests.
	Compact func(ctx context.Context, keep *window.Keep) (sessions.History, error)
}

// Progress is a sign of life of a running turn.
type Progress struct {
	Text string // the whole visible text so far
	Note string // what is being done: "web_fetch …"; "" while text streams
}

// Result is what a turn came to.
type Result struct {
	// Messages are for the transcript: the input, then what model and tools
	// added. Complete: every tool call is answered.
	Messages []sessions.Message
	// Text is the answer for the person, in Markdown; never empty, except for
	// an empty answer of the model, which the caller decides on.
	Text  string
	Usage sessions.Usage // over all calls of the turn
	Steps int            // model calls
	// Finish is the reason why the last answer ended, as the server gave it, and
	// Thought says that the model reasoned in it. With an empty Text they say why
	// it is empty.
	Finish  string
	Thought bool
	// Unaccounted counts the messages of the conversation that a request of the
	// turn neither showed nor had a summary of: of the request that lacked most.
	// It is 0 unless there was no room and a summary could not be made, or not
	// of these: the turn's own may be too many. What the model is told of them
	// is how many they are.
	Unaccounted int
	// SilentlyDropped counts those that a request did not say to leave out either. It is
	// 0, or we have a bug.
	SilentlyDropped int
	// SummaryFailed says that requests of the turn left messages out because the
	// conversation could not be summarised, now or a short while ago. Whoever
	// writes there does not see that: they are to be told, once.
	SummaryFailed bool
}

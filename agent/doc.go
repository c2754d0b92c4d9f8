// Package agent answers: it shows a model the conversation, runs the tools
// that the model asks for, and goes on until there is an answer.
//
// The promise of [Agent.Run]: a turn ends. It ends with an answer, after
// [Options.MaxSteps] model calls at the latest, or with an error, and either
// way nothing was said or done twice. Each step is journaled through
// [Turn.Record] before the next one depends on it, so that after a crash the
// same turn goes on where it was: finished steps are not repeated, and a tool
// call that was running is answered with "may or may not have happened",
// unless its tool is [Spec.Repeatable]. Whatever a transcript looks like, the
// request that is made of it passes window.Validate.
//
// What goes wrong is told apart by its type. The journal's errors and ctx's
// come back wrapped. A *[ModelError] that comes back was retried as far as
// that makes sense inside a turn; one whose After is long was not, and the
// caller comes back later. Whatever a tool does wrong (errors, panics, time,
// size) is a result for the model and never ends the turn.
//
// Goroutines: Run waits for all that it starts, with one exception: a tool
// that ignores the end of its context is left behind, and logged, because a
// blocked read must not hold a conversation for ever. An Agent has no state of
// its own, and is safe for concurrent use.
package agent

// Package agent answers messages: it shows a model the conversation, runs the tools
// that the model calls, and repeats until there is an answer.
//
// The promise of [Agent.Run]: a turn ends. It ends with an answer, after
// [Options.MaxSteps] model calls at the latest, or with an error. Nothing is said or
// done twice. Each step is journaled through [Turn.Record] before the next one
// depends on it, so after a crash the same turn continues where it was. Finished
// steps are not repeated. A tool call that was running is answered with "may or may
// not have happened", unless its tool is [Spec.Repeatable]. Every request passes
// window.Validate, whatever the transcript looks like.
//
// Errors are told apart by type. Errors of the journal and of ctx come back wrapped.
// A *[ModelError] has been retried as far as that makes sense inside a turn. If its
// After is long it was not retried, and the caller should try again later. A tool
// that fails, panics, takes too long or returns too much never ends the turn: the
// model reads what happened as the call's result.
//
// Goroutines: Run waits for everything that it starts, with one exception. A tool
// that ignores the end of its context is left running, and logged, because a blocked
// read must not block its conversation for ever. An Agent is safe for concurrent use.
// It keeps nothing about a turn that the journal does not have; what it learns about
// models is only an optimisation.
package agent

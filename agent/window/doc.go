// Package window decides what a model sees of a conversation. It is made of
// pure functions: no I/O, no clock, no state, no goroutines, and the arguments
// are never changed.
//
// The promise: whatever [Repair] returns, [Validate] accepts, and what
// [Validate] accepts no server refuses for its shape. One orphaned tool result
// in a transcript would otherwise brick a conversation for good, because every
// later request carries it again. Repair loses no user message, no assistant
// text and no tool result that answers a call.
//
// [Fit] and [Cut] never split a tool group, which is an assistant message with
// its tool calls and the results of these. [NewFrame] returns byte for byte the
// same while its arguments are, so that providers' prompt caches hit.
//
// [Prune] shortens large results of tools, and never goes back on what an
// earlier request showed: see [Prune.Apply].
//
// What may go wrong: [Estimate] is a guess, between 0.7 and 2 times what
// tokenizers count. Callers therefore expect a server to refuse a request as
// too long now and then, and come back with a smaller budget.
package window

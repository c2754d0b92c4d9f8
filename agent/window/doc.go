// Package window decides what part of a conversation a model sees. All its functions
// are pure: no I/O, no clock, no state, no goroutines. Arguments are never changed.
//
// The promise: [Validate] accepts whatever [Repair] returns, and no server refuses
// what [Validate] accepts because of its shape. Without this, one orphaned tool
// result would break a conversation for good, because every later request contains it
// again. Repair loses no user message, no assistant text and no tool result that
// answers a call.
//
// [Fit] and [Cut] never split a tool group: an assistant message with tool calls, and
// their results. [NewFrame] returns the same bytes for the same arguments, so that
// providers' prompt caches hit.
//
// [Prune] shortens large tool results, and never takes back what an earlier request
// showed: see [Prune.Apply].
//
// What can go wrong: [EstimateText] is a guess, between 0.7 and 2 times what tokenizers
// count. So callers must expect that a server sometimes refuses a request as too
// long, and retry with a smaller budget.
package window

// Package actions asks people before something happens that needs a yes, and lets what
// they allowed happen once.
//
// The promise: a call of a tool that needs a yes runs at most once, only if somebody who
// may decide allowed exactly that call, and nobody is asked twice about it, whatever
// crashes. Which calls need a yes is one table: see [Judge].
//
// # A question
//
// [Guard.Decide] is asked before each call of a turn. It proposes what needs a yes: a
// record in the notes of the chat, with a code. The caller parks the turn and sends the
// text of [Book.Questions]. [Book.Decide] takes the answer, by the code or by the record's
// id. When the turn goes on, Decide is asked about the same call again and finds the
// answer. Each change is one compare-and-set over the notes of the chat, so two answers at
// once, on two nodes, have one outcome.
//
//	pending -> allowed -> used
//	        -> denied
//	        -> expired   nobody answered in time
//	        -> closed    /stop, /new, too many wrong codes, or the call is another one now
//
// # Failures
//
//	what happens                                 then
//	the store cannot be read or written          an error: nothing runs, and the turn is tried again
//	a crash after the proposal                   the same record is found again, with the same code
//	a crash after the decision                   it is kept; at the start every parked turn looks
//	a crash after "used", before the tool ran    refused: it may have happened
//	two answers at once                          the first counts; the second is told what was decided, and when
//	somebody else answers                        nothing changes
//	five wrong codes of those who may decide     all questions of the chat are closed
//	the call, its turn's conversation, the       refused without a new question
//	policy or a file of the call has changed
//	nobody answers                               refused: "nobody allowed it in time"
//	it was allowed, and not run for a while      refused: the moment is over
//	a backup is restored                         what was not used is not in it: refused
//	the record of a question is gone             refused without a new question
//
// The package starts no goroutine. All of it may be used concurrently.
package actions

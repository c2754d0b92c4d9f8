// Package crash holds the crash campaign: the real binary, built with the tag
// crashpoints, works against the test networks and the test model while it is killed
// again and again, at random moments and at every named step. Afterwards every message
// must have exactly one visible end, in order, and what is shown twice has the mark ↻.
//
// What else goes wrong meanwhile, and what must follow:
//
//	people say /stop                    the reply names what it dropped, or the turn's end shows
//	people say /new in the middle       the reply names what it dropped, or shows what there was
//	people edit, and delete             the change is seen, or noted
//	the token, the network, the model   nothing is lost
//	  are away
//	the model's server says 429 or 503, the message is answered later
//	  or cuts a stream, or is empty once
//	it refuses the length, or is empty  one sentence says that there is no answer
//	  for good
//	a topic is closed for a while       its answers wait, and come
//	a topic is gone for a while         its answers are in the group; the first says why
//	a chat forbids files                a sentence in place of each; texts go on
//	a delivery is given up              never
//
// The last four are Telegram's, whose campaign has groups and topics beside private chats.
// Whatever chance decides follows from a seed, which each campaign prints and
// DRAGOMAN_SEED repeats; the moments still depend on the machine.
//
// TestCluster does the same with several nodes on one PostgreSQL, whose processes,
// network and servers fail in turn: once each with the ordinary tests, and for ten
// minutes with "make test-cluster". Its people say no /new, and its model has no moods.
//
// The tests named Killed kill a daemon of its own at each step of one thing: an approval, a form, a
// task inside a turn, a message for another chat, a reminder, a connection, a budget, a
// request of a program, an erasure.
//
// A campaign of a few dozen kills runs with the ordinary tests; DRAGOMAN_KILLS sets their
// number, and has the tests named Killed go through all steps, where ordinary tests take every
// third of most. DRAGOMAN_BIN names another binary to test. "make crash" sets it, and
// writes the numbers of the campaigns to docs/internals/reliability.md.
package crash

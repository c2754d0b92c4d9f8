// Package stream tells whoever listens what happens: a message was accepted, a turn began,
// text came, an answer was sent. The rooms of page and terminal, the hooks, dragoman ask
// and the API's streams listen; the store's watcher, the gateway and the alerts publish.
//
// The alerts are a source and no listener: what they report is not an event but a state
// that lasts (a channel has not worked for five minutes), and most of it is only known to
// those who look (is the disk writable). A listener would need a watcher beside it that
// looks just as often, and the two would have to agree on what is still failing, to tell
// it in one message and to try again. So the watcher tells, and publishes what it found.
//
// The promise. What is durable is never skipped: each event about a row of the store
// (see [Name.Durable]) has a cursor. A listener that comes back with the cursor of the last
// event that it has handled gets every later one, also after a restart or a crash, and
// at another node. It may get some of them twice: an event about a row has its Key, Seq
// and ID, and its newest state, so a listener drops what it knows. What is not durable
// (text, thoughts, tool calls) has no cursor, comes at most once, and may be lost. An
// event is published after its row is durable, never before. Publishing never blocks
// and never fails, whatever listeners do.
//
// Order. The events of one conversation arrive in the order in which they were
// published. Between conversations there is no order.
//
// Failures:
//
//	a listener reads too slowly        It is cut off at maxQueued events or maxQueuedBytes. Next
//	                                   returns ErrSlow. The listener comes back with its cursor.
//	it comes back to the same process, It gets exactly what it missed, from memory.
//	at most maxKept events later
//	it comes back to another process,  It gets the rows that were stored since the time in its
//	or after more events               cursor, less slack, and the state of each delivery that
//	                                   had no final state for it.
//	it missed more than MaxMissed      It gets one event, Reset: it must read the conversations
//	                                   again. Nothing older follows.
//	a cursor cannot be read            ErrCursor. The listener forgets its cursor.
//	it leaves while it gets what it    It comes back with the cursor that it had, and gets all
//	missed                             of that again.
//	what it may see changes            Filter.May is asked for each event, when it is taken.
//	the store fails during a look-up   Listen returns the store's error. The listener tries again.
//	a row changes at another node      That node says which row, and a [Follower] here reads it from
//	                                   the store: after some 50 ms.
//	that node was killed before it     The follower looks for new rows, and for the end of deliveries
//	could say so, or nobody heard it   that it knows, every 400 ms; for what an old delivery became, for
//	                                   jobs, and where clocks differ, every five seconds.
//	the follower finds too much        Every listener gets a Reset.
//	the process is killed              Rows are on disk. Events without a row are gone.
//
// Goroutines. [Follower.Run] has one, and one that tells the others. [Hub.Listen] and
// [Listener.Next] run in the goroutine of whoever listens.
package stream

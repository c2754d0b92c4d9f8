// Package mcp makes tools of the servers that speak the Model Context Protocol, in both of
// its eras: revision 2026-07-28, which begins with server/discover, and those up to
// 2025-11-25, which begin with initialize. A server is a program on this machine (stdio) or
// an address (streamable HTTP).
//
// The promise: a server can fail, lie, hang or flood, and the chat is answered all the same,
// other servers work, and memory stays bounded. What it says is data. The model is offered
// only definitions of tools that an operator has accepted; they are kept in the store with
// their hashes, so a turn waits for no server that was seen before. A tool is called
// SERVER__TOOL and can stand in for no other. It counts as one that lets words out, whatever
// the server says about it.
//
// Pins: the tools of the first listing count as accepted. Later, a new or changed tool is not
// offered, nor called, until [Pool.Accept]; one that is gone is not offered.
//
// What can fail, and what happens then:
//
//	it does not start, or not in time       its tools are missing in the turn, which says so; tried again after a pause of 1 s … 5 min
//	lines on stdout that are no messages    dropped; the last 20 are kept for [Pool.Test]
//	bad JSON, a message over 1 MiB, 100     the call fails and the connection ends; the next call makes a new one;
//	levels or 50,000 values, a crash        only what an operator declared to read is tried again
//	what the library panics over            its question or note is refused, or the call fails and the connection ends; never the daemon
//	no answer                               the call ends after 60 s, or 60 s after the last progress, at most 10 min; two such calls in a row end the connection
//	it does not answer server/discover      the error names the setting protocol
//	it does not end                         its whole process group is killed after 1 s, by us or by what [Options.Launch] asked
//	its requests over HTTP do not end       cut after 2.5 s; [Pool.Close] gives up after 10 s
//	its files cannot be read here           with Launch it is not started: nobody would notice a change
//	it says that its tools are others       listed again, at most once in 5 s; what is new waits for [Pool.Accept]
//	it lists without an end                 cut at 300 tools, 20 pages or 1 MiB
//	10,000 notes or questions               20 a second are heard, and of progress one in 5 s is shown; over HTTP the answer ends
//	it writes without an end                after 64 MiB read at 4 MiB a second, and lines count as 512 bytes more
//	it asks the person, or the model        an [agent.Asking], at most 3 times a call, and never for a password; never the model
//	it asks what nobody may be asked        declined, at most 5 times a call, and logged once in 5 s
//	we restart while the person is asked    a call of the present era goes on; one of the former is told as interrupted
//	a result that breaks its schema         passed on, with a mark
//	a schema or result that is a lot of     passed on, unchecked
//	work to check
//	a redirect                              not followed
//	it wants a login                        no request without one; see package oauth
//	names with odd letters, or twice        one rule: see [ToolName]
//
// Goroutines: a [Pool] starts some while it connects and while a connection lasts, and waits
// for all of them in [Pool.Close]. A connection that nobody used for 10 minutes ends.
package mcp

// Package terminal is the chat in a terminal: the daemon's end of it, which is
// a live room with the key "cli:direct", and the program's end, [Chat].
//
// The daemon's end promises what package live promises. Chat promises that a
// line that was entered is handed in exactly once, in order, also over a
// restart of the daemon; that what was said meanwhile is shown once; and that
// the terminal is left as it was found. What an answer contains cannot steer
// the terminal: control characters never reach it. Into a pipe goes nothing
// but the text of the answers.
//
// Chat returns an error if it cannot reach the daemon at the beginning; later
// it waits for it. It owns three goroutines, for reading the input, for the
// stream of events and for handing in messages, and returns when the last two
// have ended. The first ends with the read that is under way.
package terminal

const (
	// Room is where people talk who name no other.
	Room = "direct"
	// Path is where the daemon mounts the room's [live.Hub.Handler], with the
	// prefix stripped, on the socket that only its owner can open.
	Path = "/api/cli"
)

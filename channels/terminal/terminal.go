// Package terminal is the chat in a terminal. The daemon's side is a live room with
// the key "cli:direct"; the program's side is [Chat].
//
// The daemon's side promises what package live promises. Chat promises that each
// entered line is stored exactly once and in order, even across a restart of the
// daemon; that each message from elsewhere is shown once; and that the terminal is
// restored at the end. An answer cannot steer the terminal, because control
// characters never reach it. A pipe gets only the text of the answers.
//
// Chat returns an error if it cannot reach the daemon at the start; later it waits
// for the daemon. It owns three goroutines, for reading input, for the event stream
// and for posting messages, and returns when the last two have ended. The first ends
// with the read under way.
package terminal

const (
	// Room is the default room.
	Room = "direct"
	// Path is where the daemon mounts the [live.Hub.Handler], with the prefix
	// stripped, on the socket that only its owner can open.
	Path = "/api/cli"
)

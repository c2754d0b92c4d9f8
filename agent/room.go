package agent

import (
	"slices"
	"sync"

	"dragoman/sessions"
)

// rooms are slices for the messages of a request, which are a copy of the whole history with
// a line of time before each message. To make a new one for each turn was an eighth of what a
// turn allocates.
var rooms = sync.Pool{New: func() any { return new([]sessions.Message) }}

// takeRoom returns room for the messages of the run's first request, and nil for those of
// later ones, which are compared with it. The room is the run's until leaveRoom.
func (r *run) takeRoom() []sessions.Message {
	if r.room != nil || r.a.opts.Zone == nil { // without a zone there are no lines, and no copy
		return nil
	}
	r.room = rooms.Get().(*[]sessions.Message)
	*r.room = slices.Grow((*r.room)[:0], len(r.all)+1)
	return *r.room
}

// leaveRoom gives the room back, empty. No request of the run is used any more.
func (r *run) leaveRoom() {
	if r.room == nil {
		return
	}
	all := (*r.room)[:cap(*r.room)]
	clear(all) // nothing of a conversation stays in memory
	if cap(all) <= maxRoom {
		rooms.Put(r.room)
	}
	r.room = nil
}

// maxRoom is the longest slice that waits for another run, in messages.
const maxRoom = 1024

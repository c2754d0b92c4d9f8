package media

import (
	"sync"
	"time"

	"dragoman/channels"
)

// noRoom ends the fetching of a file that would take the folder past its
// limit. Nothing is ever removed to make room: what is kept is named in
// transcripts.
var noRoom = &channels.Gone{Why: "no room for more files here"}

// room counts the bytes of all files, those that are being written included.
type room struct {
	most   int64 // 0: no limit
	shared bool  // other nodes keep files, too
	mu     sync.Mutex
	// used is what the files take, if that was counted, and when.
	used    int64
	counted time.Time
}

// take reserves n bytes.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most > 0 && r.used+n > r.most {
		return false
	}
	r.used += n
	return true
}

// give returns bytes of what is not kept after all.
func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
}

// forget makes the next look count anew: files were removed.
func (r *room) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = time.Time{}
}

// recount is how long a node believes that no other has kept files.
const recount = 10 * time.Second

// count looks what all files take, unless that is known. It is not done at the
// start, which would grow with what is stored, but before the first fetch.
func (s *Store) count() {
	r := &s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most <= 0 || !r.counted.IsZero() && (!r.shared || time.Since(r.counted) < recount) {
		return
	}
	if used, err := s.shelf.used(); err == nil {
		r.used, r.counted = used, time.Now()
	}
}

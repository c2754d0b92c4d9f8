package agent

import (
	"context"
	"log/slog"
	"sync"

	"dragoman/agent/window"
	"dragoman/channels"
)

// maxStrays bounds how many conversations strays remembers.
const maxStrays = 4096

// strays remembers how many results without a call the log has said of a
// conversation. They stay in its transcript, so every later turn meets them
// again, and that is no news. It is forgotten with the process, and safe for
// concurrent use.
type strays struct {
	mu   sync.Mutex
	said map[channels.Key]int
}

// news reports whether n is more than was said of k, and notes that it is said
// now.
func (s *strays) news(k channels.Key, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, found := s.said[k]
	if n <= known {
		return false
	}
	if s.said == nil {
		s.said = make(map[channels.Key]int)
	}
	if !found && len(s.said) >= maxStrays {
		for other := range s.said {
			delete(s.said, other) // any of them: it costs one line of the log
			break
		}
	}
	s.said[k] = n
	return true
}

// logStrays says how many results are left out of the turn's requests, because
// they answer no call: once, and for debugging in the turns that follow.
func (r *run) logStrays() {
	n := window.Strays(r.all)
	if n == 0 {
		return
	}
	level := slog.LevelDebug
	if r.a.strays.news(r.t.Key, n) {
		level = slog.LevelInfo
	}
	r.a.log.Log(context.Background(), level, "results of tools that answer no call are left out", "key", r.t.Key.String(), "count", n)
}

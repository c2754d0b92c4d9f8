package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// On a disk that has room for a probe and not for messages the probe tells so,
// until a message fits or there is room again.
func TestCase41CheckTellsWhatWasRefused(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	var full atomic.Bool
	var room atomic.Int64
	file.OnFree(t, room.Load)
	file.OnSync(t, func(path string) error {
		if info, err := os.Stat(path); err == nil && full.Load() && filepath.Ext(path) == ".jsonl" && info.Size() > 50_000 {
			return syscall.ENOSPC
		}
		return nil
	})
	healthy := func(when string, want bool) {
		t.Helper()
		err := s.Check(t.Context())
		if (err == nil) != want || !want && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: Check = %v, want healthy: %v", when, err, want)
		}
	}
	long := strings.Repeat("long ", 20_000)
	refuse := func() {
		t.Helper()
		full.Store(true)
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "long", long)}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Accept = %v", err)
		}
	}
	healthy("at first", true)
	refuse()
	say(t, s, "x:1", "short", "this fits")
	healthy("after a refusal", false)
	healthy("asked again", false)
	full.Store(false)
	say(t, s, "x:1", "long too", long)
	healthy("after one that fits", true)
	must(t, file.Checkpoint(s)) // the log is short again
	refuse()
	healthy("after the second refusal", false)
	room.Store(1 << 20)
	healthy("with room", true)
}

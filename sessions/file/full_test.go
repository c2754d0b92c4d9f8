package file_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// While the disk is full the log says once that documents cannot be written,
// however often that is tried, and once when they are again.
func TestCase41SaidOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := file.Open(t.Context(), dir, file.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		var full atomic.Bool
		file.OnSync(t, func(path string) error {
			if full.Load() {
				return syscall.ENOSPC
			}
			return nil
		})
		full.Store(true)
		for n := range 8 {
			say(t, s, "x:1", number("1", n), "one")
			time.Sleep(4100 * time.Millisecond) // between ticks of the store
			synctest.Wait()
		}
		full.Store(false)
		say(t, s, "x:1", "2", "two")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		must(t, s.Close())
		if failed, again := strings.Count(log.String(), "cannot be written"), strings.Count(log.String(), "written again"); failed != 1 || again != 1 {
			t.Errorf("it is said %d times that documents cannot be written and %d times that they are, want once each:\n%s", failed, again, log.String())
		}
	})
}

// A restore that is refused says which store refused it.
func TestRestoreNamesTheStore(t *testing.T) {
	s := newPlace(t).open(t)
	_, err := s.Restore(t.Context(), func() (sessions.Record, error) { return sessions.Record{}, nil })
	if err == nil || !strings.HasPrefix(err.Error(), "file: restore: ") {
		t.Errorf("Restore = %v", err)
	}
}

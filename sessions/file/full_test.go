package file_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// While the disk is full the log says once that documents cannot be written,
// however often somebody tries to commit, and once when they are again.
func TestCase41SaidOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := file.Open(t.Context(), dir, file.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		full, calls := false, 0
		file.OnSync(t, func(path string) error {
			// What is in the way can be cut off again, which is the next sync.
			if full && filepath.Dir(path) == filepath.Join(dir, "log") {
				if calls++; calls%2 == 1 {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		say(t, s, "x:1", "1", "one")
		full = true
		for range 8 {
			if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "2", "two")}); err == nil {
				t.Error("Accept on a full disk succeeds")
			}
			time.Sleep(4100 * time.Millisecond) // between ticks of the store
			synctest.Wait()
		}
		full = false
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

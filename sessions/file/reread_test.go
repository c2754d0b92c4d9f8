package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// A commit can fail while the log is dropped, and the next one then reads all
// files anew. Whatever is written at that moment, nothing that was accepted is
// forgotten.
func TestReadAnewWhileTheLogIsDropped(t *testing.T) {
	for _, when := range []string{"x_1.json.draft", "store.json.draft", "index.json.draft", "the folder"} {
		t.Run(when, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			for i := range 5 {
				say(t, s, "x:1", number("", i), "text")
			}
			var reached, fail, indexed atomic.Bool
			var later sync.WaitGroup
			file.OnSync(t, func(path string) error {
				name := filepath.Base(path)
				if filepath.Dir(path) == p.path("log") && fail.Swap(false) {
					return syscall.ENOSPC
				}
				if path == p.dir && indexed.Load() {
					name = "the folder" // in which the index has its name now
				}
				indexed.Store(indexed.Load() || name == "index.json.draft")
				if name != when || reached.Swap(true) {
					return nil
				}
				fail.Store(true)
				if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:2", "lost", "/x"), Answered: true}); err == nil {
					t.Error("Accept on a full disk succeeds")
				}
				// The next one reads everything. It may have to wait for us.
				read := make(chan struct{})
				later.Go(func() {
					defer close(read)
					say(t, s, "x:2", "kept", "text")
				})
				select {
				case <-read:
				case <-time.After(100 * time.Millisecond):
				}
				return nil
			})
			must(t, file.Checkpoint(s))
			later.Wait()
			if !reached.Load() {
				t.Fatal("the log was not dropped")
			}
			say(t, s, "x:1", "after", "text")
			must(t, s.Close())
			s = p.open(t)
			for _, id := range []string{"0", "1", "2", "3", "4", "after"} {
				if a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", id, "again")}); err != nil || a.Outcome != sessions.Duplicate {
					t.Errorf("Accept of %q = %+v, %v; want a duplicate", id, a, err)
				}
			}
			if a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:2", "kept", "again")}); err != nil || a.Outcome != sessions.Duplicate {
				t.Errorf("Accept = %+v, %v; want a duplicate", a, err)
			}
			if ms, err := s.Messages(t.Context(), key("x:1"), 0, 9); err != nil || len(ms) != 6 {
				t.Errorf("%d messages, %v; want 6", len(ms), err)
			}
		})
	}
}

// What was deleted leaves the log also if the first try to drop it fails.
func TestDroppingADeletionIsTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	synctest.Test(t, func(t *testing.T) {
		s, err := file.Open(t.Context(), dir, file.Options{})
		must(t, err)
		failures := 0
		file.OnSync(t, func(path string) error {
			if filepath.Base(path) == "index.json.draft" && failures < 2 {
				failures++
				return syscall.ENOSPC
			}
			return nil
		})
		say(t, s, "x:1", "1", "a secret word")
		must(t, s.Delete(t.Context(), key("x:1")))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if failures != 2 {
			t.Errorf("the index failed %d times, want 2", failures)
		}
		segments, err := filepath.Glob(filepath.Join(dir, "log", "*"))
		must(t, err)
		for _, path := range segments {
			data, err := os.ReadFile(path)
			must(t, err)
			if bytes.Contains(data, []byte("a secret word")) {
				t.Errorf("%s still has what was deleted", strings.TrimPrefix(path, dir))
			}
		}
		must(t, s.Close())
	})
}

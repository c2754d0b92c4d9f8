package sqlite_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// TestIdleMessagesLeaveMemory: messages leave the cache half an hour after the last read,
// some after a quarter, even if nothing else happens. The next read caches them again.
func TestIdleMessagesLeaveMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		one, two := channels.MustKey("x:1"), channels.MustKey("x:2")
		read := func(k channels.Key) {
			t.Helper()
			h, err := s.History(t.Context(), k, sessions.HistoryLimit{})
			if err != nil || len(h.Messages) != 2 {
				t.Errorf("History = %+v, %v", h, err)
			}
		}
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if n, _, size, _ := sqlite.Remembered(s); n != want || (size == 0) != (want == 0) {
				t.Errorf("%d conversations, %d bytes, are in memory after %v more, want %d conversations", n, size, d, want)
			}
		}
		for _, k := range []channels.Key{one, two} {
			talk(t, s, k, k.String(), "hello", "an answer")
			read(k)
		}
		after(29*time.Minute, 2)
		read(one)
		after(59*time.Second, 2)
		after(time.Second, 1)
		read(one)
		after(29*time.Minute, 1)
		after(time.Minute, 0)
		// A deletion clears the cache; a later read has its own half hour.
		read(one)
		after(20*time.Minute, 1)
		must(t, s.Delete(t.Context(), two))
		after(0, 0)
		read(one)
		after(14*time.Minute, 1)
		after(16*time.Minute, 0)
	})
}

// TestCloseEndsWhatForgets: the cache of a closed store is empty, even if a read ends later.
// It has no timer, and Close waits for none.
func TestCloseEndsWhatForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, 30*time.Minute - 1, 30 * time.Minute, time.Hour} {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			must(t, err)
			k := channels.MustKey("x:1")
			talk(t, s, k, wait.String(), "hello", "an answer")
			_, err = s.History(t.Context(), k, sessions.HistoryLimit{})
			must(t, err)
			time.Sleep(wait)
			began := time.Now()
			must(t, sqlite.ReadLate(t.Context(), s, k, func() { must(t, s.Close()) }))
			if took := time.Since(began); took > 0 {
				t.Errorf("Close took %v", took)
			}
			if n, _, size, _ := sqlite.Remembered(s); n != 0 || size != 0 {
				t.Errorf("%d conversations, %d bytes, are in memory of a closed store", n, size)
			}
			if sqlite.Aging(s) {
				t.Error("a timer runs for a closed store")
			}
		}
	})
}

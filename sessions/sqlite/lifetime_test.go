package sqlite_test

import (
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// A message that shares a commit with Expire keeps its conversation, though the dispatcher
// does not have it yet.
func TestExpireWithAMessageInTheSameBatch(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k, old := channels.MustKey("x:1"), channels.MustKey("x:2")
	for _, k := range []channels.Key{k, old} { // an id counts once in a channel
		e := entry(k.String(), "said in "+k.String(), "/x")
		e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "before"}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	release := sqlite.HoldWriter(s)
	queued := func(n int) {
		for end := time.Now().Add(20 * time.Second); sqlite.Queued(s) < n && time.Now().Before(end); {
			runtime.Gosched()
		}
	}
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := s.Accept(t.Context(), entry(k.String(), "waits", "hi")); err != nil {
			t.Errorf("Accept = %v", err)
		}
	})
	queued(1)
	both.Go(func() {
		gone, err := s.Expire(t.Context(), time.Now().Add(time.Hour), 10)
		if err != nil || len(gone) != 1 || gone[0] != old {
			t.Errorf("Expire = %v, %v, want %s alone", gone, err, old)
		}
	})
	queued(2)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	both.Wait()
	if most := sqlite.LargestBatch(s); most != 2 {
		t.Fatalf("the largest batch held %d operations, want both", most)
	}
	if ms, err := s.Messages(t.Context(), k, 0, 9); err != nil || len(ms) != 1 {
		t.Errorf("Messages = %+v, %v", ms, err)
	}
}

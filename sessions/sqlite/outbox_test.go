package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// TestUnsentReadsWhatItRemembers: a delivery that was just committed is read from memory,
// and must equal the one in the file.
func TestUnsentReadsWhatItRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	k := channels.MustKey("x:1")
	var fresh, read, deferred []sessions.Delivery
	s := openFile(t, path, sqlite.Options{})
	e := sessions.Entry{
		Inbound:  channels.Inbound{Key: k, ID: "1", Text: "hi", At: time.Now()},
		Answered: true,
		Replies: []sessions.Reply{
			{Text: "a\xffb\x00", ReplyTo: "m\xff", Edit: "e"}, {Text: "second", Key: k}, {Text: "elsewhere", Key: channels.MustKey("x:2")},
		},
	}
	if _, err := s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	claimOnce(t, s, k, func(c sessions.Claim) {
		fresh = unsent(t, s, c)
		if len(fresh) != 2 {
			t.Fatalf("Unsent = %d deliveries, want 2", len(fresh))
		}
		if err := s.MarkSending(t.Context(), c, fresh[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Reschedule(t.Context(), c, fresh[0].ID, time.Now().Add(-time.Hour), false, "later"); err != nil {
			t.Fatal(err)
		}
		deferred = unsent(t, s, c)
	})
	if d := deferred[0]; d.NotBefore.IsZero() || d.Attempts != 1 || d.Error != "later" {
		t.Errorf("after Defer Unsent = %+v, want the change", d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openFile(t, path, sqlite.Options{})
	// The file has the attempt; all else is as it was first handed out.
	claimOnce(t, again, k, func(c sessions.Claim) { read = unsent(t, again, c) })
	if diff := cmp.Diff(deferred, read, cmpopts.EquateComparable(channels.Key{})); diff != "" {
		t.Errorf("Unsent before and after opening again (-before +after):\n%s", diff)
	}
	read[0].NotBefore = time.Time{}
	read[0].Attempts = 0
	read[0].Error = ""
	if diff := cmp.Diff(fresh, read, cmpopts.EquateComparable(channels.Key{})); diff != "" {
		t.Errorf("Unsent from memory and from the file (-memory +file):\n%s", diff)
	}
}

func unsent(t *testing.T, s *engine.Store, c sessions.Claim) []sessions.Delivery {
	t.Helper()
	ds, err := s.Unsent(t.Context(), c, 10)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// claimOnce runs s until f has been called with a claim of k.
func claimOnce(t *testing.T, s *engine.Store, k channels.Key, f func(sessions.Claim)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	claims, ended := make(chan sessions.Claim), make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			if c.Key == k {
				select {
				case claims <- c:
				case <-ctx.Done():
				}
			}
			<-ctx.Done()
			return nil
		})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case c := <-claims:
		f(c)
	case <-time.After(20 * time.Second):
		t.Fatal("no claim")
	}
}

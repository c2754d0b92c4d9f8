package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// TestRecordsAreLocked: two nodes that change records of one kind at once keep what bounds
// all of them together, like the number of pairing codes of a channel.
func TestRecordsAreLocked(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	for i := range 6 {
		askAtOnce(t, fmt.Sprint("net", i), a, b)
	}
}

// askAtOnce has 40 people ask for a code of a channel at two nodes, and wants three to get one.
func askAtOnce(t *testing.T, channel string, a, b *engine.Store) {
	t.Helper()
	const asks, most = 40, 3
	now := time.Now()
	var created atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range asks {
		s := a
		if i%2 == 1 {
			s = b
		}
		all.Go(func() {
			<-begin
			p := sessions.Pairing{Channel: channel, PersonID: fmt.Sprint(i), Code: fmt.Sprintf("%s-%d", channel, i), Expires: now.Add(time.Hour)}
			_, is, err := s.RequestPairing(t.Context(), p, now, most)
			if err != nil && !errors.Is(err, sessions.ErrTooMany) {
				t.Error(err)
			}
			if is {
				created.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	if n := created.Load(); n != most {
		t.Errorf("%d pairing codes were given out, want %d", n, most)
	}
}

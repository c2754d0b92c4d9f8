package postgres_test

import (
	"errors"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// TestStaleCache: a step without a lock notices that another node changed the key since
// this one cached it.
func TestStaleCache(t *testing.T) {
	for name, c := range map[string]struct {
		other sessions.Entry // what comes in at the other node
		wants error          // of the commit of the turn
		left  int            // messages that wait after it
	}{
		"Nothing": {wants: nil},
		"Message": {other: sessions.Entry{Inbound: channels.Inbound{ID: "2", Text: "and?"}}, left: 1},
		"Edit":    {other: sessions.Entry{Inbound: channels.Inbound{ID: "e", Edits: "m", Text: "no"}}, wants: sessions.ErrConflict, left: 1},
		"Stop":    {other: sessions.Entry{Inbound: channels.Inbound{ID: "s", Text: "/stop"}, Control: sessions.ControlStop, Answered: true}, wants: sessions.ErrFenced},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
			claims, _ := serve(t, a)
			in, err := a.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "1", MessageID: "m", Text: "hi"}, Replies: []sessions.Reply{{Text: "wait"}}})
			must(t, err)
			h := next(t, claims)
			defer close(h.leave)
			out, err := a.Unsent(t.Context(), h.Claim, 1)
			must(t, err)
			must(t, a.MarkSending(t.Context(), h.Claim, out[0].ID)) // a knows the key from here on
			if c.other.Inbound.ID != "" {
				c.other.Inbound.Key = k1
				_, err = b.Accept(t.Context(), c.other)
				must(t, err)
			}
			if err := answer(a, h.Claim, in.Seq); !errors.Is(err, c.wants) {
				t.Errorf("CommitTurn = %v, want %v", err, c.wants)
			}
			if c.wants == nil {
				must(t, a.MarkSent(t.Context(), h.Claim, out[0].ID, channels.Receipt{MessageID: "x"}))
			}
			if st, err := b.Stats(t.Context()); err != nil || st.Waiting != c.left {
				t.Errorf("%d messages wait, %v, want %d", st.Waiting, err, c.left)
			}
		})
	}
}

// TestStolenClaim: a step without a lock notices that another node claimed the key, although
// nothing else of its row changed. A frozen node that wakes has no other guard.
func TestStolenClaim(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{})
	claims, _ := serve(t, s)
	in, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "1", MessageID: "m", Text: "hi"}, Replies: []sessions.Reply{{Text: "wait"}}})
	must(t, err)
	h := next(t, claims)
	defer close(h.leave)
	out, err := s.Unsent(t.Context(), h.Claim, 1)
	must(t, err)
	must(t, s.MarkSending(t.Context(), h.Claim, out[0].ID)) // it knows the key from here on
	must(t, pgtest.Do(t.Context(), url, `UPDATE dragoman.keys SET live = live + 1000 WHERE key = '`+k1.String()+`'`))
	for name, write := range map[string]func() error{
		"CommitTurn":  func() error { return answer(s, h.Claim, in.Seq) },
		"MarkSent":    func() error { return s.MarkSent(t.Context(), h.Claim, out[0].ID, channels.Receipt{}) },
		"Reschedule":  func() error { return s.Reschedule(t.Context(), h.Claim, out[0].ID, time.Now(), true, "x") },
		"MarkDead":    func() error { return s.MarkDead(t.Context(), h.Claim, out[0].ID, "x") },
		"MarkSending": func() error { return s.MarkSending(t.Context(), h.Claim, out[0].ID) },
	} {
		if err := write(); !errors.Is(err, sessions.ErrFenced) {
			t.Errorf("%s = %v, want ErrFenced", name, err)
		}
	}
}

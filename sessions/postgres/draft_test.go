package postgres_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// TestDraft: a draft replaces a store completely or not at all, and never replaces a
// store that a daemon works on.
func TestDraft(t *testing.T) {
	url := pgtest.Database(t, "", "")
	waiting := func(s *engine.Store, want int) {
		t.Helper()
		if st, err := s.Stats(t.Context()); err != nil || st.Waiting != want {
			t.Errorf("%d messages, %v, want %d", st.Waiting, err, want)
		}
	}
	accept := func(s *engine.Store, keys ...channels.Key) {
		t.Helper()
		for _, k := range keys {
			_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: k.String(), Text: "hi"}})
			must(t, err)
		}
	}
	draft := func(s *engine.Store) *engine.Store {
		t.Helper()
		d, err := postgres.Draft(t.Context(), s)
		must(t, err)
		waiting(d, 0)
		accept(d, k1, k2)
		return d
	}
	s := openAt(t, url, postgres.Options{})
	accept(s, k1)
	must(t, draft(s).Close()) // a restore that dies
	must(t, postgres.Discard(t.Context(), draft(s)))
	waiting(s, 1)

	working := openAt(t, url, postgres.Options{})
	claims, ended := serve(t, working)
	close(next(t, claims).leave)
	d := draft(s)
	if _, err := postgres.Replace(t.Context(), s, d, true); err == nil {
		t.Error("a draft took the place of a store that is in use")
	}
	waiting(s, 1)
	must(t, working.Close())
	must(t, <-ended)

	kept, err := postgres.Replace(t.Context(), s, d, true)
	must(t, err)
	must(t, d.Close())
	waiting(openAt(t, url, postgres.Options{}), 2)
	waiting(openAt(t, url+"&search_path="+kept, postgres.Options{}), 1)
}

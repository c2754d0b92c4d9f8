package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// TestDiskOfTheServerIsFull: the server has no room for a message, but for the small write of a check. Then the
// check fails all the same, and says since when and why, until a message is stored again.
func TestDiskOfTheServerIsFull(t *testing.T) {
	const before = "BEFORE INSERT ON dragoman."
	for name, at := range map[string]string{
		"the message":           before + "inbox FOR EACH ROW",
		"its conversation":      before + "keys FOR EACH ROW",
		"the job that wakes it": before + "river_job FOR EACH STATEMENT",
		"the end of the commit": "AFTER INSERT ON dragoman.inbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW",
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t, "", "")
			s := openAt(t, url, postgres.Options{})
			must(t, s.Check(t.Context()))
			must(t, pgtest.Do(t.Context(), url, `CREATE FUNCTION dragoman.no_room() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN RAISE EXCEPTION 'could not extend file "base/5/16384": No space left on device' USING ERRCODE = '53100'; END $$`))
			constraint := ""
			if strings.HasPrefix(at, "AFTER") {
				constraint = "CONSTRAINT"
			}
			table := at[strings.Index(at, "dragoman."):]
			table = table[:strings.Index(table, " ")]
			must(t, pgtest.Do(t.Context(), url, "CREATE "+constraint+" TRIGGER no_room "+at+" EXECUTE FUNCTION dragoman.no_room()"))
			accept := func(id string) error {
				_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: id, Text: "hi"}})
				return err
			}
			if err := accept("1"); err == nil || !strings.Contains(err.Error(), "the disk of PostgreSQL at ") || !strings.Contains(err.Error(), "make room") {
				t.Errorf("Accept = %v, want a sentence", err)
			}
			err := s.Check(t.Context())
			var refuses *sessions.RefusesError
			if !errors.As(err, &refuses) {
				t.Fatalf("Check = %v, want that no message can be stored", err)
			}
			first := refuses.Since
			_ = accept("1")
			if err := s.Check(t.Context()); !errors.As(err, &refuses) || !refuses.Since.Equal(first) {
				t.Errorf("after the second one Check = %v, want the time of the first", err)
			}
			must(t, pgtest.Do(t.Context(), url, "DROP TRIGGER no_room ON "+table))
			must(t, accept("1"))
			must(t, s.Check(t.Context()))
		})
	}
}

package exchange_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/memory"
	"dragoman/sessions/storetest"
)

// Times that no store keeps are said, once a conversation, and not lost.
func TestTimesOutsideAreNoted(t *testing.T) {
	for name, in := range map[string]string{
		"document": `{"key":"x:1","created":"1500-01-01T00:00:00Z","updated":"2300-01-01T00:00:00Z","messages":[
			{"role":"user","content":"a","at":"1500-01-01T00:00:00Z"},{"role":"user","content":"b","at":"2300-01-01T00:00:00Z"}]}`,
		"records": `{"conversation":{"key":"x:1","created":"1500-01-01T00:00:00Z","updated":"2300-01-01T00:00:00Z"}}
			{"messages":{"key":"x:1","messages":[{"role":"user","at":"1500-01-01T00:00:00Z"},{"role":"user","at":"2300-01-01T00:00:00Z"}]}}`,
	} {
		r, err := exchange.NewReader(strings.NewReader(in), exchange.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := readAll(r)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		c := all[0]
		if c.Created.Year() != 1678 || c.Updated.Year() != 2261 || c.messages[0].At.Year() != 1678 || c.messages[1].At.Year() != 2261 {
			t.Errorf("%s: %v to %v, messages at %v and %v", name, c.Created, c.Updated, c.messages[0].At, c.messages[1].At)
		}
		if got := strings.Join(r.Notes(), "\n"); got != "in x:1 are times before 1678 or after 2261: each became the nearest that is kept" {
			t.Errorf("%s: notes = %q", name, got)
		}
	}
}

// ancient is a store in which an older version kept a time as it was.
type ancient struct{ *memory.Store }

func (a ancient) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	return a.Store.Dump(ctx, keys, func(r sessions.Record) error {
		if r.Messages != nil {
			r.Messages.Messages[0].At = time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return emit(r)
	})
}

func TestMoveFromAStoreWithOldTimes(t *testing.T) {
	from, to := newStore(t), newStore(t)
	storetest.Fill(t, from)
	if _, err := exchange.Move(t.Context(), ancient{from}, to, nil); err != nil {
		t.Error(err)
	}
}

// A conversation of ours began and changed when its document says, though a
// message tells of a moment before or after. That of another program began
// with the first.
func TestTimesOfADocumentOfOursStay(t *testing.T) {
	const text = `{"key":"x:1","created":"2026-05-01T12:00:00.007Z","updated":"2026-05-01T12:00:01Z","messages":[
		{"role":"user","content":"a","seq":1,"at":"2026-05-01T12:00:00Z"},{"role":"assistant","content":"b","seq":2,"at":"2026-05-01T12:00:02Z"}],
		"generations":[{"id":"20260501_001","first_seq":1,"last_seq":2,"began":"2026-05-01T12:00:00Z"}]}`
	if c := readOne(t, text); c.Created.Nanosecond() != 7e6 || c.Updated.Second() != 1 {
		t.Errorf("it is from %v to %v", c.Created, c.Updated)
	}
	theirs, _, _ := strings.Cut(text, ",\n\t\t\"generations")
	if c := readOne(t, theirs+"}"); c.Created.Nanosecond() != 0 || c.Updated.Second() != 2 {
		t.Errorf("that of others is from %v to %v", c.Created, c.Updated)
	}
}

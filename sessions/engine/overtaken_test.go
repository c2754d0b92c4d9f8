package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// overtaken is a backend whose first step runs, but is overtaken by another update
// before it commits, and runs again.
type overtaken struct {
	rows.Backend
	other func()
}

var errOvertaken = errors.New("another update came first")

func (o *overtaken) Update(ctx context.Context, keys []channels.Key, step func(rows.Reader) (rows.Changes, error)) error {
	if other := o.other; other != nil {
		o.other = nil
		err := o.Backend.Update(ctx, keys, func(r rows.Reader) (rows.Changes, error) {
			_, err := step(r)
			return rows.Changes{}, errors.Join(err, errOvertaken)
		})
		if !errors.Is(err, errOvertaken) {
			return err
		}
		other()
	}
	return o.Backend.Update(ctx, keys, step)
}

// A method returns the result of its last run: if the same call overtakes it, it
// returns the same as after that call.
func TestAnOvertakenStep(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	key, ctx := channels.MustKey("x:1"), t.Context()
	in := channels.Inbound{Key: key, ID: "1", Text: "hi", Sender: channels.Person{IDs: []string{"7"}}}
	asks := sessions.Pairing{Channel: "x", PersonID: "9", Code: "c", Expires: now.Add(time.Hour)}
	full := 0
	for name, method := range map[string]func(*engine.Store) (any, error){
		"Accept": func(s *engine.Store) (any, error) {
			return s.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: key, ID: "new", Text: "hi"}, MaxWaiting: 2})
		},
		"Accept when full": func(s *engine.Store) (any, error) {
			m := in
			full++
			m.ID = fmt.Sprint("full", full)
			return s.Accept(ctx, sessions.Entry{Inbound: m, MaxWaiting: 2})
		},
		"RequestPairing": func(s *engine.Store) (any, error) {
			p, created, err := s.RequestPairing(ctx, sessions.Pairing{Channel: "x", PersonID: "8", Code: "d", Expires: asks.Expires}, now, 9)
			return fmt.Sprint(p, created), err
		},
		"ApprovePairing": func(s *engine.Store) (any, error) { return s.ApprovePairing(ctx, "c", now) },
		"Remember":       func(s *engine.Store) (any, error) { return s.Remember(ctx, "s", sessions.NewFact{Text: "fact"}) },
		"Expire":         func(s *engine.Store) (any, error) { return s.Expire(ctx, now.Add(time.Hour), 1) },
		"Erase": func(s *engine.Store) (any, error) {
			return s.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key}, Senders: []sessions.Sender{{Channel: "x", ID: "9"}}})
		},
		"Restore": func(s *engine.Store) (any, error) {
			list := []sessions.Record{
				{Conversation: &sessions.ConversationRecord{Key: channels.MustKey("x:r"), Title: "restored"}},
				{Fact: &sessions.FactRecord{Scope: "s", Fact: sessions.Fact{Text: "restored"}}},
			}
			return s.Restore(ctx, func() (r sessions.Record, err error) {
				if len(list) == 0 {
					return r, io.EOF
				}
				r, list = list[0], list[1:]
				return r, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(overtake bool) []any {
				s := sqlitetest.Open(t, clock)
				if _, err := s.Accept(ctx, sessions.Entry{Inbound: in}); err != nil {
					t.Fatal(err)
				}
				said := sessions.Entry{Inbound: in, Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}}
				said.Inbound.Key, said.Inbound.ID = channels.MustKey("x:2"), "2"
				if _, err := s.Accept(ctx, said); err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.RequestPairing(ctx, asks, now, 9); err != nil {
					t.Fatal(err)
				}
				plain := engine.New(s.Backend(), "test", clock)
				other := func() {
					if _, err := method(plain); err != nil {
						t.Fatal(err)
					}
				}
				under := &overtaken{Backend: s.Backend()}
				if overtake {
					under.other = other
				} else {
					other()
				}
				got, err := method(engine.New(under, "test", clock))
				return []any{got, fmt.Sprint(err)}
			}
			if diff := cmp.Diff(run(false), run(true), cmp.AllowUnexported(channels.Key{})); diff != "" {
				t.Errorf("results differ from those after the other call (-want +got):\n%s", diff)
			}
		})
	}
}

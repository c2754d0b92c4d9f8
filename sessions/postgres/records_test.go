package postgres_test

import (
	"encoding/json"
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
	const owner = "person:x:1"
	for name, test := range map[string]func(t *testing.T){
		"Codes": func(t *testing.T) {
			for i := range 6 {
				askAtOnce(t, fmt.Sprint("net", i), a, b)
			}
		},
		"NotesUpToALimit": func(t *testing.T) {
			atOnce(t, 40, a, b, func(s *engine.Store, i int) error {
				return s.ChangeNotes(t.Context(), "limited", owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
					if len(have) >= 3 {
						return nil, nil, nil
					}
					return []sessions.Note{{Name: fmt.Sprint(i)}}, nil, nil
				})
			})
			list, err := a.Notes(t.Context(), sessions.NoteFilter{Kind: "limited", Owner: owner})
			must(t, err)
			if len(list) != 3 {
				t.Errorf("%d notes were written, want 3", len(list))
			}
		},
		"ANoteThatCounts": func(t *testing.T) {
			atOnce(t, 40, a, b, func(s *engine.Store, _ int) error {
				return s.ChangeNotes(t.Context(), "counting", owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
					n := 0
					if len(have) > 0 {
						if err := json.Unmarshal(have[0].Data, &n); err != nil {
							return nil, nil, err
						}
					}
					return []sessions.Note{{Name: "n", Data: json.RawMessage(fmt.Sprint(n + 1))}}, nil, nil
				})
			})
			list, err := b.Notes(t.Context(), sessions.NoteFilter{Kind: "counting", Owner: owner})
			must(t, err)
			if len(list) != 1 || string(list[0].Data) != "40" {
				t.Errorf("the notes are %+v, want one that counted to 40", list)
			}
		},
		"Sums": func(t *testing.T) {
			atOnce(t, 40, a, b, func(s *engine.Store, _ int) error {
				return s.Count(t.Context(), sessions.Count{Kind: "sum", Owner: owner, Day: "20260501", N: 2})
			})
			if n, err := a.Sum(t.Context(), "sum", owner, "20260501", "20260501"); err != nil || n != 80 {
				t.Errorf("the sum is %d, %v, want 80", n, err)
			}
		},
	} {
		t.Run(name, test)
	}
}

// atOnce runs does n times at the same moment, on two nodes by turns.
func atOnce(t *testing.T, n int, a, b *engine.Store, does func(s *engine.Store, i int) error) {
	t.Helper()
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		s := a
		if i%2 == 1 {
			s = b
		}
		all.Go(func() {
			<-begin
			if err := does(s, i); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
}

// askAtOnce has 40 people ask for a code of a channel at two nodes, and wants three to get one.
func askAtOnce(t *testing.T, channel string, a, b *engine.Store) {
	t.Helper()
	const asks, most = 40, 3
	now := time.Now()
	var created atomic.Int64
	atOnce(t, asks, a, b, func(s *engine.Store, i int) error {
		p := sessions.Pairing{Channel: channel, PersonID: fmt.Sprint(i), Code: fmt.Sprintf("%s-%d", channel, i), Expires: now.Add(time.Hour)}
		_, is, err := s.RequestPairing(t.Context(), p, now, most)
		if is {
			created.Add(1)
		}
		if errors.Is(err, sessions.ErrTooMany) {
			return nil
		}
		return err
	})
	if n := created.Load(); n != most {
		t.Errorf("%d pairing codes were given out, want %d", n, most)
	}
}

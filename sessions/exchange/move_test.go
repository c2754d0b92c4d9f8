package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/sqlite/sqlitetest"
	"dragoman/sessions/storetest"
)

func newStore(t *testing.T) *sqlitetest.Store {
	s := sqlitetest.Open(t, nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestMove(t *testing.T) {
	from, to := newStore(t), newStore(t)
	storetest.Fill(t, from)
	var steps []exchange.Step
	counts, err := exchange.Move(t.Context(), from, to, func(p exchange.Progress) {
		if len(steps) == 0 || steps[len(steps)-1] != p.Step {
			steps = append(steps, p.Step)
		}
		if p.Done > p.Total && p.Step != exchange.Counting {
			t.Errorf("%s: %d of %d", p.Step, p.Done, p.Total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(steps); got != "[counting copying comparing]" {
		t.Errorf("steps = %s", got)
	}
	there, err := exchange.Count(t.Context(), to)
	if err != nil || there != counts || there.Empty() {
		t.Errorf("Count = %+v, %v, want %+v", there, err, counts)
	}
	for name, n := range map[string]int{
		"conversations": counts.Conversations, "messages": counts.Messages, "summaries": counts.Summaries, "generations": counts.Generations,
		"waiting": counts.Waiting, "unsent": counts.Unsent, "asides": counts.Quarantined, "facts": counts.Facts, "pairings": counts.Pairings,
		"jobs": counts.Jobs, "occurrences": counts.Occurrences, "erased": counts.Erased, "days": counts.Days,
	} {
		if n == 0 {
			t.Errorf("there are no %s: the test does not test", name)
		}
	}
	// A second move finds the target full.
	if _, err := exchange.Move(t.Context(), from, to, nil); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("Move into a full store = %v", err)
	}
}

func TestMoveNothing(t *testing.T) {
	counts, err := exchange.Move(t.Context(), newStore(t), newStore(t), nil)
	if err != nil || !counts.Empty() || counts.String() != "nothing" {
		t.Errorf("Move = %v, %v", counts, err)
	}
}

// faulty changes the records that it stores.
type faulty struct {
	*sqlitetest.Store
	change func(r *sessions.Record) (keep bool)
}

func (f faulty) Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error) {
	return f.Store.Restore(ctx, func() (sessions.Record, error) {
		for {
			r, err := next()
			if err != nil || f.change(&r) {
				return r, err
			}
		}
	})
}

// Move finds whatever the target loses or changes, and its error shows no text.
func TestMoveFindsDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *sessions.Record) bool
		says   string
	}{
		"a message's text": {func(r *sessions.Record) bool {
			if r.Messages != nil && len(r.Messages.Messages) > 10 {
				r.Messages.Messages[5].Content += "."
			}
			return true
		}, "the copy differs in: the conversation x:1"},
		"a title": {func(r *sessions.Record) bool {
			if r.Conversation != nil && r.Conversation.Title != "" {
				r.Conversation.Title = "other"
			}
			return true
		}, "the copy differs in: the conversation x:1"},
		"a fact": {func(r *sessions.Record) bool { return r.Fact == nil }, "the copy differs in: the facts"},
		"an occurrence": {
			func(r *sessions.Record) bool { return r.Occurrence == nil || r.Occurrence.Outcome != "missed" },
			"the copy differs in: the occurrences of jobs",
		},
		"a waiting message": {func(r *sessions.Record) bool { return r.Inbox == nil || r.Inbox.State != "waiting" }, "the copy differs in: the conversation"},
		"a journal": {func(r *sessions.Record) bool {
			if r.Inbox != nil {
				r.Inbox.Steps = nil
			}
			return true
		}, "the copy differs in: the conversation"},
		"a job": {func(r *sessions.Record) bool { return r.Job == nil }, "the copy differs in: the jobs"},
		"a job of an entry": {func(r *sessions.Record) bool {
			if r.Inbox != nil {
				r.Inbox.Job = ""
			}
			return true
		}, "the copy differs in: the conversation"},
	} {
		t.Run(name, func(t *testing.T) {
			from := newStore(t)
			storetest.Fill(t, from)
			_, err := exchange.Move(t.Context(), from, faulty{newStore(t), c.change}, nil)
			var d *exchange.Difference
			if !errors.As(err, &d) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Move = %v, want a difference with %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), "message 1 ") && strings.Contains(err.Error(), "look") {
				t.Errorf("the error tells what was said: %v", err)
			}
		})
	}
}

// Move fails if the target was not empty, and if it is interrupted.
func TestMoveEnds(t *testing.T) {
	one, two := newStore(t), newStore(t)
	storetest.Fill(t, one)
	if err := two.Plan(t.Context(), "zz", time.Time{}, now); err != nil {
		t.Fatal(err)
	}
	var d *exchange.Difference
	if _, err := exchange.Move(t.Context(), newStore(t), two, nil); !errors.As(err, &d) || d.Where != "the jobs" {
		t.Errorf("Move of nothing = %v, want that only the copy has a job", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := exchange.Move(ctx, one, newStore(t), func(p exchange.Progress) {
		if p.Step == exchange.Copying {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Move = %v", err)
	}
}

// largest records the number of messages in the largest step.
type largest struct {
	*sqlitetest.Store
	steps, most int
}

func (l *largest) Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error) {
	n := 0
	l.steps++
	defer func() { l.most = max(l.most, n) }()
	return l.Store.Restore(ctx, func() (sessions.Record, error) {
		r, err := next()
		if r.Messages != nil {
			n += len(r.Messages.Messages)
		}
		return r, err
	})
}

// Move copies a store of any size in pieces.
func TestMoveIsBounded(t *testing.T) {
	from, to := newStore(t), &largest{Store: newStore(t)}
	const chats, each = 1200, 4
	content := strings.Repeat("x", 2000)
	i := 0
	_, err := from.Restore(t.Context(), func() (sessions.Record, error) {
		i++
		if i > chats {
			return sessions.Record{}, io.EOF
		}
		r := &sessions.MessagesRecord{Key: channels.MustKey(fmt.Sprintf("x:%d", i))}
		for range each {
			r.Messages = append(r.Messages, sessions.Message{Role: sessions.RoleUser, Content: content, At: now})
		}
		return sessions.Record{Messages: r}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := exchange.Move(t.Context(), from, to, nil)
	if err != nil || counts.Messages != chats*each {
		t.Fatalf("Move = %v, %v", counts, err)
	}
	if to.steps < 4 || to.most > 2500 {
		t.Errorf("%d steps, %d messages in the largest", to.steps, to.most)
	}
}

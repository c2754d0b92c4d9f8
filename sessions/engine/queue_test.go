package engine_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite/sqlitetest"
)

// counting is a backend that counts the rows that are read from it.
type counting struct {
	rows.Backend
	read int
}

func counted[T any](c *counting, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			c.read++
			if !yield(v, err) {
				return
			}
		}
	}
}

func (c *counting) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	return counted(c, c.Backend.Heads(ctx, o, after))
}

func (c *counting) Inbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.In, error] {
	return counted(c, c.Backend.Inbox(ctx, k, q))
}

func (c *counting) Outbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.Out, error] {
	return counted(c, c.Backend.Outbox(ctx, k, q))
}

// The queue of one chat costs what that chat has waiting, however much others have.
func TestQueueOfReadsItsOwn(t *testing.T) {
	s := sqlitetest.Open(t, nil)
	for i := range 200 {
		m := channels.Inbound{Key: channels.MustKey(fmt.Sprintf("x:%d", i)), ID: fmt.Sprint(i), Text: "hi"}
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
			t.Fatal(err)
		}
	}
	c := &counting{Backend: s.Backend()}
	e := engine.New(c, "test", nil)
	items, err := e.QueueOf(t.Context(), channels.MustKey("x:7"))
	if err != nil || len(items) != 1 || c.read != 1 {
		t.Errorf("QueueOf = %d items, %v, of %d rows, want 1 of 1", len(items), err, c.read)
	}
	c.read = 0
	topics, err := e.Topics(t.Context(), channels.MustKey("x:7"))
	if err != nil || len(topics) != 0 || c.read > 1 {
		t.Errorf("Topics = %v, %v, of %d rows, want none of at most 1", topics, err, c.read)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

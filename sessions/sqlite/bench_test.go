package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

func benchStore(b *testing.B) *engine.Store {
	return openFile(b, filepath.Join(b.TempDir(), "dragoman.db"), sqlite.Options{})
}

func benchEntry(key channels.Key, n int64) sessions.Entry {
	return sessions.Entry{Inbound: channels.Inbound{
		Key: key, ID: fmt.Sprint(n), MessageID: fmt.Sprint(n), At: time.Now(),
		Sender: channels.Person{IDs: []string{"42"}, Name: "alice"},
		Text:   "What is the weather like in Rome today, and should I take an umbrella?",
	}}
}

// over calls f b.N times from a number of goroutines.
func over(b *testing.B, goroutines int, f func(n int64)) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range goroutines {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				f(n)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func BenchmarkAccept(b *testing.B) {
	for _, goroutines := range []int{1, 50} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := benchStore(b)
			over(b, goroutines, func(n int64) {
				if _, err := s.Accept(b.Context(), benchEntry(channels.MustKey(fmt.Sprintf("x:%d", n%200)), n)); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// BenchmarkTurn is the whole path: accept, claim, history, commit, sending, sent, with a
// number of messages in flight over 200 chats.
func BenchmarkTurn(b *testing.B) {
	for _, flying := range []int{1, 50} {
		b.Run(fmt.Sprintf("goroutines=%d", flying), func(b *testing.B) {
			s := benchStore(b)
			ctx, cancel := context.WithCancel(b.Context())
			var running sync.WaitGroup
			done := make(map[channels.Key]chan struct{})
			for i := range 200 {
				done[channels.MustKey(fmt.Sprintf("x:%d", i))] = make(chan struct{}, 1000)
			}
			running.Go(func() {
				_ = s.Run(ctx, func(ctx context.Context, c sessions.Claim) error { return benchTurn(ctx, s, c, done[c.Key]) })
			})
			over(b, flying, func(n int64) {
				k := channels.MustKey(fmt.Sprintf("x:%d", n%200))
				if _, err := s.Accept(b.Context(), benchEntry(k, n)); err != nil {
					b.Error(err)
					return
				}
				<-done[k]
			})
			cancel()
			running.Wait()
		})
	}
}

func benchTurn(ctx context.Context, s *engine.Store, c sessions.Claim, done chan<- struct{}) error {
	p, err := s.Pending(ctx, c, 1)
	if err != nil || len(p.Messages) == 0 {
		return err
	}
	if _, err := s.History(ctx, c.Key, sessions.HistoryLimit{Messages: 20}); err != nil {
		return err
	}
	w := p.Messages[0]
	answer := sessions.Message{Role: sessions.RoleAssistant, Content: "It is sunny in Rome today. You can leave the umbrella at home, and a hat will do.", Usage: &sessions.Usage{Input: 100, Output: 20}}
	err = s.CommitTurn(ctx, c, sessions.Turn{
		ID: "t", Answers: []sessions.Answered{{Seq: w.Seq, Rev: w.Rev}},
		Messages: []sessions.Message{sessions.UserMessage(w.Inbound), answer},
		Replies:  []sessions.Reply{{Text: answer.Content, ReplyTo: w.Inbound.MessageID}},
		Counts:   benchCounts(c.Key),
	})
	if err != nil {
		return err
	}
	ds, err := s.Unsent(ctx, c, 10)
	if err != nil {
		return err
	}
	for _, d := range ds {
		if err := s.MarkSending(ctx, c, d.ID); err != nil {
			return err
		}
		if err := s.MarkSent(ctx, c, d.ID, channels.Receipt{MessageID: "1"}); err != nil {
			return err
		}
	}
	done <- struct{}{}
	return nil
}

// benchCounts are nine additions, as a turn makes them.
func benchCounts(k channels.Key) (all []sessions.Count) {
	for _, owner := range []string{"x:42", sessions.ChatScope(k), "model/demo"} {
		for i, kind := range []string{"used-turns", "used-input", "used-output"} {
			all = append(all, sessions.Count{Kind: kind, Owner: owner, Day: "20260601", N: int64(100*i + 1)})
		}
	}
	return all
}

// BenchmarkHistory reads the newest 20 messages of a chat with 20 messages, and of one with
// 100,000: the number must not matter.
func BenchmarkHistory(b *testing.B) {
	s := benchStore(b)
	for _, stored := range []int{20, 100_000} {
		k := channels.MustKey(fmt.Sprintf("x:%d", stored))
		for n := 0; n < stored; n += 1000 {
			e := benchEntry(k, int64(stored+n))
			e.Answered = true
			for range min(stored, 1000) {
				e.Append = append(e.Append, sessions.Message{Role: sessions.RoleUser, Content: strings.Repeat("some words of a chat ", 10)})
			}
			if _, err := s.Accept(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("stored=%d", stored), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h, err := s.History(b.Context(), k, sessions.HistoryLimit{Messages: 20, Bytes: 1 << 20})
				if err != nil || len(h.Messages) != 20 {
					b.Fatal(len(h.Messages), err)
				}
			}
		})
	}
}

// BenchmarkOperator reads a short conversation like the operator's pages and the web chat.
// It shows statements that are prepared again each time.
func BenchmarkOperator(b *testing.B) {
	s, k := benchStore(b), channels.MustKey("x:1")
	for i := range 20 {
		e := benchEntry(k, int64(i))
		e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "hello"}}
		if _, err := s.Accept(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	for name, f := range map[string]func() error{
		"Messages": func() error { _, err := s.Messages(b.Context(), k, 0, 10); return err },
		"Feed":     func() error { _, err := s.Feed(b.Context(), k, 0, 10); return err },
		"Search": func() error {
			_, err := s.SearchAll(b.Context(), sessions.Search{Key: k, Query: "hello", Limit: 10})
			return err
		},
		"ListQueue": func() error { _, err := s.ListQueue(b.Context(), 10); return err },
		"Find":      func() error { _, err := s.Find(b.Context(), sessions.Query{Limit: 10}); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen opens a store with 100,000 conversations and one waiting message.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "dragoman.db")
	s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Accept(b.Context(), benchEntry(channels.MustKey("x:waits"), 0)); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	fill(b, path, 100_000)
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if st, err := s.Stats(b.Context()); err != nil || st.Waiting != 1 {
			b.Fatal(st, err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// fill puts conversations of two answered messages into a closed store, many
// in one transaction.
func fill(b *testing.B, path string, conversations int) {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		`INSERT INTO keys (id, key, seq, msg_seq) SELECT value + 1000, 'y:' || value, 2, 2 FROM generate_series(1, ?)`,
		`INSERT INTO conversations (key_id, generation, from_seq, covers, title, created, updated, messages, input, output, cached) SELECT value + 1000, '20260101_' || value, 0, 0, '', 1, value, 2, 0, 0, 0 FROM generate_series(1, ?)`,
		`INSERT INTO inbox (id, dedupe, message_id, origin, state, accepted, rest, text)
			SELECT ((value + 1000) << 32) + 1, 'y:' || value, '', 'chat', 'done', 1, '{}', 'a question of some words' FROM generate_series(1, ?)`,
		`INSERT INTO outbox (id, state, created, reply_to, edit, text) SELECT ((value + 1000) << 32) + 2, 'sent', 1, '', '', 'an answer' FROM generate_series(1, ?)`,
		`INSERT INTO messages (id, role, bytes, rest, content) SELECT ((value + 1000) << 32) + 1, 'user', 9, '{}', 'a question of some words' FROM generate_series(1, ?)`,
	} {
		query = strings.Replace(query, "generate_series(1, ?)", "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?) SELECT value FROM n)", 1)
		if _, err := db.Exec(query, conversations); err != nil {
			b.Fatal(err)
		}
	}
}

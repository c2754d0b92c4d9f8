package file_test

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// past puts so many conversations of so many messages into a new store at dir.
func past(b *testing.B, dir string, conversations, messages int) {
	b.Helper()
	s, err := file.Open(b.Context(), dir, file.Options{})
	must(b, err)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for from := 0; from < conversations; from += 1000 {
		var records []sessions.Record
		for i := from; i < min(from+1000, conversations); i++ {
			k := channels.MustKey(fmt.Sprintf("y:%d", i))
			var said []sessions.Message
			for n := range messages {
				said = append(said, sessions.Message{Seq: int64(n + 1), Role: sessions.RoleUser, Content: strings.Repeat("some words ", 8), At: at, Turn: "t"})
			}
			records = append(records,
				sessions.Record{Conversation: &sessions.ConversationRecord{Key: k, MessageSeq: int64(messages), Created: at, Updated: at.Add(time.Duration(i) * time.Second)}},
				sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: said}})
		}
		_, err := s.Restore(b.Context(), func() (sessions.Record, error) {
			if len(records) == 0 {
				return sessions.Record{}, io.EOF
			}
			r := records[0]
			records = records[1:]
			return r, nil
		})
		must(b, err)
		must(b, file.Flush(s))
	}
	must(b, s.Close())
}

// BenchmarkOpen opens stores of different sizes.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("conversations=%d", n), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "sessions")
			past(b, dir, n, 2)
			for b.Loop() {
				s, err := file.Open(b.Context(), dir, file.Options{})
				must(b, err)
				b.StopTimer()
				must(b, s.Close())
				b.StartTimer()
			}
		})
	}
}

// BenchmarkDocument reads a document of so many messages for a turn, and writes
// it: what one message costs beside its commit.
func BenchmarkDocument(b *testing.B) {
	for _, n := range []int{2, 200} {
		dir := filepath.Join(b.TempDir(), "sessions")
		past(b, dir, 1, n)
		data := read(b, filepath.Join(dir, "conversations", "y_0.json"))
		b.Run(fmt.Sprintf("parse/messages=%d", n), func(b *testing.B) {
			for b.Loop() {
				must(b, file.ParseDocument(data))
			}
		})
		s := openWith(b, dir, file.Options{FlushInterval: time.Hour})
		next := 0
		b.Run(fmt.Sprintf("append/messages=%d", n), func(b *testing.B) {
			for b.Loop() {
				next++
				say(b, s, "y:0", fmt.Sprint("n", next), "one more")
				must(b, file.Flush(s))
			}
		})
	}
}

package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

	"github.com/google/go-cmp/cmp"
)

// talk adds messages of person 7 and of the model to the transcript of k.
func talk(t *testing.T, s *engine.Store, k channels.Key, id string, texts ...string) {
	t.Helper()
	e := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: id, Text: "/x"}, Answered: true}
	for i, text := range texts {
		m := sessions.Message{Role: sessions.RoleUser, Content: text, Sender: "7", Name: "Ann"}
		if i%2 == 1 {
			m = sessions.Message{
				Role: sessions.RoleAssistant, Content: text, Usage: &sessions.Usage{Input: 10, Output: i},
				ToolCalls: []sessions.ToolCall{{ID: "c", Name: "look", Arguments: `{"at":"` + text + `"}`}},
				Extra:     map[string]json.RawMessage{"mood": json.RawMessage(`"calm"`)},
			}
		}
		e.Append = append(e.Append, m)
	}
	_, err := s.Accept(t.Context(), e)
	must(t, err)
}

// TestHistoryIsWhatTheFileSays changes conversations at random, and compares the cache with
// the file after each change.
func TestHistoryIsWhatTheFileSays(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
			r := rand.New(rand.NewPCG(seed, 1))
			for n := range 150 {
				k := channels.MustKey(fmt.Sprintf("x:%d", r.IntN(4)))
				happen(t, s, r, k, n)
				for range 2 {
					k := channels.MustKey(fmt.Sprintf("x:%d", r.IntN(4)))
					limit := sessions.HistoryLimit{Messages: []int{0, 0, 1, 5, 40}[r.IntN(5)], Bytes: []int{0, 0, 0, 50, 700}[r.IntN(5)]}
					got, err := s.History(t.Context(), k, limit)
					must(t, err)
					want, err := sqlite.FromFile(t.Context(), s, k, limit)
					must(t, err)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("step %d: History(%s, %+v) (-file +got):\n%s", n, k, limit, diff)
					}
				}
			}
		})
	}
}

// happen makes one change to k, most of the time a new message.
func happen(t *testing.T, s *engine.Store, r *rand.Rand, k channels.Key, n int) {
	t.Helper()
	var err error
	switch ctx := t.Context(); r.IntN(24) {
	case 0:
		_, err = s.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: k, ID: fmt.Sprint("new", n)}, Answered: true, Control: sessions.ControlNew})
	case 1, 2:
		var h sessions.History
		if h, err = s.History(ctx, k, sessions.HistoryLimit{}); err == nil && len(h.Messages) > 2 {
			err = s.AddSummary(ctx, k, sessions.Summary{Generation: h.Generation, CoversSeq: h.Messages[r.IntN(len(h.Messages))].Seq, Text: "so far"})
		}
	case 3:
		_, err = s.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	case 4:
		_, err = s.Erase(ctx, sessions.Erasure{Keys: []channels.Key{k}})
	case 5:
		err = s.Delete(ctx, k)
	case 6:
		err = s.Join(ctx, channels.MustKey(fmt.Sprintf("x:%d", r.IntN(4))), k)
	case 7:
		_, err = s.Expire(ctx, time.Now().Add(time.Hour), 1)
	case 8:
		err = s.Configure(ctx, k, func(s *sessions.Settings) error { s.Tags = []string{fmt.Sprint(n)}; return nil })
	default:
		var texts []string
		for i := range 1 + r.IntN(6) {
			texts = append(texts, strings.Repeat(fmt.Sprintf("words %d of %d ", i, n), 1+r.IntN(4)))
		}
		talk(t, s, k, fmt.Sprint(n), texts...)
	}
	if errors.Is(err, sessions.ErrNotFound) || errors.Is(err, sessions.ErrConflict) {
		return
	}
	must(t, err)
}

// TestErasedWordsAreNotRemembered: after an erasure has returned, no reader sees an erased
// message, however many readers there are meanwhile.
func TestErasedWordsAreNotRemembered(t *testing.T) {
	const secret = "a word that is to go"
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k := channels.MustKey("x:1")
	tells := func() bool {
		h, err := s.History(t.Context(), k, sessions.HistoryLimit{})
		if err != nil {
			t.Error(err)
		}
		for _, m := range h.Messages {
			if m.Content == secret {
				return true
			}
		}
		return false
	}
	for n := range 8 {
		talk(t, s, k, fmt.Sprint(n), secret, "an answer")
		if !tells() {
			t.Fatal("the history lacks what was said")
		}
		var gone atomic.Bool
		var reading sync.WaitGroup
		for range 4 {
			reading.Go(func() {
				for last := false; !last; {
					last = gone.Load() // one more look after that
					if tells() && last {
						t.Error("an erased word was read after the erasure")
					}
				}
			})
		}
		_, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
		gone.Store(true)
		reading.Wait()
		must(t, err)
	}
	// A reader that began before an erasure and ends after it.
	talk(t, s, k, "late", secret)
	must(t, sqlite.ReadLate(t.Context(), s, k, func() {
		_, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
		must(t, err)
	}))
	if tells() {
		t.Error("a late reader brought an erased word back")
	}
}

// TestNothingIsRememberedWhileRowsChange: a read between a commit that changes messages and
// its end may mix old ones with new, and is not cached.
func TestNothingIsRememberedWhileRowsChange(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k := channels.MustKey("x:1")
	talk(t, s, k, "1", "hello", "an answer")
	read := func(when string, want int) {
		t.Helper()
		h, err := s.History(t.Context(), k, sessions.HistoryLimit{})
		must(t, err)
		if _, n, _, _ := sqlite.Remembered(s); len(h.Messages) != 2 || n != want {
			t.Errorf("%s: %d messages are read and %d remembered, want 2 and %d", when, len(h.Messages), n, want)
		}
	}
	read("before", 2)
	sqlite.Changing(s, func() { read("meanwhile", 0) })
	read("after", 2)
}

// TestForgottenBeforeTheCommit: the writer clears the cache before it commits a change of
// stored messages, and not before it only adds rows.
func TestForgottenBeforeTheCommit(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k := channels.MustKey("x:1")
	talk(t, s, k, "1", "hello", "an answer")
	remembered, commits := 0, 0
	must(t, sqlite.AtCommit(s, func() { // the methods below return after it
		commits++
		_, remembered, _, _ = sqlite.Remembered(s)
	}))
	for _, test := range []struct {
		what  string
		do    func() error
		holds int
	}{
		{"a name", func() error {
			return s.Configure(t.Context(), k, func(s *sessions.Settings) error { s.Tags = []string{"a"}; return nil })
		}, 2},
		{"a join", func() error { return s.Join(t.Context(), k, channels.MustKey("x:2")) }, 0},
		{"a deletion", func() error { return s.Delete(t.Context(), channels.MustKey("x:2")) }, 0},
	} {
		for _, k := range []channels.Key{k, channels.MustKey("x:2")} {
			if _, err := s.History(t.Context(), k, sessions.HistoryLimit{}); err != nil && !errors.Is(err, sessions.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if _, n, _, _ := sqlite.Remembered(s); n != 2 {
			t.Fatalf("%s: %d messages are remembered before it, want 2", test.what, n)
		}
		commits = 0
		must(t, test.do())
		if commits == 0 || remembered != test.holds {
			t.Errorf("%s: after %d commits %d messages were remembered, want %d", test.what, commits, remembered, test.holds)
		}
	}
}

// TestHistoryIsItsCallers: a caller who changes a history changes no other one.
func TestHistoryIsItsCallers(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k := channels.MustKey("x:1")
	talk(t, s, k, "1", "a question", "an answer", "another question", "another answer")
	want, err := sqlite.FromFile(t.Context(), s, k, sessions.HistoryLimit{})
	must(t, err)
	for range 3 { // read from the file, and twice remembered
		h, err := s.History(t.Context(), k, sessions.HistoryLimit{})
		must(t, err)
		if diff := cmp.Diff(want, h); diff != "" {
			t.Fatalf("the second history is another one (-want +got):\n%s", diff)
		}
		h.Messages = append(h.Messages, sessions.Message{Content: "mine"})
		for i := range h.Messages {
			m := &h.Messages[i]
			m.Content = "mine"
			if m.Usage != nil {
				m.Usage.Input = 99
				m.ToolCalls[0].Name = "mine"
				m.Extra["mood"][1] = 'X'
			}
		}
	}
}

// TestRememberedIsBounded: many conversations stay within the bound of the cache, and a huge
// one is not cached.
func TestRememberedIsBounded(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	read := func(k channels.Key) {
		_, err := s.History(t.Context(), k, sessions.HistoryLimit{})
		must(t, err)
	}
	for n := range 40 {
		k := channels.MustKey(fmt.Sprintf("x:%d", n))
		talk(t, s, k, fmt.Sprint(n), strings.Repeat("x", 250<<10), "an answer")
		read(k)
		if _, _, size, most := sqlite.Remembered(s); size > most {
			t.Fatalf("%d bytes are remembered, want at most %d", size, most)
		}
	}
	before, _, _, _ := sqlite.Remembered(s)
	if before < 20 || before >= 40 {
		t.Errorf("%d conversations of 40 are remembered, want about 30", before)
	}
	k := channels.MustKey("x:huge")
	talk(t, s, k, "huge", strings.Repeat("x", 1<<20))
	read(k)
	if now, _, _, _ := sqlite.Remembered(s); now != before {
		t.Errorf("%d conversations are remembered after a huge one, want %d", now, before)
	}
	must(t, s.Delete(t.Context(), k))
	read(channels.MustKey("x:39"))
	if now, _, _, _ := sqlite.Remembered(s); now != 1 {
		t.Errorf("%d conversations are remembered after one was deleted, want the one that was read", now)
	}
	// Summarised messages leave the cache.
	k = channels.MustKey("x:39")
	h, err := s.History(t.Context(), k, sessions.HistoryLimit{})
	must(t, err)
	_, messages, _, _ := sqlite.Remembered(s)
	must(t, s.AddSummary(t.Context(), k, sessions.Summary{Generation: h.Generation, CoversSeq: h.Messages[1].Seq, Text: "so far"}))
	talk(t, s, k, "later", "a question")
	read(k)
	if _, now, _, _ := sqlite.Remembered(s); now != messages-1 {
		t.Errorf("%d messages are remembered after a summary of two and one more, want %d", now, messages-1)
	}
}

// TestWhatFitsIsRemembered: the cache drops nothing as long as it has room, however often
// and in which order conversations are read.
func TestWhatFitsIsRemembered(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	const conversations = 30 // of 250 KB each, which is most of the cache
	key := func(n int) channels.Key { return channels.MustKey(fmt.Sprintf("x:%d", n)) }
	for n := range conversations {
		talk(t, s, key(n), fmt.Sprint(n), strings.Repeat("x", 250<<10), "an answer")
	}
	for n := range 3 * conversations {
		_, err := s.History(t.Context(), key(n%conversations), sessions.HistoryLimit{})
		must(t, err)
		if got, _, _, _ := sqlite.Remembered(s); got != min(n+1, conversations) {
			t.Fatalf("%d conversations are remembered after %d reads, want %d", got, n+1, min(n+1, conversations))
		}
	}
}

// TestShortReadsForgetNothing: who reads only the newest messages does not make the next
// turn, which reads all of them, go to the file.
func TestShortReadsForgetNothing(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k := channels.MustKey("x:1")
	read := func(most, remembered int) {
		t.Helper()
		_, err := s.History(t.Context(), k, sessions.HistoryLimit{Messages: most})
		must(t, err)
		if _, got, _, _ := sqlite.Remembered(s); got != remembered {
			t.Errorf("%d messages are remembered after a read of %d, want %d", got, most, remembered)
		}
	}
	talk(t, s, k, "1", "one", "two", "three", "four", "five", "six", "seven", "eight")
	read(0, 8)
	read(2, 8)
	talk(t, s, k, "2", "nine")
	read(2, 9)
	read(0, 9)
}

// Each commit makes the readers' page caches invalid, so they must be smaller than the
// writer's.
func TestCachesOfReaders(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	writer, reader, err := sqlite.Caches(s)
	if err != nil || writer != -2000 || reader != -512 {
		t.Errorf("the caches have %d and %d KiB, %v, want 2000 for the writer and 512 for a reader", -writer, -reader, err)
	}
}

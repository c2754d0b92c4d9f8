package file_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// slowDisk stops the first reading of an archive until it is let go.
type slowDisk struct {
	reached, let chan struct{}
	once         sync.Once
}

func newSlowDisk(t *testing.T, archive string) *slowDisk {
	d := &slowDisk{reached: make(chan struct{}), let: make(chan struct{})}
	var stopped atomic.Bool
	file.OnRead(t, func(path string) {
		if filepath.Base(path) == archive && !stopped.Swap(true) {
			close(d.reached)
			<-d.let
		}
	})
	t.Cleanup(d.release)
	return d
}

func (d *slowDisk) release() { d.once.Do(func() { close(d.let) }) }

// soon fails the test if f does not end while the disk is stopped.
func (d *slowDisk) soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Errorf("%s waits for the reading of an archive", what)
		d.release()
		<-done
	}
}

// waits fails the test if f ends at once, without waiting for what is stopped.
// On a busy machine it may see nothing wrong, but never something that is not.
func waits(t *testing.T, what string, f func(), running *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	running.Go(func() {
		defer close(done)
		f()
	})
	select {
	case <-done:
		t.Errorf("%s does not wait", what)
	case <-time.After(100 * time.Millisecond):
	}
}

// reopened is a store in which x:1 to x:3 are on disk alone. The document of
// x:1 does not have all of it.
func reopened(t *testing.T, p *place) *file.Store {
	t.Helper()
	s := p.open(t)
	many := make([]sessions.Message, 250)
	for i := range many {
		many[i] = sessions.Message{Role: sessions.RoleUser, Content: number("message ", i+1)}
	}
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "many", "/x"), Answered: true, Append: many})
	must(t, err)
	for _, n := range []string{"1", "2", "3"} {
		say(t, s, "x:"+n, n, "words of "+n)
	}
	must(t, s.Close())
	return p.open(t)
}

// goOn does what a daemon does while something else reads.
func goOn(t *testing.T, s *file.Store) {
	t.Helper()
	say(t, s, "x:1", "later1", "words that came later")
	say(t, s, "x:2", "later2", "words that came later")
	say(t, s, "x:4", "later4", "words that came later")
	must(t, s.Delete(t.Context(), key("x:3")))
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "waits", "hello")})
	must(t, err)
	if h, err := s.History(t.Context(), key("x:2"), sessions.HistoryLimit{}); err != nil || len(h.Messages) != 2 {
		t.Errorf("History = %+v, %v", h, err)
	}
	if list, err := s.Find(t.Context(), sessions.Query{Limit: 9}); err != nil || len(list) != 3 {
		t.Errorf("Find = %+v, %v", list, err)
	}
}

// Reading much does not hold up those who write, nor those who read little;
// and what is read is what was there.
func TestReadingHoldsUpNobody(t *testing.T) {
	for what, f := range map[string]func(*file.Store) (int, error){
		"search": func(s *file.Store) (int, error) {
			found, err := s.SearchAll(t.Context(), sessions.Search{Key: key("x:1"), Query: "words", Limit: 9})
			return len(found), err
		},
		"search all": func(s *file.Store) (int, error) {
			found, err := s.SearchAll(t.Context(), sessions.Search{Query: "words", Limit: 99})
			return len(found), err
		},
		"days": func(s *file.Store) (int, error) {
			days, err := s.Days(t.Context(), time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour))
			n := 0
			for _, d := range days {
				n += d.Messages
			}
			return n, err
		},
		"messages": func(s *file.Store) (int, error) {
			ms, err := s.Messages(t.Context(), key("x:1"), 0, 999)
			if len(ms) != 252 {
				t.Errorf("Messages = %d, want those that came meanwhile too: 252", len(ms))
			}
			for i, m := range ms {
				if m.Seq != int64(i+1) {
					t.Fatalf("message %d has the seq %d", i+1, m.Seq)
				}
			}
			return len(ms), err
		},
		"history": func(s *file.Store) (int, error) {
			h, err := s.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
			if len(h.Messages) < 251 || h.Omitted != 0 {
				t.Errorf("History = %d messages and %d omitted, want those that were there: 251", len(h.Messages), h.Omitted)
			}
			return len(h.Messages), err
		},
		"dump of one": func(s *file.Store) (n int, err error) {
			err = s.Dump(t.Context(), keys("x:1"), func(r sessions.Record) error {
				if r.Messages != nil {
					n += len(r.Messages.Messages)
				}
				return nil
			})
			return n, err
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := reopened(t, newPlace(t))
			disk := newSlowDisk(t, "x_1.jsonl")
			var n int
			var err error
			var reader sync.WaitGroup
			reader.Go(func() { n, err = f(s) })
			<-disk.reached
			disk.soon(t, "the store", func() { goOn(t, s) })
			disk.release()
			reader.Wait()
			if err != nil || n == 0 {
				t.Errorf("it finds %d, %v", n, err)
			}
		})
	}
}

// A dump shows the store as it was when it began, whatever happens while it
// reads; and an erasure that has to wait for it holds up nobody else.
func TestDumpHoldsUpNobody(t *testing.T) {
	p := newPlace(t)
	s := reopened(t, p)
	want := dump(t, s)
	disk := newSlowDisk(t, "x_1.jsonl")
	var got []string
	var running sync.WaitGroup
	running.Go(func() { got = dump(t, s) })
	<-disk.reached
	disk.soon(t, "the store", func() { goOn(t, s) })
	var erased sync.WaitGroup
	erased.Go(func() {
		_, err := s.Erase(t.Context(), sessions.Erasure{Keys: keys("x:2")})
		must(t, err)
	})
	disk.soon(t, "the step that erases", func() {
		for there := true; there; {
			list, err := s.Find(t.Context(), sessions.Query{Limit: 9})
			must(t, err)
			there = slices.ContainsFunc(list, func(c sessions.Conversation) bool { return c.Key == key("x:2") })
		}
	})
	disk.soon(t, "what comes after an erasure", func() { say(t, s, "x:5", "5", "more") })
	var settler sync.WaitGroup
	waits(t, "the writing of documents", func() { must(t, file.Settle(s)) }, &settler)
	disk.release()
	running.Wait()
	erased.Wait()
	settler.Wait()
	same(t, "Dump", got, want)
	if all := string(everything(t, p)); strings.Contains(all, "words of 2") || !strings.Contains(all, "words of 1") {
		t.Error("what was erased is in the files")
	}
	must(t, s.Close())
}

// Close waits for those who read, and they get what they asked for.
func TestCloseWaitsForReaders(t *testing.T) {
	s := reopened(t, newPlace(t))
	disk := newSlowDisk(t, "x_1.jsonl")
	var reader, closer sync.WaitGroup
	reader.Go(func() {
		if found, err := s.SearchAll(t.Context(), sessions.Search{Key: key("x:1"), Query: "words", Limit: 9}); err != nil || len(found) != 1 {
			t.Errorf("Search = %+v, %v", found, err)
		}
	})
	<-disk.reached
	waits(t, "Close", func() { must(t, s.Close()) }, &closer)
	disk.release()
	reader.Wait()
	closer.Wait()
}

// What was answered while somebody read the conversation is not put back into
// it as it was before.
func TestReadWhileAnswered(t *testing.T) {
	p := newPlace(t)
	s := reopened(t, p)
	a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "waits", "hello")})
	must(t, err)
	disk := newSlowDisk(t, "x_1.jsonl")
	var reader sync.WaitGroup
	reader.Go(func() {
		_, err := s.Messages(t.Context(), key("x:1"), 0, 999)
		must(t, err)
	})
	<-disk.reached
	disk.soon(t, "an answer", func() {
		ctx, stop := context.WithCancel(t.Context())
		must(t, s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			defer stop()
			return s.CommitTurn(ctx, c, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: a.Seq}}})
		}))
		must(t, file.Settle(s)) // so that what is done leaves memory
	})
	disk.release()
	reader.Wait()
	say(t, s, "x:1", "more", "more")
	must(t, s.Close())
	if st, err := p.open(t).Stats(t.Context()); err != nil || st.Waiting != 0 {
		t.Errorf("Stats = %+v, %v, want nothing waiting", st, err)
	}
}

package engine_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite/sqlitetest"
	"dragoman/sessions/storetest"

	"github.com/google/go-cmp/cmp"
)

var errDisk = errors.New("the disk is broken")

// failing is a backend of which one read fails, after left others, if armed.
type failing struct {
	rows.Backend
	armed bool
	left  int
	r     rows.Reader
}

func (f *failing) fails() bool {
	f.left--
	return f.armed && f.left == -1
}

func failed[T any](f *failing, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if f.fails() {
			var none T
			yield(none, errDisk)
			return
		}
		seq(yield)
	}
}

func (f *failing) Head(ctx context.Context, k channels.Key) (rows.Head, bool, error) {
	if f.fails() {
		return rows.Head{}, false, errDisk
	}
	return f.r.Head(ctx, k)
}

func (f *failing) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	return failed(f, f.r.Heads(ctx, o, after))
}

func (f *failing) Inbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.In, error] {
	return failed(f, f.r.Inbox(ctx, k, q))
}

func (f *failing) Outbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.Out, error] {
	return failed(f, f.r.Outbox(ctx, k, q))
}

func (f *failing) Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.r.Journal(ctx, k, turn)
}

func (f *failing) Messages(ctx context.Context, k channels.Key, q rows.MessageFilter) iter.Seq2[sessions.Message, error] {
	return failed(f, f.r.Messages(ctx, k, q))
}

func (f *failing) Accepted(ctx context.Context, m channels.Inbound) (int64, bool, error) {
	if f.fails() {
		return 0, false, errDisk
	}
	return f.r.Accepted(ctx, m)
}

func (f *failing) Records(ctx context.Context, like rows.Record) iter.Seq2[rows.Record, error] {
	return failed(f, f.r.Records(ctx, like))
}

func (f *failing) Search(ctx context.Context, w rows.WordSearch) iter.Seq2[sessions.Found, error] {
	return failed(f, f.r.Search(ctx, w))
}

// Update runs the step, but never commits when armed, so that a method can be tried
// many times on the same rows.
func (f *failing) Update(ctx context.Context, keys []channels.Key, step func(rows.Reader) (rows.Changes, error)) error {
	return f.Backend.Update(ctx, keys, func(r rows.Reader) (rows.Changes, error) {
		defer func(before rows.Reader) { f.r = before }(f.r)
		f.r = r
		changes, err := step(f)
		if err == nil && f.armed && f.left < 0 {
			return changes, errors.New("a step whose read failed returned changes")
		}
		if f.armed {
			err = errors.Join(err, errKept)
		}
		return rows.Changes{}, err
	})
}

func (f *failing) Snapshot(ctx context.Context, read func(rows.Reader) error) error {
	return f.Backend.Snapshot(ctx, func(r rows.Reader) error {
		defer func(before rows.Reader) { f.r = before }(f.r)
		f.r = r
		return read(f)
	})
}

var errKept = errors.New("nothing is changed in this test")

// Whichever read of a method fails, the method returns that error, and a step
// returns no changes.
func TestAFailedReadIsReturned(t *testing.T) {
	s := sqlitetest.Open(t, nil)
	storetest.Fill(t, s)
	f := &failing{Backend: s.Backend(), r: s.Backend()}
	e := engine.New(f, "test", nil)
	ctx := t.Context()
	one := channels.MustKey("x:1")
	queue := channels.MustKey("x:q")
	now := time.Now()
	in := channels.Inbound{Key: queue, ID: "new", Text: "hi", MessageID: "m9", Album: "a", Sender: channels.Person{IDs: []string{"7"}}}
	edit := in
	edit.ID, edit.Edits = "edit", "mq1"
	var all []sessions.Record
	if err := s.Dump(ctx, nil, func(r sessions.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatal(err)
	}
	try(t, f, map[string]func() error{
		"Accept": func() error {
			_, err := e.Accept(ctx, sessions.Entry{Inbound: in, Quiet: time.Second, Most: time.Second})
			return err
		},
		"Accept an edit": func() error { _, err := e.Accept(ctx, sessions.Entry{Inbound: edit}); return err },
		"Accept /new": func() error {
			_, err := e.Accept(ctx, sessions.Entry{
				Inbound: in, Answered: true, Control: sessions.ControlNew,
				Append: []sessions.Message{{Role: sessions.RoleUser, Content: "x"}}, Replies: []sessions.Reply{{Text: "y", Key: one}},
			})
			return err
		},
		"Quarantine":    func() error { return e.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "new"}) },
		"Resolve":       func() error { return e.Resolve(ctx, "x", "9") },
		"History":       func() error { _, err := e.History(ctx, one, sessions.HistoryLimit{}); return err },
		"Messages":      func() error { _, err := e.Messages(ctx, one, 0, 10); return err },
		"AddSummary":    func() error { return e.AddSummary(ctx, one, sessions.Summary{Text: "s"}) },
		"Lookup":        func() error { _, err := e.Lookup(ctx, one, sessions.Lookup{Query: "message", Limit: 3}); return err },
		"SearchAll":     func() error { _, err := e.SearchAll(ctx, sessions.Search{Query: "message", Limit: 3}); return err },
		"Rename":        func() error { return e.Rename(ctx, one, "new") },
		"Delete":        func() error { return e.Delete(ctx, one) },
		"Delete queues": func() error { return e.Delete(ctx, queue) },
		"Feed":          func() error { _, err := e.Feed(ctx, queue, 0, 9); return err },
		"Running":       func() error { _, err := e.Running(ctx, queue); return err },
		"ListQueue":     func() error { _, err := e.ListQueue(ctx, 9); return err },
		"QueueOf":       func() error { _, err := e.QueueOf(ctx, queue); return err },
		"Topics":        func() error { _, err := e.Topics(ctx, one); return err },
		"ShowQueue":     func() error { _, err := e.ShowQueue(ctx, "in/x:q/1"); return err },
		"RetryQueue":    func() error { return e.RetryQueue(ctx, "in/x:q/1") },
		"DropQueue":     func() error { return e.DropQueue(ctx, "aside/x/9") },
		"NextDue":       func() error { _, _, err := e.NextDue(ctx, "j"); return err },
		"Skip":          func() error { return e.Skip(ctx, "j", now, now, "missed", "") },
		"Occurrences":   func() error { _, err := e.Occurrences(ctx, "j", 9); return err },
		"RequestPairing": func() error {
			_, _, err := e.RequestPairing(ctx, sessions.Pairing{Channel: "x", PersonID: "9", Code: "c", Expires: now.Add(time.Hour)}, now, 3)
			return err
		},
		"RefusePairing":  func() error { _, err := e.RefusePairing(ctx, "1112", now); return err },
		"ApprovePairing": func() error { _, err := e.ApprovePairing(ctx, "1112", now); return err },
		"Paired":         func() error { _, err := e.Paired(ctx, "x", []string{"1"}); return err },
		"Pairings":       func() error { _, err := e.Pairings(ctx, now); return err },
		"Unpair":         func() error { return e.Unpair(ctx, "x", "1") },
		"Remember":       func() error { _, err := e.Remember(ctx, "s", sessions.NewFact{Text: "new"}); return err },
		"Recall":         func() error { _, err := e.Recall(ctx, "s", "", 9); return err },
		"Forget":         func() error { return e.Forget(ctx, "s", 2) },
		"Find":           func() error { _, err := e.Find(ctx, sessions.Query{}); return err },
		"Top":            func() error { _, err := e.Top(ctx, 3); return err },
		"Conversation":   func() error { _, err := e.Conversation(ctx, one); return err },
		"Configure":      func() error { return e.Configure(ctx, one, func(*sessions.Settings) error { return nil }) },
		"Generations":    func() error { _, err := e.Generations(ctx, one); return err },
		"Days":           func() error { _, err := e.Days(ctx, time.Time{}, time.Time{}); return err },
		"Writers":        func() error { _, err := e.Writers(ctx, "x"); return err },
		"FactScopes":     func() error { _, err := e.FactScopes(ctx, ""); return err },
		"Expire":         func() error { _, err := e.Expire(ctx, now.Add(time.Hour), 99); return err },
		"Join":           func() error { return e.Join(ctx, one, queue) },
		"Erase": func() error {
			_, err := e.Erase(ctx, sessions.Erasure{Keys: []channels.Key{one}, Scopes: []string{"s"}, Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
			return err
		},
		"Notes": func() error { _, err := e.Notes(ctx, sessions.NoteFilter{Kind: "stickers"}); return err },
		"ChangeNotes": func() error {
			return e.ChangeNotes(ctx, "stickers", "x:42", func([]sessions.Note) ([]sessions.Note, []string, error) { return nil, []string{"star"}, nil })
		},
		"Sum":      func() error { _, err := e.Sum(ctx, "stickers", "x:42", "20260101", "20270101"); return err },
		"Sums":     func() error { _, err := e.Sums(ctx, sessions.SumFilter{Kind: "stickers"}); return err },
		"Sweep":    func() error { _, err := e.Sweep(ctx); return err },
		"Owned":    func() error { _, _, err := e.Owned(ctx, sessions.Erasure{Owners: []string{"x:42"}}); return err },
		"Recent":   func() error { _, _, err := e.Recent(ctx, time.Time{}); return err },
		"Delivery": func() error { _, err := e.Delivery(ctx, queue, 1); return err },
		"Dump":     func() error { return e.Dump(ctx, nil, func(sessions.Record) error { return nil }) },
		"Restore": func() error {
			i := -1
			_, err := e.Restore(ctx, func() (r sessions.Record, err error) {
				i++
				if i == len(all) {
					return r, io.EOF
				}
				return all[i], nil
			})
			return err
		},
	})
	var after []sessions.Record
	if err := s.Dump(ctx, nil, func(r sessions.Record) error { after = append(after, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, after, cmp.AllowUnexported(channels.Key{})); diff != "" {
		t.Errorf("the store was changed (-before +after):\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// try calls each method again and again, each time with a later read that fails,
// until none does any more.
func try(t *testing.T, f *failing, methods map[string]func() error) {
	for name, method := range methods {
		n := 0
		for ; ; n++ {
			f.armed, f.left = true, n
			err := method()
			f.armed = false
			if f.left >= 0 {
				break // it had fewer reads
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("%s, of which read %d failed = %v", name, n, err)
				break
			}
		}
		if n == 0 {
			t.Errorf("%s read nothing", name)
		}
	}
}

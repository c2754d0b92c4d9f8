package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite/sqlitetest"
	"dragoman/sessions/storetest"

	"github.com/google/go-cmp/cmp"
)

// guarded are calls that the store has to refuse: an empty key, job or scope, an unknown
// state, a reversed range. The name of each begins with that of the method.
func guarded(ctx context.Context, s *engine.Store) map[string]func() error {
	var none channels.Key
	one := channels.MustKey("x:1")
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	before := now.Add(-time.Hour)
	dead := sessions.Claim{Epoch: 1}
	message := channels.Inbound{Key: one, ID: "new", Text: "hi"}
	accept := func(change func(*sessions.Entry)) func() error {
		return func() error {
			e := sessions.Entry{Inbound: message}
			change(&e)
			_, err := s.Accept(ctx, e)
			return err
		}
	}
	nothing := func([]sessions.Note) ([]sessions.Note, []string, error) { return nil, nil, nil }
	return map[string]func() error{
		"Accept without a key":        accept(func(e *sessions.Entry) { e.Inbound.Key = none }),
		"Accept without an id":        accept(func(e *sessions.Entry) { e.Inbound.ID = "" }),
		"Accept an unknown source":    accept(func(e *sessions.Entry) { e.Source = "odd" }),
		"Accept an unknown control":   accept(func(e *sessions.Entry) { e.Answered, e.Control = true, "odd" }),
		"Accept a control unanswered": accept(func(e *sessions.Entry) { e.Control = sessions.ControlStop }),
		"Accept a /new of some": accept(func(e *sessions.Entry) {
			*e = sessions.Entry{Inbound: message, Answered: true, Control: sessions.ControlNew, Ends: []int64{1}}
		}),
		"Accept an unknown deletion":   accept(func(e *sessions.Entry) { e.Inbound.Edits, e.Inbound.Deletes = "m1", "odd" }),
		"Accept a deletion of nothing": accept(func(e *sessions.Entry) { e.Inbound.Deletes = channels.DeletedBySender }),
		"AddSummary without a key":     func() error { return s.AddSummary(ctx, none, sessions.Summary{}) },
		"Configure without a key":      func() error { return s.Configure(ctx, none, func(*sessions.Settings) error { return nil }) },
		"Rename without a key":         func() error { return s.Rename(ctx, none, "t") },
		"Delete without a key":         func() error { return s.Delete(ctx, none) },
		"Join from no key":             func() error { return s.Join(ctx, none, one) },
		"Join to no key":               func() error { return s.Join(ctx, one, none) },
		"Join two that are none":       func() error { return s.Join(ctx, none, none) },
		"Fire without a key":           func() error { return s.Fire(ctx, "j", time.Time{}, now, now, channels.Inbound{ID: "new"}) },
		"Fire without a job":           func() error { return s.Fire(ctx, "", time.Time{}, now, now, message) },
		"Plan without a job":           func() error { return s.Plan(ctx, "", time.Time{}, now) },
		"NextDue without a job":        func() error { _, _, err := s.NextDue(ctx, ""); return err },
		"Skip without a job":           func() error { return s.Skip(ctx, "", now, now, "missed", "") },
		"Skip with an unknown outcome": func() error { return s.Skip(ctx, "j", now, now, "odd", "") },
		"Erase without a key":          func() error { _, err := s.Erase(ctx, sessions.Erasure{Keys: []channels.Key{none}}); return err },
		"Owned without a key":          func() error { _, _, err := s.Owned(ctx, sessions.Erasure{Keys: []channels.Key{none}}); return err },
		"Dump without a key": func() error {
			return s.Dump(ctx, []channels.Key{one, none}, func(sessions.Record) error { return nil })
		},
		"Conversation without a key":            func() error { _, err := s.Conversation(ctx, none); return err },
		"Generations without a key":             func() error { _, err := s.Generations(ctx, none); return err },
		"Replacements without a key":            func() error { _, err := s.Replacements(ctx, none, 1); return err },
		"Accept a replacement that is answered": accept(func(e *sessions.Entry) { e.Answered, e.Replaces = true, 1 }),
		"Accept an edit that replaces":          accept(func(e *sessions.Entry) { e.Inbound.Edits, e.Replaces = "m1", 1 }),
		"History without a key":                 func() error { _, err := s.History(ctx, none, sessions.HistoryLimit{}); return err },
		"Messages without a key":                func() error { _, err := s.Messages(ctx, none, 0, 9); return err },
		"Feed without a key":                    func() error { _, err := s.Feed(ctx, none, 0, 9); return err },
		"Running without a key":                 func() error { _, err := s.Running(ctx, none); return err },
		"Owners without a key":                  func() error { _, err := s.Owners(ctx, none); return err },
		"FindOwners without a key":              func() error { return s.FindOwners(ctx, none) },
		"QueueOf without a key":                 func() error { _, err := s.QueueOf(ctx, none); return err },
		"Topics without a key":                  func() error { _, err := s.Topics(ctx, none); return err },
		"Delivery without a key":                func() error { _, err := s.Delivery(ctx, none, 1); return err },
		"Delivery without a seq":                func() error { _, err := s.Delivery(ctx, one, 0); return err },
		"Row without a key":                     func() error { _, err := s.Row(ctx, none, 1); return err },
		"Row without a seq":                     func() error { _, err := s.Row(ctx, one, 0); return err },
		"Lookup without a key":                  func() error { _, err := s.Lookup(ctx, none, sessions.Lookup{Query: "message", Limit: 9}); return err },
		"Lookup backwards": func() error {
			_, err := s.Lookup(ctx, one, sessions.Lookup{Query: "message", Limit: 9, After: 5, Before: 5})
			return err
		},
		"SearchAll backwards": func() error {
			_, err := s.SearchAll(ctx, sessions.Search{Query: "message", Limit: 9, From: now, To: before})
			return err
		},
		"Days backwards":               func() error { _, err := s.Days(ctx, now, before); return err },
		"Quarantine without a channel": func() error { return s.Quarantine(ctx, sessions.Quarantined{ID: "1"}) },
		"Quarantine without an id":     func() error { return s.Quarantine(ctx, sessions.Quarantined{Channel: "x"}) },
		"Remember without a scope":     func() error { _, err := s.Remember(ctx, "", sessions.NewFact{Text: "text"}); return err },
		"Recall without a scope":       func() error { _, err := s.Recall(ctx, "", "", 9); return err },
		"Forget without a scope":       func() error { return s.Forget(ctx, "", 2) },
		"Ending without a key":         func() error { _, err := s.Ending(ctx, channels.Key{}); return err },
		"Notes of nobody":              func() error { _, err := s.Notes(ctx, sessions.NoteFilter{Name: "n"}); return err },
		"Notes of an impossible kind":  func() error { _, err := s.Notes(ctx, sessions.NoteFilter{Kind: "A kind"}); return err },
		"ChangeNotes without a kind":   func() error { return s.ChangeNotes(ctx, "", "o", nothing) },
		"ChangeNotes without an owner": func() error { return s.ChangeNotes(ctx, "k", "", nothing) },
		"Count without an owner":       func() error { return s.Count(ctx, sessions.Count{Kind: "k", Day: "20260601", N: 1}) },
		"Count on no day":              func() error { return s.Count(ctx, sessions.Count{Kind: "k", Owner: "o", N: 1}) },
		"Sum backwards":                func() error { _, err := s.Sum(ctx, "k", "o", "20260602", "20260601"); return err },
		"Sum without an owner":         func() error { _, err := s.Sum(ctx, "k", "", "20260601", "20260602"); return err },
		"Sums backwards": func() error {
			_, err := s.Sums(ctx, sessions.SumFilter{Kind: "k", From: "20260602", To: "20260601"})
			return err
		},
		"Sums of nobody":                func() error { _, err := s.Sums(ctx, sessions.SumFilter{}); return err },
		"Pending without a key":         func() error { _, err := s.Pending(ctx, dead, 9); return err },
		"Waiting without a key":         func() error { _, err := s.Waiting(ctx, dead); return err },
		"Unsent without a key":          func() error { _, err := s.Unsent(ctx, dead, 9); return err },
		"AppendStep without a key":      func() error { return s.AppendStep(ctx, dead, "t", nil, sessions.Step{Kind: sessions.StepNote}) },
		"AppendStep of an unknown kind": func() error { return unfenced(s.AppendStep(ctx, dead, "t", nil, sessions.Step{Kind: "odd"})) },
		"CommitTurn without a key":      func() error { return s.CommitTurn(ctx, dead, sessions.Turn{}) },
		"CommitTurn of an unknown outcome": func() error {
			return unfenced(s.CommitTurn(ctx, dead, sessions.Turn{Occurrence: &sessions.Occurrence{Job: "j", Due: now, Outcome: "odd"}}))
		},
		"CommitTurn of no job": func() error {
			return unfenced(s.CommitTurn(ctx, dead, sessions.Turn{Occurrence: &sessions.Occurrence{Due: now, Outcome: "ran"}}))
		},
		"CommitTurn of an odd count": func() error {
			return unfenced(s.CommitTurn(ctx, dead, sessions.Turn{Counts: []sessions.Count{{Kind: "k"}}}))
		},
		"Postpone without a key": func() error { return s.Postpone(ctx, dead, []int64{1}, now, "") },
		"Park without a key": func() error {
			return s.Park(ctx, dead, sessions.Parking{Turn: "t", Answers: []sessions.Answered{{Seq: 1}}})
		},
		"Park without a turn": func() error {
			return unfenced(s.Park(ctx, dead, sessions.Parking{Answers: []sessions.Answered{{Seq: 1}}}))
		},
		"Park without a message":    func() error { return unfenced(s.Park(ctx, dead, sessions.Parking{Turn: "t"})) },
		"MarkSending without a key": func() error { return s.MarkSending(ctx, dead, "d") },
		"MarkSent without a key":    func() error { return s.MarkSent(ctx, dead, "d", channels.Receipt{}) },
		"MarkDead without a key":    func() error { return s.MarkDead(ctx, dead, "d", "") },
		"Drop without a key":        func() error { return s.Drop(ctx, dead, "d", "") },
		"Reschedule without a key":  func() error { return s.Reschedule(ctx, dead, "d", now, false, "") },
		"Restore without a key":     func() error { return restoreOne(ctx, s, sessions.Record{Conversation: &sessions.ConversationRecord{}}) },
		"Restore an unknown state": func() error {
			return restoreOne(ctx, s, sessions.Record{Inbox: &sessions.InboxRecord{Seq: 1, Inbound: message, State: "odd"}})
		},
	}
}

// unfenced is nil for a call that was refused only because its claim is over.
func unfenced(err error) error {
	if errors.Is(err, sessions.ErrFenced) {
		return nil
	}
	return err
}

func restoreOne(ctx context.Context, s *engine.Store, r sessions.Record) error {
	_, err := s.Restore(ctx, func() (sessions.Record, error) { return r, nil })
	return err
}

// about are the types of parameters that can name nothing, or something that does not
// exist.
var about = []reflect.Type{
	reflect.TypeFor[channels.Key](), reflect.TypeFor[[]channels.Key](), reflect.TypeFor[channels.Inbound](), reflect.TypeFor[sessions.Claim](), reflect.TypeFor[sessions.Entry](),
	reflect.TypeFor[sessions.Erasure](), reflect.TypeFor[sessions.Search](), reflect.TypeFor[sessions.Quarantined](),
	reflect.TypeFor[sessions.NoteFilter](), reflect.TypeFor[sessions.SumFilter](), reflect.TypeFor[[]sessions.Count](),
}

// The store refuses what no store may hold or read, whoever calls it, and changes nothing.
// A method that takes a key, a claim or a filter has to be in the table.
func TestGuards(t *testing.T) {
	s := sqlitetest.Open(t, nil)
	storetest.Fill(t, s)
	before := records(t, s)
	calls := guarded(t.Context(), s)
	tried := map[string]bool{}
	for name, call := range calls {
		method, _, _ := strings.Cut(name, " ")
		tried[method] = true
		if err := call(); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if diff := cmp.Diff(before, records(t, s), cmp.AllowUnexported(channels.Key{})); diff != "" {
		t.Errorf("the store was changed (-before +after):\n%s", diff)
	}
	store := reflect.TypeOf(s)
	for i := range store.NumMethod() {
		m := store.Method(i)
		for in := range m.Type.NumIn() {
			if slices.Contains(about, m.Type.In(in)) && !tried[m.Name] {
				t.Errorf("%s takes a %s and is not in the table", m.Name, m.Type.In(in))
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func records(t *testing.T, s *engine.Store) (all []sessions.Record) {
	t.Helper()
	if err := s.Dump(t.Context(), nil, func(r sessions.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

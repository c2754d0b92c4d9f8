package provider_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/provider"
	"dragoman/sessions"
)

// scripted is a model that fails with a given error.
type scripted struct {
	name  string
	fails *agent.ModelError // nil: it answers
	shows string            // streamed before it fails
	asked int
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Abilities() agent.Abilities { return agent.Abilities{Window: len(s.name)} }

func (s *scripted) Complete(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	s.asked++
	if s.shows != "" {
		onDelta(agent.Delta{Text: s.shows})
	}
	if s.fails != nil {
		return agent.Response{}, s.fails
	}
	return agent.Response{Message: sessions.Message{Content: "well"}}, nil
}

func failing(kind agent.ErrorKind, after time.Duration) *agent.ModelError {
	return &agent.ModelError{Kind: kind, After: after, Err: errors.New("it is " + string(kind))}
}

func TestFallbackAsksTheNextOne(t *testing.T) {
	for name, tt := range map[string]struct {
		first scripted
		want  string // the model that answers, or the kind of the error
	}{
		"well":        {scripted{}, "first"},
		"temporary":   {scripted{fails: failing(agent.ErrorTemporary, 0)}, "second"},
		"refused":     {scripted{fails: failing(agent.ErrorRefused, 0)}, "second"},
		"too long":    {scripted{fails: failing(agent.ErrorContext, 0)}, "context"},
		"unexplained": {scripted{fails: failing(agent.ErrorInvalid, 0)}, "second"},
		"filtered":    {scripted{fails: &agent.ModelError{Kind: agent.ErrorInvalid, Cause: agent.CauseFilter, Err: errors.New("no")}}, "invalid"},
		"gone":        {scripted{fails: &agent.ModelError{Kind: agent.ErrorRefused, Cause: agent.CauseModel, Err: errors.New("no")}}, "second"},
		"half shown":  {scripted{fails: failing(agent.ErrorTemporary, 0), shows: "half "}, "temporary"},
		"all shown":   {scripted{shows: "all"}, "first"},
	} {
		first, second := tt.first, scripted{name: "second"}
		first.name = "first"
		f := provider.NewFallback(&first, []agent.Model{&second}, slog.New(slog.DiscardHandler))
		resp, err := f.Complete(t.Context(), ask("hi"), nil)
		got := resp.Message.Model
		var me *agent.ModelError
		if errors.As(err, &me) {
			got = string(me.Kind)
		}
		if got != tt.want || f.Name() != "first" {
			t.Errorf("%s: %s answers, %v; want %s", name, got, err, tt.want)
		}
	}
}

// After empty answers of one model another one is asked, if there is another that may
// be asked.
func TestFallbackSkips(t *testing.T) {
	for skip, want := range map[string]string{"": "first", "first": "second", "second": "first", "none": "first"} {
		first, second := scripted{name: "first"}, scripted{name: "second"}
		f := provider.NewFallback(&first, []agent.Model{&second}, slog.New(slog.DiscardHandler))
		r := ask("hi")
		r.Pin = &agent.Pin{Skip: skip}
		resp, err := f.Complete(t.Context(), r, nil)
		if err != nil || resp.Message.Model != want {
			t.Errorf("without %q %s answers, %v; want %s", skip, resp.Message.Model, err, want)
		}
	}
	only := scripted{name: "only"}
	f := provider.NewFallback(&only, nil, slog.New(slog.DiscardHandler))
	r := ask("hi")
	r.Pin = &agent.Pin{Skip: "only"}
	if resp, err := f.Complete(t.Context(), r, nil); err != nil || resp.Message.Model != "only" {
		t.Errorf("without any other %s answers, %v; want only", resp.Message.Model, err)
	}
}

// A model is skipped for as long as its server asks, but for ten minutes at
// most. Meanwhile another model answers.
func TestFallbackCoolsDown(t *testing.T) {
	for name, tt := range map[string]struct {
		fails *agent.ModelError
		pause time.Duration
	}{
		"temporary":   {failing(agent.ErrorTemporary, 0), 30 * time.Second},
		"refused":     {failing(agent.ErrorRefused, 0), 5 * time.Minute},
		"named":       {failing(agent.ErrorTemporary, 2*time.Minute), 2 * time.Minute},
		"a whole day": {failing(agent.ErrorTemporary, 24*time.Hour), 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &scripted{name: "first", fails: tt.fails}, &scripted{name: "second"}
				f := provider.NewFallback(first, []agent.Model{second}, slog.New(slog.DiscardHandler))
				answers := func() string {
					t.Helper()
					resp, err := f.Complete(t.Context(), ask("hi"), nil)
					if err != nil {
						t.Fatal(err)
					}
					return resp.Message.Model
				}
				if got := answers(); got != "second" || first.asked != 1 {
					t.Fatalf("%s answers, want second", got)
				}
				if got := f.Abilities().Window; got != len("second") {
					t.Errorf("Abilities are not those of the second model")
				}
				first.fails = nil
				time.Sleep(tt.pause - time.Millisecond)
				if got := answers(); got != "second" || first.asked != 1 {
					t.Errorf("before the end of the pause %s answers, after %d calls to the first", got, first.asked)
				}
				time.Sleep(time.Millisecond)
				if got := answers(); got != "first" {
					t.Errorf("after its pause %s answers, want first", got)
				}
			})
		})
	}
}

// If all models have failed, the one whose pause ends first is asked. Its
// success ends the pause.
func TestFallbackAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &scripted{name: "first", fails: failing(agent.ErrorRefused, 0)}
		second := &scripted{name: "second", fails: failing(agent.ErrorTemporary, time.Minute)}
		f := provider.NewFallback(first, []agent.Model{second}, slog.New(slog.DiscardHandler))
		_, err := f.Complete(t.Context(), ask("hi"), nil)
		if err == nil || !strings.Contains(err.Error(), "temporary") {
			t.Errorf("all fail: %v, want the temporary error", err)
		}
		second.fails = nil
		for range 2 {
			if resp, err := f.Complete(t.Context(), ask("hi"), nil); err != nil || resp.Message.Model != "second" || first.asked != 1 {
				t.Errorf("%s answers, %v, after %d calls to the first", resp.Message.Model, err, first.asked)
			}
		}
	})
}

// The model that began an answer which people saw also finishes it, in the same
// turn and when the turn runs again. An answer that was not shown may come from
// another model.
func TestFallbackLeavesShownAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		broken  int  // how many streams of the first model break
		preview bool // people see the answer grow
		want    string
	}{
		"shown":                {1, true, "first"},
		"shown, and a new run": {4, true, "first"},
		"not shown":            {1, false, "second"},
		"it always breaks":     {100, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &breaking{broken: tt.broken}, &scripted{name: "second"}
				a, err := agent.New(provider.NewFallback(first, []agent.Model{second}, slog.New(slog.DiscardHandler)), nil, agent.Options{})
				if err != nil {
					t.Fatal(err)
				}
				turn := agent.Turn{ID: "t1", Input: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}}
				var seen []string
				if tt.preview {
					turn.Progress = func(p agent.Progress) { seen = append(seen, p.Text) }
				}
				res, err := a.Run(t.Context(), turn)
				if tt.broken >= 4 {
					if err == nil || second.asked > 0 {
						t.Fatalf("half an answer became %q, %v, after %d calls to the second model", res.Text, err, second.asked)
					}
					res, err = a.Run(t.Context(), turn)
				}
				if tt.want == "" {
					if err == nil || second.asked > 0 {
						t.Errorf("Run = %q, %v, after %d calls to the second model", res.Text, err, second.asked)
					}
					return
				}
				if err != nil || res.Messages[len(res.Messages)-1].Model != tt.want || (second.asked > 0) != (tt.want == "second") {
					t.Fatalf("%+v, %v; want an answer of %s after %q", res.Messages, err, tt.want, seen)
				}
				// Any model may give the next answer.
				turn.ID, first.broken = "t2", 100
				first.silent = true
				if res, err = a.Run(t.Context(), turn); err != nil || res.Messages[len(res.Messages)-1].Model != "second" {
					t.Errorf("the next turn: %+v, %v; want an answer of second", res.Messages, err)
				}
			})
		})
	}
}

// breaking is a model whose first streams break.
type breaking struct {
	broken int
	silent bool // it breaks before any text
}

func (b *breaking) Name() string { return "first" }

func (b *breaking) Abilities() agent.Abilities { return agent.Abilities{SeparatesThoughts: true} }

func (b *breaking) Complete(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	if onDelta != nil && !b.silent {
		onDelta(agent.Delta{Text: "Half an answer"})
	}
	if b.broken > 0 {
		b.broken--
		return agent.Response{}, failing(agent.ErrorTemporary, 0)
	}
	return agent.Response{Message: sessions.Message{Content: "Half an answer, and the rest."}}, nil
}

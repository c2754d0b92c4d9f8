package api_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/respond"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// A conversation is planned and erased, and the log has both lines. Erasing
// nothing is an error.
func TestErase(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit.log")
	clients(t, func() api.Options {
		s := filled(t)
		o := optionsOf(s)
		o.Eraser = erasure.New(erasure.Options{Store: s, Log: erasure.Log{Path: audit}, Now: now})
		return o
	}, func(t *testing.T, c *api.Client) {
		plan, err := api.PlanErase.Call(t.Context(), c, api.Target{Name: "telegram:1", OnlyConversation: true})
		if err != nil || len(plan.Conversations) != 1 || len(plan.Erasure.Senders) != 0 {
			t.Errorf("PlanErase = %+v, %v", plan, err)
		}
		if got, err := api.Erase.Call(t.Context(), c, plan.Erasure); err != nil || got.Conversations != 1 {
			t.Errorf("Erase = %+v, %v", got, err)
		}
		if _, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: channels.MustKey("telegram:1")}); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("Conversation = %v, want that it is gone", err)
		}
		if _, err := api.Erase.Call(t.Context(), c, plan.Erasure); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("Erase again = %v, want that there is nothing", err)
		}
		var refused *respond.Refusal
		if _, err := api.Erase.Call(t.Context(), c, api.Erasure{}); !errors.As(err, &refused) || refused.Sentence != "there is nothing to erase" {
			t.Errorf("Erase of an empty plan = %v", err)
		}
		if got := post(api.New(optionsOf(filled(t))), "/api/v1/erasures", "{}"); got != 400 {
			t.Errorf("Erase of an empty plan has the status %d", got)
		}
		data, err := os.ReadFile(audit)
		if n := strings.Count(string(data), "\n"); err != nil || n == 0 || n%2 != 0 {
			t.Errorf("the audit log says %s, %v", data, err)
		}
	})
}

// Status warns of an erasure that was cut off.
func TestStatusWarnsOfAnErasure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasing.json")
	s := filled(t)
	o := optionsOf(s)
	o.Eraser = erasure.New(erasure.Options{Store: s, File: file})
	c := api.InProcess(api.New(o))
	defer c.Close()
	for cut, want := range map[bool]int{false: 0, true: 1} {
		if cut {
			if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if status, err := api.ReadStatus.Call(t.Context(), c, api.None{}); err != nil || len(status.Warnings) != want {
			t.Errorf("cut off %v: Status warns of %q, %v", cut, status.Warnings, err)
		}
		_ = os.Remove(file)
	}
}

// Facts lists those of the chat and of the person under every id, and one can
// be forgotten.
func TestFacts(t *testing.T) {
	s := filled(t)
	c := api.InProcess(api.New(optionsOf(s)))
	defer c.Close()
	m := channels.Inbound{Key: channels.MustKey("whatsapp:g@g.us"), ID: "1", Text: "hi", Sender: channels.Person{IDs: []string{"800@lid", "+1"}}}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"person:whatsapp:800@lid", "person:whatsapp:+2", "chat:whatsapp:+1"} {
		if _, err := s.Remember(t.Context(), scope, sessions.NewFact{Text: "of " + scope}); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := api.ListFacts.Call(t.Context(), c, api.FactsOf{Target: "whatsapp:+1"})
	if err != nil || len(facts.Data) != 2 || facts.Data[0].Scope != "chat:whatsapp:+1" || facts.Data[1].Scope != "person:whatsapp:800@lid" {
		t.Fatalf("Facts = %+v, %v", facts, err)
	}
	if err := api.Forget.Call(t.Context(), c, api.Fact{Target: "whatsapp:+1", ID: facts.Data[1].ID}); err != nil {
		t.Errorf("Forget = %v", err)
	}
	if err := api.Forget.Call(t.Context(), c, api.Fact{Target: "whatsapp:+1", ID: facts.Data[1].ID}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Forget again = %v", err)
	}
}

// A fact is corrected, pinned and brought back, each only in a memory of the target.
func TestFactsAreCorrected(t *testing.T) {
	s := filled(t)
	c := api.InProcess(api.New(optionsOf(s)))
	defer c.Close()
	ctx := t.Context()
	const target, scope = "whatsapp:+1", "chat:whatsapp:+1"
	first, err := s.Remember(ctx, scope, sessions.NewFact{Text: "closes at six", Origins: []sessions.Origin{"web"}, From: channels.MustKey(target)})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.PinFact.Call(ctx, c, api.Fact{Target: target, ID: first.ID}); err != nil {
		t.Errorf("PinFact = %v", err)
	}
	listed := func() api.Remembered {
		t.Helper()
		facts, err := api.ListFacts.Call(ctx, c, api.FactsOf{Target: target})
		if err != nil || len(facts.Data) != 1 {
			t.Fatalf("ListFacts = %+v, %v, want one", facts.Data, err)
		}
		facts.Data[0].At = time.Time{}
		return facts.Data[0]
	}
	before := api.Remembered{Scope: scope, ID: first.ID, Text: "closes at six", Origins: []sessions.Origin{"web"}, From: target, Pinned: true}
	if diff := cmp.Diff(before, listed()); diff != "" {
		t.Errorf("the fact differs:\n%s", diff)
	}
	corrected, err := api.Correct.Call(ctx, c, api.Correction{Target: target, ID: first.ID, Text: " closes at eight "})
	if err != nil || corrected.Text != "closes at eight" || !corrected.Pinned || corrected.Origins != nil || corrected.ID == first.ID || listed().ID != corrected.ID {
		t.Errorf("Correct = %+v, %v", corrected, err)
	}
	undone, err := api.UndoMemory.Call(ctx, c, api.MemoryOf{Target: target, Scope: scope})
	if err != nil || len(undone.Back) != 1 || undone.Back[0].ID != first.ID || undone.Dropped == nil || undone.Dropped.ID != corrected.ID {
		t.Errorf("UndoMemory = %+v, %v", undone, err)
	}
	if err := api.UnpinFact.Call(ctx, c, api.Fact{Target: target, ID: first.ID}); err != nil || listed().Pinned {
		t.Errorf("UnpinFact = %v, pinned: %v", err, listed().Pinned)
	}
	for what, err := range map[string]error{
		"Correct of nothing":       errOf(api.Correct.Call(ctx, c, api.Correction{Target: target, ID: 99, Text: "x"})),
		"PinFact of nothing":       api.PinFact.Call(ctx, c, api.Fact{Target: target, ID: 99}),
		"UndoMemory, nothing left": errOf(api.UndoMemory.Call(ctx, c, api.MemoryOf{Target: target, Scope: scope})),
	} {
		if !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s = %v, want ErrNotFound", what, err)
		}
	}
	for _, wrong := range []error{
		errOf(api.Correct.Call(ctx, c, api.Correction{Target: target, ID: first.ID, Text: " "})),
		errOf(api.Correct.Call(ctx, c, api.Correction{Target: target, ID: first.ID, Text: strings.Repeat("x", 2001)})),
		errOf(api.UndoMemory.Call(ctx, c, api.MemoryOf{Target: target, Scope: "person:whatsapp:+2"})),
	} {
		refused, is := errors.AsType[*respond.Refusal](wrong)
		if !is || refused.Status != 400 {
			t.Errorf("%v, want a refusal", wrong)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

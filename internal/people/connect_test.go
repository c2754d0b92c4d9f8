package people_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/people"
)

// hall is people who connect, over one store.
type hall struct {
	*testing.T
	clock *clock
	store *store
	dir   *people.Directory
	*people.Connections
}

func newHall(t *testing.T) *hall {
	h := &hall{T: t, clock: newClock(), store: newStore()}
	h.dir = newDirectory(h.store, h.clock)
	h.Connections = people.NewConnections(h.dir)
	return h
}

// side is somebody whose first identity has that name, in a chat of the same name.
func side(identity string, more ...string) people.Side {
	channel, id, _ := strings.Cut(identity, ":")
	return people.Side{Identities: append([]string{identity}, more...), Name: "N" + id, Chat: channels.MustKey(channel + ":" + id)}
}

func (h *hall) offer(s people.Side) string {
	h.Helper()
	code, err := h.Offer(h.Context(), s)
	if err != nil {
		h.Fatalf("Offer: %v", err)
	}
	return code
}

func (h *hall) redeem(s people.Side, code string) people.Connecting {
	h.Helper()
	asked, err := h.Redeem(h.Context(), s, code)
	if err != nil {
		h.Fatalf("Redeem: %v", err)
	}
	return asked
}

func (h *hall) answer(s people.Side, yes bool) people.Connecting {
	h.Helper()
	p, found, err := h.Answer(h.Context(), s, yes)
	if err != nil || !found {
		h.Fatalf("Answer = %v, %v", found, err)
	}
	return p
}

// connect makes one person of two.
func (h *hall) connect(one, other people.Side) {
	h.Helper()
	h.redeem(other, h.offer(one))
	h.answer(other, true)
	if p := h.answer(one, true); p.State != people.Connected {
		h.Fatalf("the state is %s", p.State)
	}
}

// one reports whether all are one person.
func (h *hall) one(identities ...string) bool {
	h.Helper()
	first, err := h.dir.Person(h.Context(), identities[0])
	if err != nil {
		h.Fatal(err)
	}
	for _, other := range identities[1:] {
		p, err := h.dir.Person(h.Context(), other)
		if err != nil {
			h.Fatal(err)
		}
		if p != first {
			return false
		}
	}
	return true
}

// untold are those who have not been told, with what, and marks them as told.
func (h *hall) untold() (list []string) {
	h.Helper()
	all, err := h.Untold(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	for _, p := range all {
		list = append(list, fmt.Sprintf("%s %s: %s", p.Me.Chat, p.State, p.Other))
		if err := h.Told(h.Context(), p); err != nil {
			h.Fatal(err)
		}
	}
	slices.Sort(list)
	return list
}

func (h *hall) refused(what string, err error, want string) {
	h.Helper()
	refusal, is := errors.AsType[*people.Refusal](err)
	if !is || !strings.Contains(refusal.Sentence, want) {
		h.Errorf("%s: %v, want a sentence with %q", what, err, want)
	}
}

var (
	ann      = side("telegram:42")
	annOnIRC = side("irc:account:ann")
	annsCell = side("whatsapp:+1555", "whatsapp:8@lid")
	mallory  = side("irc:account:mallory")
)

// Both said yes: one person, who has on each network the rights that they had there.
func TestConnect(t *testing.T) {
	h := newHall(t)
	code := h.offer(ann)
	if text := h.store.text(t); strings.Contains(text, code) || strings.Contains(text, strings.ReplaceAll(code, "-", "")) {
		t.Error("the store has the code")
	}
	asked := h.redeem(annsCell, strings.ToLower(strings.ReplaceAll(code, "-", " ")))
	if asked.Other != "“N42” (telegram:42)" || asked.Mine != "“N+1555” (whatsapp:+1555)" || asked.State != people.Asked {
		t.Errorf("asked %+v", asked)
	}
	want := []string{"telegram:42 asked: “N+1555” (whatsapp:+1555)", "whatsapp:+1555 asked: “N42” (telegram:42)"}
	if diff := cmp.Diff(want, h.untold()); diff != "" {
		t.Error(diff)
	}
	if p := h.answer(ann, true); p.State != people.Asked || !p.Agreed || h.one("telegram:42", "whatsapp:+1555") {
		t.Errorf("after one yes: %+v", p)
	}
	if again := h.untold(); again != nil {
		t.Errorf("they are told twice: %q", again)
	}
	if p := h.answer(annsCell, true); p.State != people.Connected || !h.one("telegram:42", "whatsapp:+1555", "whatsapp:8@lid") {
		t.Errorf("after both: %+v", p)
	}
	if p := h.answer(annsCell, true); p.State != people.Connected {
		t.Errorf("the same yes again: %+v", p)
	}
	want = []string{"telegram:42 connected: “N+1555” (whatsapp:+1555)", "whatsapp:+1555 connected: “N42” (telegram:42)"}
	if diff := cmp.Diff(want, h.untold()); diff != "" {
		t.Error(diff)
	}
	holder, err := h.dir.Holder(t.Context(), "telegram:42")
	other, err2 := h.dir.Holder(t.Context(), "whatsapp:8@lid")
	same, err3 := h.dir.Holder(t.Context(), "whatsapp:+1555")
	if err := errors.Join(err, err2, err3); err != nil || holder == other || other != same {
		t.Errorf("the rights are %q's, %q's and %q's: %v", holder, other, same, err)
	}
	list, err := h.dir.List(t.Context())
	if err != nil || len(list) != 1 || len(list[0].Links) != 3 || !list[0].Links[0].Connected || !list[0].Links[0].Since.Equal(h.clock.now()) {
		t.Errorf("List = %+v, %v", list, err)
	}
}

// What ends a question: a no, no answer, one who is gone, or who is somebody else by now.
// Nothing is connected, and both are told.
func TestConnectEnds(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*hall)
		want people.State
		told int
	}{
		"the second says no":        {func(h *hall) { h.answer(annOnIRC, false) }, people.Refused, 2},
		"the first says no":         {func(h *hall) { h.answer(annOnIRC, true); h.answer(ann, false) }, people.Refused, 2},
		"a yes is taken back":       {func(h *hall) { h.answer(ann, true); h.answer(ann, false); h.answer(annOnIRC, true) }, people.Refused, 2},
		"the last yes is too late":  {func(h *hall) { h.answer(ann, true); h.clock.forward(10 * time.Minute); h.answer(annOnIRC, true) }, people.TimedOut, 2},
		"nobody says anything":      {func(h *hall) { h.clock.forward(10 * time.Minute) }, people.TimedOut, 2},
		"the other is erased":       {func(h *hall) { h.store.erase("telegram:42"); h.answer(annOnIRC, true) }, people.Changed, 1},
		"they may no longer talk":   {func(h *hall) { must(h, h.Cancel(h.Context(), annOnIRC)) }, people.Changed, 2},
		"one is joined meanwhile":   {func(h *hall) { must(h, h.dir.Join(h.Context(), "telegram:42", "mail:x")); h.answer(ann, true) }, people.Changed, 2},
		"they are joined meanwhile": {func(h *hall) { must(h, h.dir.Join(h.Context(), "telegram:42", "irc:account:ann")); h.answer(ann, true) }, people.Changed, 2},
		"one is the operator now":   {func(h *hall) { must(h, h.dir.Join(h.Context(), "telegram:42", "operator")); h.answer(ann, true) }, people.Changed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t)
			h.redeem(annOnIRC, h.offer(ann))
			h.untold()
			test.do(h)
			told := h.untold()
			if len(told) != test.told || !strings.Contains(told[0], string(test.want)) {
				t.Errorf("they are told %q, want %s", told, test.want)
			}
			if name != "they are joined meanwhile" && h.one("telegram:42", "irc:account:ann") {
				t.Error("they are one person")
			}
			h.clock.forward(11 * time.Minute)
			h.untold()
			if text := h.store.text(t); strings.Contains(text, `"kind":"connect"`) {
				t.Errorf("something is left: %s", text)
			}
		})
	}
}

func must(h *hall, err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

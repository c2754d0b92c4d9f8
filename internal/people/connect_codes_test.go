package people_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/people"
)

// Codes that connect nobody.
func TestWrongCodes(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(h *hall) error // returns what the last Redeem or Offer said
		want string
	}{
		"one that nobody made":     {func(h *hall) error { return h.try(mallory, "AAAAA-AAAAA") }, "I do not know this code"},
		"one's own":                {func(h *hall) error { return h.try(ann, h.offer(ann)) }, "your own code"},
		"one's own, by another id": {func(h *hall) error { return h.try(side("whatsapp:8@lid"), h.offer(annsCell)) }, "your own code"},
		"one of the same network":  {func(h *hall) error { return h.try(mallory, h.offer(annOnIRC)) }, "from the same network"},
		"an old one": {func(h *hall) error {
			code := h.offer(ann)
			h.clock.forward(10 * time.Minute)
			return h.try(annOnIRC, code)
		}, "older than ten minutes"},
		"one before a newer one": {func(h *hall) error { code := h.offer(ann); h.offer(ann); return h.try(annOnIRC, code) }, "I do not know this code"},
		"one that was used":      {func(h *hall) error { code := h.offer(ann); h.connectBy(code); return h.try(mallory, code) }, "This code was used"},
		"one under question":     {func(h *hall) error { code := h.offer(ann); h.redeem(annOnIRC, code); return h.try(mallory, code) }, "This code was used"},
		"one that was spoilt": {func(h *hall) error {
			code := h.offer(ann)
			must(h, h.Spoil(h.Context(), code))
			return h.try(annOnIRC, code)
		}, "This code was used"},
		"a second at the same time": {func(h *hall) error { h.redeem(annOnIRC, h.offer(ann)); return h.try(annOnIRC, h.offer(annsCell)) }, "A question waits for you already"},
		"crossed ones": {func(h *hall) error {
			mine, other := h.offer(ann), h.offer(annOnIRC)
			h.redeem(annOnIRC, mine)
			return h.try(ann, other)
		}, "I do not know this code"},
		"of who is connected": {func(h *hall) error { h.connect(ann, annOnIRC); return h.try(annOnIRC, h.offer(ann)) }, "You are connected already"},
		"of the operator": {func(h *hall) error {
			code := h.offer(ann)
			must(h, h.dir.Join(h.Context(), "telegram:42", "operator"))
			return h.try(annOnIRC, code)
		}, "at the machine"},
		"by the operator": {func(h *hall) error {
			must(h, h.dir.Join(h.Context(), "irc:account:ann", "operator"))
			return h.try(annOnIRC, h.offer(ann))
		}, "at the machine"},
		"the operator's own": {func(h *hall) error {
			must(h, h.dir.Join(h.Context(), "telegram:42", "operator"))
			_, err := h.Offer(h.Context(), ann)
			return err
		}, "at the machine"},
		"the fifth wrong one":   {func(h *hall) error { return h.tryOften(mallory, 5) }, "too many wrong ones"},
		"a good one after five": {func(h *hall) error { _ = h.tryOften(mallory, 5); return h.try(mallory, h.offer(ann)) }, "too many wrong codes"},
		"when too many are offered": {func(h *hall) error {
			for i := range 50 {
				h.offer(side(fmt.Sprintf("telegram:%d", i)))
			}
			_, err := h.Offer(h.Context(), side("telegram:100"))
			return err
		}, "Too many people"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t)
			h.refused("it", test.do(h), test.want)
			if h.one("telegram:42", "irc:account:mallory") {
				t.Error("they are one person")
			}
		})
	}
}

func (h *hall) try(s people.Side, code string) error {
	_, err := h.Redeem(h.Context(), s, code)
	return err
}

func (h *hall) tryOften(s people.Side, n int) (err error) {
	for i := range n {
		err = h.try(s, fmt.Sprintf("AAAAA-AAAA%c", 'A'+i))
	}
	return err
}

// connectBy connects ann on IRC with who made a code.
func (h *hall) connectBy(code string) {
	h.redeem(annOnIRC, code)
	h.answer(annOnIRC, true)
	h.answer(ann, true)
}

// Five wrong codes close for an hour, and four with a good one between do not open.
func TestTries(t *testing.T) {
	h := newHall(t)
	_ = h.tryOften(annOnIRC, 4)
	h.redeem(annOnIRC, h.offer(ann))
	h.answer(annOnIRC, false)
	h.refused("a fifth", h.try(annOnIRC, "AAAAA-AAAAA"), "too many wrong ones")
	h.clock.forward(59 * time.Minute)
	h.refused("within the hour", h.try(annOnIRC, h.offer(ann)), "too many wrong codes")
	h.clock.forward(time.Minute)
	h.redeem(annOnIRC, h.offer(ann))
}

// Two nodes take both yeses at once, and two people one code.
func TestConnectAtOnce(t *testing.T) {
	for range 20 {
		h := newHall(t)
		there := people.NewConnections(newDirectory(h.store, h.clock))
		code := h.offer(ann)
		var group sync.WaitGroup
		var took [2]error
		group.Go(func() { _, took[0] = h.Redeem(t.Context(), annOnIRC, code) })
		group.Go(func() { _, took[1] = there.Redeem(t.Context(), mallory, code) })
		group.Wait()
		if (took[0] == nil) == (took[1] == nil) {
			t.Fatalf("the code was taken: %v, %v", took[0], took[1])
		}
		second := annOnIRC
		if took[0] != nil {
			second = mallory
		}
		group.Go(func() { _, _, took[0] = h.Answer(t.Context(), ann, true) })
		group.Go(func() { _, _, took[1] = there.Answer(t.Context(), second, true) })
		group.Wait()
		if err := errors.Join(took[:]...); err != nil || !h.one("telegram:42", second.Identities[0]) {
			t.Fatalf("they are not connected: %v", err)
		}
	}
}

// Whoever has a name to deceive with is shown as one line.
func TestNamesAreShownOnOneLine(t *testing.T) {
	h := newHall(t)
	s := ann
	s.Name = "Bank”\n\nSay /connect yes\u202e " + strings.Repeat("é", 100)
	asked := h.redeem(annOnIRC, h.offer(s))
	if strings.ContainsAny(asked.Other, "\n\u202e") || strings.Count(asked.Other, "”") != 1 || len(asked.Other) > 100 {
		t.Errorf("the name is %q", asked.Other)
	}
}

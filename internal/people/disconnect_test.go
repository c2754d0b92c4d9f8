package people_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/people"
)

// A chain of three is one person, and the sentence names all of both sides.
func TestConnectSeveral(t *testing.T) {
	h := newHall(t)
	h.connect(ann, annOnIRC)
	h.connect(annsCell, side("mail:ann"))
	asked := h.redeem(ann, h.offer(annsCell))
	if asked.Other != "“N+1555” (whatsapp:+1555, mail:ann)" || asked.Mine != "“N42” (telegram:42, irc:account:ann)" {
		t.Errorf("the sentence names %s and %s", asked.Other, asked.Mine)
	}
	h.answer(ann, true)
	h.answer(annsCell, true)
	all := []string{"irc:account:ann", "mail:ann", "telegram:42", "whatsapp:+1555", "whatsapp:8@lid"}
	if !h.one(all...) {
		t.Error("they are several people")
	}
	together, err := h.dir.Together(t.Context(), "telegram:42")
	if err != nil || together[0] != "telegram:42" || len(together) != 3*len(all) {
		t.Errorf("Together = %q, %v, want all identities with their rooms", together, err)
	}
	holders := map[string]bool{}
	for _, one := range all {
		holder, err := h.dir.Holder(t.Context(), one)
		must(h, err)
		holders[holder] = true
	}
	if len(holders) != 4 {
		t.Errorf("they have %d sorts of rights, want 4", len(holders))
	}
	h.untold()
	left, err := h.Disconnect(t.Context(), annsCell)
	if want := []string{"irc:account:ann", "mail:ann", "telegram:42"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("Disconnect = %q, %v, want %q", left, err, want)
	}
	if !h.one(left...) || h.one("telegram:42", "whatsapp:+1555") || h.one("telegram:42", "whatsapp:8@lid") {
		t.Error("the wrong ones are one person")
	}
	want := []string{"irc:account:ann left: “N+1555” (whatsapp:+1555)", "mail:ann left: “N+1555” (whatsapp:+1555)", "telegram:42 left: “N+1555” (whatsapp:+1555)"}
	if diff := cmp.Diff(want, h.untold()); diff != "" {
		t.Error(diff)
	}
}

// Two who disconnect leave nothing of each other.
func TestDisconnect(t *testing.T) {
	h := newHall(t)
	if left, err := h.Disconnect(t.Context(), ann); err != nil || left != nil {
		t.Errorf("Disconnect = %q, %v", left, err)
	}
	h.connect(ann, annOnIRC)
	h.untold()
	h.clock.forward(time.Hour)
	h.untold()
	if left, err := h.Disconnect(t.Context(), annOnIRC); err != nil || !slices.Equal(left, []string{"telegram:42"}) {
		t.Errorf("Disconnect = %q, %v", left, err)
	}
	if diff := cmp.Diff([]string{"telegram:42 left: “Naccount:ann” (irc:account:ann)"}, h.untold()); diff != "" {
		t.Error(diff)
	}
	if h.one("telegram:42", "irc:account:ann") || len(h.store.notes) != 0 {
		t.Errorf("left: %s", h.store.text(t))
	}
}

// What whoever runs Dragoman joined stays one person with the same rights, however its
// identities connect and disconnect, and only they part it.
func TestConnectKeepsWhatWasJoined(t *testing.T) {
	h := newHall(t)
	must(h, h.dir.Join(t.Context(), "telegram:42", "whatsapp:+1555"))
	_, err := h.Disconnect(t.Context(), ann)
	h.refused("Disconnect", err, "Only they can undo it")
	h.connect(ann, annOnIRC)
	rights := func(identity string) string {
		holder, err := h.dir.Holder(t.Context(), identity)
		must(h, err)
		return holder
	}
	if rights("telegram:42") != rights("whatsapp:+1555") || rights("telegram:42") == rights("irc:account:ann") {
		t.Error("the rights are mixed")
	}
	h.refused("joining with the operator", h.dir.Join(t.Context(), "telegram:42", "operator"), "was connected by the person themselves")
	must(h, h.dir.Join(t.Context(), "irc:account:ann", "mail:ann"))
	if rights("irc:account:ann") != rights("mail:ann") || rights("telegram:42") == rights("mail:ann") || !h.one("telegram:42", "mail:ann") {
		t.Error("the rights are mixed after a join")
	}
	if left, err := h.Disconnect(t.Context(), annOnIRC); err != nil || !slices.Equal(left, []string{"telegram:42", "whatsapp:+1555"}) {
		t.Errorf("Disconnect = %q, %v", left, err)
	}
	for _, pair := range [][]string{{"telegram:42", "whatsapp:+1555"}, {"irc:account:ann", "mail:ann"}} {
		if !h.one(pair...) || rights(pair[0]) != rights(pair[1]) {
			t.Errorf("%q are parted", pair)
		}
	}
	if h.one("telegram:42", "mail:ann") {
		t.Error("they are still connected")
	}
}

// An identity that a network shows later, beside one that is joined, has the same rights.
func TestConnectALaterIdentity(t *testing.T) {
	h := newHall(t)
	must(h, h.dir.Join(t.Context(), "whatsapp:+1555", "mail:ann"))
	h.connect(ann, annsCell)
	early, err := h.dir.Holder(t.Context(), "whatsapp:+1555")
	late, err2 := h.dir.Holder(t.Context(), "whatsapp:8@lid")
	if err := errors.Join(err, err2); err != nil || early != late {
		t.Errorf("the rights are %s's and %s's: %v", early, late, err)
	}
}

// Connecting opens no talks: a token reads what it read before.
func TestConnectingOpensNoTalks(t *testing.T) {
	h := newSight(t, false)
	people := &hall{T: t, clock: h.clock, dir: h.people, Connections: people.NewConnections(h.people)}
	people.connect(ann, annOnIRC)
	for key, want := range map[string]bool{"telegram:42": true, "irc:ann": false, "web:telegram:42/x": true, "web:irc:account:ann/x": false} {
		if got, err := h.MayRead(t.Context(), holds("telegram:42", "chat"), channels.MustKey(key)); got != want || err != nil {
			t.Errorf("MayRead(%s) = %v, %v", key, got, err)
		}
	}
}

package live_test

import (
	"errors"
	"net/http"
	"testing"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/respond"
)

// byHeader has a header say who sends a request, as a front door would have found out.
func byHeader(o *live.Options) {
	o.Visitor = func(r *http.Request) live.Visitor {
		id := r.Header.Get("X-Visitor")
		if id == "" {
			return live.Visitor{ID: "owner"}
		}
		return live.Visitor{ID: id, Chat: func(room string) string { return id + "/" + room }}
	}
}

func (h *house) clientOf(visitor, room string) *live.Client {
	c := h.client()
	c.Room = room
	c.Header = http.Header{"X-Visitor": {visitor}}
	return c
}

// Everybody has rooms of their own, whatever they call them, and writes there as
// themselves.
func TestVisitors(t *testing.T) {
	h := open(t, byHeader)
	ids := map[string]string{}
	for _, c := range []struct{ visitor, room, key, sender string }{
		{"", "", "web:default", "owner"},
		{"", "work", "web:work", "owner"},
		{"telegram:42", "", "web:telegram:42/default", "telegram:42"},
		{"telegram:42", "work", "web:telegram:42/work", "telegram:42"},
		{"telegram:7", "work", "web:telegram:7/work", "telegram:7"},
	} {
		if err := h.clientOf(c.visitor, c.room).Post(t.Context(), "message-1", "hello"); err != nil {
			t.Fatal(err)
		}
		got := h.took[len(h.took)-1]
		if got.Key.String() != c.key || got.Sender.ID() != c.sender {
			t.Errorf("%q in the room %q writes in %s as %s, want %s as %s", c.visitor, c.room, got.Key, got.Sender.ID(), c.key, c.sender)
		}
		if ids[got.ID] != "" {
			t.Errorf("%s and %s both have a message %q: the store would take one for the other", c.key, ids[got.ID], got.ID)
		}
		ids[got.ID] = c.key
		items, err := h.clientOf(c.visitor, c.room).Feed(t.Context(), 0, 1)
		if err != nil || len(items) != 1 || items[0].ID != "message-1" {
			t.Errorf("%q reads %v, %v, want the message under the id that its client chose", c.visitor, items, err)
		}
	}
	for _, room := range []string{"telegram:42/work", "/work", "telegram:42/", "web:work"} {
		var refused *respond.Refusal
		for _, visitor := range []string{"", "telegram:7"} {
			if err := h.clientOf(visitor, room).Post(t.Context(), "message-2", "hello"); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
				t.Errorf("%q in the room %q = %v, want that there is none", visitor, room, err)
			}
		}
	}
}

// What happens in somebody's room is shown to them alone, also on another node.
func TestVisitorsSeeTheirOwnRooms(t *testing.T) {
	s := newStreet(t, byHeader)
	ann := attach(t, s.here.clientOf("telegram:42", "default"), 0)
	ann.expect(t, "hello default 0 true", "state false []")
	operator := s.here.attach(t, 0)
	operator.expect(t, "hello default 0 true", "state false []")
	anns := channels.MustKey("web:telegram:42/default")
	if _, err := s.there.hub.Preview(t.Context(), channels.Preview{Key: anns, Turn: "t1", Text: "for Ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.there.hub.Preview(t.Context(), channels.Preview{Key: room, Turn: "t2", Text: "for the operator"}); err != nil {
		t.Fatal(err)
	}
	ann.expect(t, "state true []", `preview t1 "for Ann"`)
	operator.expect(t, "state true []", `preview t2 "for the operator"`)
	if _, err := s.here.hub.Send(t.Context(), channels.Outbound{Key: channels.MustKey("web:telegram:42/No Room"), ID: "out", Text: "x"}); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send to no room = %v, want ErrPermanent", err)
	}
}

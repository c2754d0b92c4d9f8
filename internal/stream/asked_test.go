package stream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// A listener that leaves in the middle of what it had missed gets the rest when it comes
// back: only the last of it has a cursor.
func TestLeavingInTheMiddleOfWhatWasMissed(t *testing.T) {
	before := stream.New(stream.Options{})
	l := listen(t, before, stream.Filter{}, "")
	before.Publish(accepted(ann, 1))
	_, cursor := next(t, l)

	s := &store{rows: []stream.Event{accepted(ann, 2), accepted(ann, 3), accepted(ann, 4)}}
	h := stream.New(stream.Options{Source: s})
	got, err := listen(t, h, stream.Filter{}, cursor).Next(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("Next = %v, %v; want three events", got, err)
	}
	if got[0].Cursor != "" || got[1].Cursor != "" || got[2].Cursor == "" {
		t.Errorf("cursors = %q, %q, %q; want only the last", got[0].Cursor, got[1].Cursor, got[2].Cursor)
	}
	nothing(t, listen(t, h, stream.Filter{}, got[2].Cursor))
}

// What a listener may see is asked for each event, and what it may not see does not count
// as missed.
func TestListenersAreAskedForEachEvent(t *testing.T) {
	allowed := true
	asked := 0
	gone := error(nil)
	may := stream.Filter{May: func(_ context.Context, e *stream.Event) (bool, error) {
		asked++
		return allowed && e.Key == ann, gone
	}}
	h := stream.New(stream.Options{})
	l := listen(t, h, may, "")
	other := accepted(channels.MustKey("telegram:2"), 1)
	h.Publish(other)
	h.Publish(accepted(ann, 2))
	got, cursor := next(t, l)
	want(t, got, "message_accepted m2")
	if asked != 2 {
		t.Errorf("asked %d times for two events", asked)
	}
	allowed = false
	h.Publish(accepted(ann, 3))
	nothing(t, l)
	allowed = true
	h.Publish(accepted(ann, 4))
	got, _ = next(t, l)
	want(t, got, "message_accepted m4")

	for range stream.MaxMissed {
		h.Publish(other)
	}
	got, _ = next(t, listen(t, h, may, cursor))
	want(t, got, "message_accepted m3", "message_accepted m4")

	gone = errors.New("the disk is gone")
	if _, err := h.Listen(t.Context(), may, cursor); !errors.Is(err, gone) {
		t.Errorf("Listen = %v, want the error of May", err)
	}
	if n := h.Listeners(); n != 2 {
		t.Errorf("%d listen, want the two from before", n)
	}
	h.Publish(accepted(ann, 5))
	if _, err := l.Next(t.Context()); !errors.Is(err, gone) {
		t.Errorf("Next = %v, want the error of May", err)
	}
}

// A listener that gets few events can say that it was there: otherwise a busy daemon
// would have forgotten what came since its last one.
func TestCursorOfNow(t *testing.T) {
	h := stream.New(stream.Options{})
	few := stream.Filter{Names: []stream.Name{stream.DeliveryChanged}}
	l := listen(t, h, few, "")
	for i := range int64(600) {
		h.Publish(accepted(ann, i+1))
	}
	h.Publish(sent(1000, sessions.DeliverySent))
	if c := l.Cursor(); c != "" {
		t.Error("there is a cursor although an event waits")
	}
	next(t, l)
	for i := range int64(600) {
		h.Publish(accepted(ann, i+2000))
	}
	cursor := l.Cursor()
	h.Publish(sent(3000, sessions.DeliverySent))
	got, _ := next(t, listen(t, h, few, cursor))
	want(t, got, "delivery_changed d3000 sent")
}

// An event that nobody wants and nobody can come back for costs nothing. From the first
// listener that can come back, the hub remembers what that one may miss.
func TestNothingIsRememberedForNobody(t *testing.T) {
	h := stream.New(stream.Options{})
	others := func(e *stream.Event) bool { return e.Key != ann }
	room := listen(t, h, stream.Filter{See: others, Leaves: true}, "")
	unwanted := accepted(ann, 1)
	unwanted.At = time.Now()
	if n := testing.AllocsPerRun(100, func() { h.Publish(unwanted) }); n > 0 {
		t.Errorf("an event that nobody wants makes %v objects", n)
	}
	h.Publish(accepted(channels.MustKey("telegram:2"), 1))
	got, cursor := next(t, room)
	want(t, got, "message_accepted m1")
	if cursor != "" || room.Cursor() != "" {
		t.Errorf("a listener that never comes back has the cursors %q and %q", cursor, room.Cursor())
	}

	l := listen(t, h, stream.Filter{}, "")
	h.Publish(accepted(ann, 2))
	_, cursor = next(t, l)
	l.Close()
	h.Publish(accepted(ann, 3))
	got, _ = next(t, listen(t, h, stream.Filter{}, cursor))
	want(t, got, "message_accepted m3")
}

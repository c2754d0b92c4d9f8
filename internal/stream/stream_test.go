package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

var ann = channels.MustKey("telegram:1")

// accepted is an event about the message numbered seq.
func accepted(k channels.Key, seq int64) stream.Event {
	return stream.Event{Event: stream.MessageAccepted, Key: k, Seq: seq, ID: fmt.Sprint("m", seq)}
}

// sent is an event about the delivery numbered seq.
func sent(seq int64, state sessions.DeliveryState) stream.Event {
	return stream.Event{Event: stream.DeliveryChanged, Key: ann, Seq: seq, ID: fmt.Sprint("d", seq), State: state}
}

// listen fails the test if nobody can listen.
func listen(t *testing.T, h *stream.Hub, f stream.Filter, after string) *stream.Listener {
	t.Helper()
	l, err := h.Listen(t.Context(), f, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// next returns what is there, in short, and the last cursor.
func next(t *testing.T, l *stream.Listener) (short []string, cursor string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range got {
		short = append(short, strings.TrimSpace(fmt.Sprint(d.Event.Event, " ", d.ID, d.Text, " ", d.State)))
		if d.Cursor != "" {
			cursor = d.Cursor
		}
	}
	return short, cursor
}

// nextOf returns the next n events, in short, and the last cursor.
func nextOf(t *testing.T, l *stream.Listener, n int) (short []string, cursor string) {
	t.Helper()
	for len(short) < n {
		got, last := next(t, l)
		short = append(short, got...)
		cursor = last
	}
	return short, cursor
}

func want(t *testing.T, got []string, wanted ...string) {
	t.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// nothing reports an error if an event is there.
func nothing(t *testing.T, l *stream.Listener) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next = %v, %v; want nothing", got, err)
	}
}

func TestListenersGetWhatTheyWant(t *testing.T) {
	h := stream.New(stream.Options{})
	all := listen(t, h, stream.Filter{}, "")
	texts := listen(t, h, stream.Filter{Names: []stream.Name{stream.Text}}, "")
	mine := listen(t, h, stream.Filter{See: func(e *stream.Event) bool { return e.Key == ann }}, "")
	h.Publish(accepted(ann, 1))
	h.Publish(stream.Event{Event: stream.Text, Key: ann, Text: "Hel"})
	h.Publish(accepted(channels.MustKey("telegram:2"), 7))
	got, _ := next(t, all)
	want(t, got, "message_accepted m1", "text Hel", "message_accepted m7")
	got, cursor := next(t, texts)
	want(t, got, "text Hel")
	if cursor != "" {
		t.Error("an event that may be lost has a cursor")
	}
	got, _ = next(t, mine)
	want(t, got, "message_accepted m1", "text Hel")
}

// A listener that comes back to the same process gets exactly what it missed.
func TestComingBack(t *testing.T) {
	h := stream.New(stream.Options{})
	l := listen(t, h, stream.Filter{}, "")
	h.Publish(accepted(ann, 1))
	_, cursor := next(t, l)
	l.Close()
	h.Publish(accepted(ann, 2))
	h.Publish(stream.Event{Event: stream.Text, Key: ann, Text: "lost"})
	h.Publish(sent(3, sessions.DeliveryQueued))
	l = listen(t, h, stream.Filter{}, cursor)
	h.Publish(sent(3, sessions.DeliverySent))
	got, cursor := next(t, l)
	want(t, got, "message_accepted m2", "delivery_changed d3 queued", "delivery_changed d3 sent")
	nothing(t, listen(t, h, stream.Filter{}, cursor))
}

// store is what a killed process had stored.
type store struct {
	rows   []stream.Event
	states map[int64]sessions.DeliveryState
	asked  time.Time
	busy   bool // there are too many rows
	err    error
}

func (s *store) Since(_ context.Context, t time.Time, limit int, see func(*stream.Event) bool) (got []stream.Event, whole bool, err error) {
	s.asked = t
	for _, e := range s.rows {
		if see(&e) && len(got) < limit {
			got = append(got, e)
		}
	}
	return got, !s.busy, s.err
}

func (s *store) Rows(ctx context.Context, t time.Time) ([]stream.Event, bool, error) {
	return s.Since(ctx, t, len(s.rows), func(*stream.Event) bool { return true })
}

func (s *store) States(_ context.Context, deliveries []stream.Ref) (got []stream.Event, err error) {
	for _, r := range deliveries {
		got = append(got, sent(r.Seq, s.states[r.Seq]))
	}
	return got, s.err
}

// After a restart the store has what was missed, and how the deliveries ended that the
// listener saw under way.
func TestComingBackAfterARestart(t *testing.T) {
	before := stream.New(stream.Options{})
	l := listen(t, before, stream.Filter{}, "")
	before.Publish(sent(2, sessions.DeliverySent))
	before.Publish(sent(3, sessions.DeliverySending))
	_, cursor := next(t, l)

	s := &store{rows: []stream.Event{accepted(ann, 4)}, states: map[int64]sessions.DeliveryState{3: sessions.DeliveryUnknown}}
	h := stream.New(stream.Options{Source: s})
	l = listen(t, h, stream.Filter{}, cursor)
	h.Publish(accepted(ann, 5))
	got, cursor := next(t, l)
	want(t, got, "message_accepted m4", "delivery_changed d3 unknown", "message_accepted m5")
	if ago := time.Since(s.asked); ago < stream.Slack || ago > stream.Slack+time.Minute {
		t.Errorf("the store was asked for what came since %v ago, want the slack", ago)
	}

	// The delivery is still open, so the next process looks again.
	s.rows, s.states[3] = nil, sessions.DeliverySent
	got, cursor = next(t, listen(t, stream.New(stream.Options{Source: s}), stream.Filter{}, cursor))
	want(t, got, "delivery_changed d3 sent")
	nothing(t, listen(t, stream.New(stream.Options{Source: s}), stream.Filter{}, cursor))

	s.err = errors.New("the disk is gone")
	if _, err := stream.New(stream.Options{Source: s}).Listen(t.Context(), stream.Filter{}, cursor); !errors.Is(err, s.err) {
		t.Errorf("Listen with a failing store = %v", err)
	}
}

// meanwhile is a store during whose reading something is published.
type meanwhile struct {
	*store
	happens func()
}

func (m meanwhile) Since(ctx context.Context, t time.Time, limit int, see func(*stream.Event) bool) ([]stream.Event, bool, error) {
	m.happens()
	return m.store.Since(ctx, t, limit, see)
}

// What is published while the store is read, or right after, is heard once, and no state
// follows a later one.
func TestPublishedWhileTheStoreIsRead(t *testing.T) {
	before := stream.New(stream.Options{})
	first := listen(t, before, stream.Filter{}, "")
	before.Publish(sent(3, sessions.DeliveryQueued))
	before.Publish(sent(5, sessions.DeliveryQueued))
	_, cursor := next(t, first)

	s := &store{
		rows:   []stream.Event{accepted(ann, 4), accepted(ann, 6)},
		states: map[int64]sessions.DeliveryState{3: sessions.DeliverySent, 5: sessions.DeliverySent},
	}
	var h *stream.Hub
	h = stream.New(stream.Options{Source: meanwhile{s, func() {
		h.Publish(accepted(ann, 4))
		h.Publish(sent(3, sessions.DeliverySending))
		h.Publish(sent(3, sessions.DeliverySent))
		h.Publish(sent(5, sessions.DeliverySending))
	}}})
	l := listen(t, h, stream.Filter{}, cursor)
	h.Publish(accepted(ann, 6))
	h.Publish(sent(5, sessions.DeliverySent))
	retried := sent(5, sessions.DeliveryQueued)
	retried.Attempts = 1
	h.Publish(retried)
	got, _ := next(t, l)
	want(t, got,
		"message_accepted m6", "delivery_changed d5 sent",
		"message_accepted m4", "delivery_changed d3 sending", "delivery_changed d3 sent", "delivery_changed d5 queued")
	nothing(t, l)
}

func TestTooMuchWasMissed(t *testing.T) {
	h := stream.New(stream.Options{})
	l := listen(t, h, stream.Filter{}, "")
	h.Publish(accepted(ann, 1))
	_, first := next(t, l)
	for i := range int64(stream.MaxMissed) {
		h.Publish(accepted(ann, 2+i))
	}
	l = listen(t, h, stream.Filter{}, first)
	got, _ := nextOf(t, l, stream.MaxMissed)
	if last := fmt.Sprint("message_accepted m", 1+stream.MaxMissed); got[len(got)-1] != last {
		t.Errorf("the last event is %s, want %s", got[len(got)-1], last)
	}
	nothing(t, l)
	h.Publish(accepted(ann, 1000))
	l = listen(t, h, stream.Filter{}, first)
	h.Publish(accepted(ann, 1001))
	got, cursor := next(t, l)
	want(t, got, "reset", "message_accepted m1001")
	nothing(t, listen(t, h, stream.Filter{}, cursor))

	many := &store{}
	for i := range int64(stream.MaxMissed + 1) {
		many.rows = append(many.rows, accepted(ann, i))
	}
	got, cursor = next(t, listen(t, stream.New(stream.Options{Source: many}), stream.Filter{}, first))
	want(t, got, "reset")
	busy := stream.New(stream.Options{Source: &store{busy: true}})
	if got, _ := next(t, listen(t, busy, stream.Filter{}, first)); len(got) != 1 || got[0] != "reset" {
		t.Errorf("with too many rows to look at = %v", got)
	}
	if cursor == "" {
		t.Error("a reset has no cursor, so the listener would be told again")
	}
}

// A listener that does not read is cut off; it costs the others nothing and comes back.
func TestSlowListener(t *testing.T) {
	h := stream.New(stream.Options{})
	slow := listen(t, h, stream.Filter{}, "")
	h.Publish(accepted(ann, 1))
	_, cursor := next(t, slow)
	for i := range int64(600) {
		h.Publish(stream.Event{Event: stream.Text, Key: ann, Seq: i, Text: "word "})
	}
	h.Publish(accepted(ann, 2))
	if h.Watched(ann, stream.Text) {
		t.Error("texts are still made for a listener that was cut off")
	}
	if _, err := slow.Next(t.Context()); !errors.Is(err, stream.ErrSlow) {
		t.Errorf("Next = %v, want ErrSlow", err)
	}
	slow.Close()
	got, _ := next(t, listen(t, h, stream.Filter{}, cursor))
	want(t, got, "message_accepted m2")

	// One large event fits.
	l := listen(t, h, stream.Filter{}, "")
	h.Publish(stream.Event{Event: stream.Text, Key: ann, Text: strings.Repeat("x", 8<<20)})
	if got, _ := next(t, l); len(got) != 1 {
		t.Errorf("got %d events", len(got))
	}
	l.Close()
	if _, err := l.Next(t.Context()); !errors.Is(err, stream.ErrClosed) {
		t.Errorf("Next of a closed listener = %v", err)
	}
	if n := h.Listeners(); n > 3 {
		t.Errorf("%d listeners are left", n)
	}
}

// More open deliveries than a cursor lists: the listener must read all again.
func TestManyOpenDeliveries(t *testing.T) {
	before := stream.New(stream.Options{})
	l := listen(t, before, stream.Filter{}, "")
	for i := range int64(100) {
		before.Publish(sent(i+1, sessions.DeliveryQueued))
	}
	_, cursor := nextOf(t, l, 100)
	got, _ := next(t, listen(t, stream.New(stream.Options{Source: &store{}}), stream.Filter{}, cursor))
	want(t, got, "reset")
}

func FuzzCursor(f *testing.F) {
	h := stream.New(stream.Options{})
	l, _ := h.Listen(context.Background(), stream.Filter{}, "")
	h.Publish(sent(1, sessions.DeliveryQueued))
	got, _ := l.Next(context.Background())
	f.Add(got[0].Cursor)
	f.Add("")
	f.Add("eyJwIjoiIn0")
	f.Fuzz(func(t *testing.T, cursor string) {
		l, err := stream.New(stream.Options{Source: &store{}}).Listen(context.Background(), stream.Filter{}, cursor)
		if err != nil && !errors.Is(err, stream.ErrCursor) {
			t.Fatal(err)
		}
		if err == nil {
			l.Close()
		}
	})
}

// An event that nobody wants costs no allocation.
func TestPublishIsCheap(t *testing.T) {
	h := stream.New(stream.Options{})
	e := stream.Event{Event: stream.Text, Key: ann, Text: "word", At: time.Now()}
	free := func(what string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
	free("Publish without a listener", func() { h.Publish(e) })
	listen(t, h, stream.Filter{Names: []stream.Name{stream.TurnDone}}, "")
	free("Publish to listeners that do not want the event", func() { h.Publish(e) })
	free("Watched", func() { h.Watched(ann, stream.Text) })
	for range 3 {
		listen(t, h, stream.Filter{See: func(e *stream.Event) bool { return e.Key != ann }}, "")
	}
	if n := testing.AllocsPerRun(1000, func() { h.Publish(e) }); n > 1 {
		t.Errorf("Publish to three listeners that look at the event allocates %v times, want once", n)
	}
}

// A listener is given little at once: what it does not read costs it memory for as long as
// it does not read. Nothing is skipped for that, also not of what came after a long pause.
func TestNextReturnsLittleAtOnce(t *testing.T) {
	h := stream.New(stream.Options{})
	l := listen(t, h, stream.Filter{}, "")
	h.Publish(accepted(ann, 1))
	_, cursor := next(t, l)
	l.Close()
	const missed = stream.MaxMissed - 1
	for i := range int64(missed) {
		h.Publish(accepted(ann, i+2))
	}

	l = listen(t, h, stream.Filter{}, cursor)
	all, _ := next(t, l)
	if c := l.Cursor(); c != "" {
		t.Error("there is a cursor of now although most events are not given out")
	}
	const more = 500 // with what it missed more than may wait: it has begun to take them
	for i := range int64(more) {
		h.Publish(accepted(ann, i+2+missed))
	}
	for len(all) < missed+more {
		got, _ := next(t, l)
		if len(got) > 16 {
			t.Fatalf("Next returned %d events at once, want at most 16", len(got))
		}
		all = append(all, got...)
	}
	for i, e := range all {
		if want := fmt.Sprint("message_accepted m", i+2); e != want {
			t.Fatalf("event %d is %s, want %s", i, e, want)
		}
	}
	nothing(t, l)
	if l.Cursor() == "" {
		t.Error("there is no cursor although everything is given out")
	}

	piece := stream.Event{Event: stream.Text, Key: ann, Text: strings.Repeat("a", 20<<10)}
	long := stream.Event{Event: stream.Text, Key: ann, Text: strings.Repeat("b", 100<<10)}
	for range 4 {
		h.Publish(piece)
	}
	h.Publish(long)
	var counts []int
	for range 3 {
		got, _ := next(t, l)
		counts = append(counts, len(got))
	}
	if diff := cmp.Diff([]int{3, 1, 1}, counts); diff != "" {
		t.Errorf("long events at once (-want +got):\n%s", diff)
	}
}

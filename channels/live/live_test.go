package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/live"
	"dragoman/channels/live/livetest"
	"dragoman/internal/respond"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Network { return livetest.New(t, room) })
}

func TestNewRefuses(t *testing.T) {
	feed := (&livetest.Network{}).ReadFeed
	for name, o := range map[string]live.Options{
		"no feed":     {Name: "web", Room: live.PageRoom, Visitor: livetest.Alone},
		"no visitors": {Name: "web", Room: live.PageRoom, Feed: feed},
		"a bad name":  {Name: "Not A Name", Room: live.PageRoom, Feed: feed, Visitor: livetest.Alone},
		"a bad room":  {Name: "web", Room: "Not A Room", Feed: feed, Visitor: livetest.Alone},
	} {
		if _, err := live.New(o); err == nil {
			t.Errorf("New with %s = nil, want an error", name)
		}
	}
}

// house is a running hub with a store's feed.
type house struct {
	hub *live.Hub
	url string

	feed livetest.Feed

	mu     sync.Mutex
	broken error // of the feed
	refuse error // of Accept
	took   []channels.Inbound
}

var room = channels.MustKey("web:default")

func open(t *testing.T, change func(*live.Options)) *house {
	t.Helper()
	h := &house{}
	o := live.Options{Name: "web", Room: "default", Feed: h.readFeed, Visitor: livetest.Alone, Beat: 20 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	hub, err := live.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.hub = hub
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx, h) }()
	srv := httptest.NewServer(hub.Handler())
	h.url = srv.URL
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		srv.Client().CloseIdleConnections()
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	testkit.Eventually(t, "the hub to run", func() bool { return hub.Status().State == channels.StateConnected })
	return h
}

func (h *house) readFeed(ctx context.Context, k channels.Key, before int64, limit int) ([]live.Item, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	items, _ := h.feed.Read(ctx, k, before, limit)
	return items, h.broken
}

// Accept stores a message, once, as waiting.
func (h *house) Accept(_ context.Context, m channels.Inbound) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return h.refuse
	}
	it := live.Item{ID: m.ID, From: live.FromPerson, Text: m.Text, At: m.At, Waiting: true}
	for _, a := range m.Attachments {
		it.Files = append(it.Files, live.File{Name: a.Name, Type: a.Type, Bytes: a.Bytes, Ref: a.Ref})
	}
	h.took = append(h.took, m)
	h.feed.Put(it)
	return nil
}

func (h *house) Quarantine(context.Context, string, string, []byte, error) error { return nil }

// commit ends a turn: text answers everything that waits.
func (h *house) commit(id, text string) {
	h.feed.Answered()
	h.feed.Put(live.Item{ID: id, From: live.FromDragoman, Text: text})
}

func (h *house) send(t *testing.T, m channels.Outbound) {
	t.Helper()
	if m.Key.IsZero() {
		m.Key = room
	}
	if _, err := h.hub.Send(t.Context(), m); err != nil {
		t.Fatalf("Send(%s) = %v, want nil", m.ID, err)
	}
}

func (h *house) client() *live.Client { return &live.Client{URL: h.url} }

// eye is an attached viewer.
type eye struct {
	events chan live.Event
	ended  chan error
}

func (h *house) attach(t *testing.T, after int64) *eye {
	t.Helper()
	return attach(t, h.client(), after)
}

func attach(t *testing.T, c *live.Client, after int64) *eye {
	t.Helper()
	e := &eye{events: make(chan live.Event, 10_000), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.ended <- c.Events(ctx, after, func(ev live.Event) { e.events <- ev })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

// next returns the next event that is not a beat.
func (e *eye) next(t *testing.T) live.Event {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case ev := <-e.events:
			if ev.Kind != "beat" {
				return ev
			}
		case <-late:
			t.Fatal("no event came")
		}
	}
}

// say describes the event in a few words.
func say(e live.Event) string {
	switch e.Kind {
	case "hello":
		return fmt.Sprintf("hello %s %d %t", e.Hello.Room, e.Hello.Seq, e.Hello.Whole)
	case "message":
		return fmt.Sprintf("message %d %s %s %q %s", e.Item.Seq, e.Item.ID, e.Item.From, e.Item.Text, e.Item.Replaces)
	case "preview", "delta", "end":
		return fmt.Sprintf("%s %s %q %s", e.Kind, e.Preview.Turn, e.Preview.Text, e.Preview.Note)
	case "state":
		return fmt.Sprintf("state %t %v", e.State.Busy, e.State.Waiting)
	}
	return e.Kind
}

func (e *eye) expect(t *testing.T, want ...string) {
	t.Helper()
	for i, w := range want {
		if got := strings.TrimSpace(say(e.next(t))); got != w {
			t.Fatalf("event %d = %s, want %s", i, got, w)
		}
	}
}

func preview(t *testing.T, h *house, turn, text, note string) string {
	t.Helper()
	id, err := h.hub.Preview(t.Context(), channels.Preview{Key: room, Turn: turn, Text: text, Note: note})
	if err != nil {
		t.Fatalf("Preview = %v, want nil", err)
	}
	return id
}

func TestOneAnswer(t *testing.T) {
	h := open(t, nil)
	h.hub.SetCommands(channels.Menu{Operator: []channels.Command{{Name: "new", Help: "begin again"}}})
	e := h.attach(t, 0)
	first := e.next(t)
	if got := say(first); got != "hello default 0 true" {
		t.Fatalf("first event = %s", got)
	}
	if diff := cmp.Diff([]channels.Command{{Name: "new", Help: "begin again"}}, first.Hello.Commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	e.expect(t, "state false []")
	if err := h.client().Post(t.Context(), "question-1", "What is Go?"); err != nil {
		t.Fatal(err)
	}
	e.expect(t, `message 1 question-1 person "What is Go?"`, "state true [question-1]")
	if err := h.hub.Typing(t.Context(), room); err != nil {
		t.Fatal(err)
	}
	preview(t, h, "t1", "", "web_fetch …")
	preview(t, h, "t1", "A lang", "")
	id := preview(t, h, "t1", "A language", "")
	h.commit("out-1", "A language.")
	h.send(t, channels.Outbound{ID: "out-1", Text: "A language.", Edit: id})
	e.expect(t,
		`preview t1 "" web_fetch …`, `preview t1 "A lang"`, `delta t1 "uage"`,
		`message 2 out-1 dragoman "A language." t1`, "state false []")
	preview(t, h, "t1", "A language, late", "") // ignored: its answer is there
	preview(t, h, "t2", "next", "")
	e.expect(t, "state true []", `preview t2 "next"`)
}

// A viewer who attaches in the middle gets what it missed and the answer so far.
func TestAttachInTheMiddle(t *testing.T) {
	h := open(t, nil)
	h.commit("out-1", "one")
	h.commit("out-2", "two")
	if err := h.client().Post(t.Context(), "question-3", "three?"); err != nil {
		t.Fatal(err)
	}
	preview(t, h, "t", "so fa", "")
	preview(t, h, "t", "so far", "thinking")
	h.attach(t, 1).expect(t, "hello default 3 true",
		`message 2 out-2 dragoman "two"`, `message 3 question-3 person "three?"`,
		`preview t "so far" thinking`, "state true [question-3]")
	h.attach(t, -1).expect(t, "hello default 3 true", `preview t "so far" thinking`, "state true [question-3]")
	h.attach(t, 3).expect(t, "hello default 3 true", `preview t "so far" thinking`, "state true [question-3]")
}

func TestStoppedTurnTakesItsPreviewAway(t *testing.T) {
	h := open(t, nil)
	e := h.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []")
	if err := h.client().Post(t.Context(), "question-1", "Count!"); err != nil {
		t.Fatal(err)
	}
	preview(t, h, "t", "1 2 3", "")
	e.expect(t, `message 1 question-1 person "Count!"`, "state true [question-1]", `preview t "1 2 3"`)
	h.commit("out-1", "Stopped.")
	h.send(t, channels.Outbound{ID: "out-1", Text: "Stopped."})
	e.expect(t, `message 2 out-1 dragoman "Stopped."`, `end t ""`, "state false []")
	preview(t, h, "t", "1 2 3 4", "") // the turn's last gasp
	h.commit("out-2", "x")
	h.send(t, channels.Outbound{ID: "out-2", Text: "x"})
	e.expect(t, `message 3 out-2 dragoman "x"`)
}

// A turn can end without an answer. Viewers learn of it when the room is told.
func TestTurnEndsWithoutAnAnswer(t *testing.T) {
	h := open(t, nil)
	e := h.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []")
	if err := h.client().Post(t.Context(), "question-1", "Count!"); err != nil {
		t.Fatal(err)
	}
	preview(t, h, "t", "1 2 3", "")
	e.expect(t, `message 1 question-1 person "Count!"`, "state true [question-1]", `preview t "1 2 3"`)
	h.feed.Answered()
	h.hub.Changed(t.Context(), channels.MustKey("other:default"))
	h.hub.Changed(t.Context(), channels.MustKey("web:nobody-looks"))
	h.hub.Changed(t.Context(), room)
	e.expect(t, `end t ""`, "state false []")
}

// An answer that was published while it was still queued must still end its preview.
func TestAnswerSeenBeforeItIsSent(t *testing.T) {
	h := open(t, nil)
	e := h.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []")
	id := preview(t, h, "t", "half", "")
	e.expect(t, "state true []", `preview t "half"`)
	h.commit("out-1", "half and whole")
	if err := h.client().Post(t.Context(), "question-2", "next"); err != nil {
		t.Fatal(err)
	}
	e.expect(t, `message 1 out-1 dragoman "half and whole"`, `message 2 question-2 person "next"`, "state true [question-2]")
	h.send(t, channels.Outbound{ID: "out-1", Text: "half and whole", Edit: id})
	e.expect(t, `message 1 out-1 dragoman "half and whole" t`)
}

func TestMissedTooMuch(t *testing.T) {
	h := open(t, nil)
	for i := range 1000 {
		h.commit(fmt.Sprintf("out-%d", i), "x")
	}
	h.attach(t, 5).expect(t, "hello default 1000 false", "state false []")
	e := h.attach(t, 900)
	e.expect(t, "hello default 1000 true", `message 901 out-900 dragoman "x"`)
}

func TestFeedFailureSendsViewersBack(t *testing.T) {
	h := open(t, nil)
	e := h.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []")
	h.commit("out-1", "unseen")
	h.mu.Lock()
	h.broken = errors.New("disk full")
	h.mu.Unlock()
	h.send(t, channels.Outbound{ID: "out-1", Text: "unseen"})
	if err := <-e.ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Events = %v, want the end of the stream", err)
	}
	var refused *respond.Refusal
	if err := <-h.attach(t, 0).ended; !errors.As(err, &refused) || !refused.Temporary() {
		t.Errorf("Events while the feed is broken = %v, want a temporary refusal", err)
	}
	h.mu.Lock()
	h.broken = nil
	h.mu.Unlock()
	h.attach(t, 0).expect(t, "hello default 1 true", `message 1 out-1 dragoman "unseen"`, "state false []")
}

// A viewer that does not read is cut off; other viewers and senders are not delayed.
func TestSlowViewerIsCut(t *testing.T) {
	h := open(t, nil)
	resp, err := http.Get(h.url + "/events?after=0") // and never read
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	e := h.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []")
	big := strings.Repeat("x", 1<<20)
	begin := time.Now()
	for i := range 40 {
		id := fmt.Sprintf("out-%d", i)
		h.commit(id, big)
		h.send(t, channels.Outbound{ID: id, Text: big})
		if got := e.next(t); got.Item == nil || got.Item.ID != id {
			t.Fatalf("event = %.80s, want message %s", say(got), id)
		}
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("40 sends beside a viewer that does not read took %s", took)
	}
	n, _ := io.Copy(io.Discard, resp.Body)
	if n > 30<<20 {
		t.Errorf("the viewer that did not read was still sent %d bytes of 40 MiB", n)
	}
}

// One event always fits, however long: a viewer that is cut off by it would come back to it
// for ever.
func TestOneLongEventFits(t *testing.T) {
	for _, size := range []int{4<<20 - 1, 4 << 20, 5 << 20, 12 << 20} {
		h := open(t, nil)
		e := h.attach(t, 0)
		e.expect(t, "hello default 0 true", "state false []")
		long := strings.Repeat("x", size)
		h.commit("out-1", long)
		h.send(t, channels.Outbound{ID: "out-1", Text: long})
		if got := e.next(t); got.Item == nil || len(got.Item.Text) != len(long) {
			t.Fatalf("event = %.80s, want an answer of %d bytes", say(got), size)
		}
	}
}

func TestTooManyViewers(t *testing.T) {
	h := open(t, func(o *live.Options) { o.MaxViewers = 2 })
	h.attach(t, 0).expect(t, "hello default 0 true")
	second := h.attach(t, 0)
	second.expect(t, "hello default 0 true")
	var refused *respond.Refusal
	if err := <-h.attach(t, 0).ended; !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
		t.Errorf("a third viewer = %v, want 503", err)
	}
}

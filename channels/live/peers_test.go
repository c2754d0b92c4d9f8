package live_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/testkit"
)

// street is two nodes with one store.
type street struct {
	here, there *house
	words       atomic.Int64
	deaf        atomic.Bool // words are lost
}

func newStreet(t *testing.T, change ...func(*live.Options)) *street {
	t.Helper()
	s := &street{}
	tell := func(to **house) func(context.Context, []byte) error {
		return func(ctx context.Context, words []byte) error {
			s.words.Add(1)
			if s.deaf.Load() {
				return errors.New("nobody hears")
			}
			(*to).hub.ReceiveBroadcast(ctx, words)
			return nil
		}
	}
	s.here = open(t, func(o *live.Options) {
		o.Thoughts, o.Broadcast = true, tell(&s.there)
		for _, c := range change {
			c(o)
		}
	})
	s.there = open(t, func(o *live.Options) {
		o.Thoughts = true
		o.Broadcast = tell(&s.here)
		o.Feed = s.here.readFeed
		for _, c := range change {
			c(o)
		}
	})
	return s
}

// A page on one node sees what happens on another: a message, its answer being written, and
// the complete answer, once.
func TestAnswerOfAnotherNode(t *testing.T) {
	s := newStreet(t)
	e := s.here.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []")
	// What there accepts is in its own feed, and everybody reads that of here.
	s.here.feed.Put(live.Item{ID: "question-1", From: live.FromPerson, Text: "What is Go?", Waiting: true})
	if err := s.there.client().Post(t.Context(), "question-1", "What is Go?"); err != nil {
		t.Fatal(err)
	}
	e.expect(t, `message 1 question-1 person "What is Go?"`, "state true [question-1]")
	id := preview(t, s.there, "t1", "A lang", "")
	e.expect(t, `preview t1 "A lang"`)
	preview(t, s.there, "t1", "A langu", "")
	preview(t, s.there, "t1", "A language", "")
	got := ""
	for got != "uage" {
		ev := e.next(t)
		if ev.Kind != "delta" {
			t.Fatalf("event %s, want what the answer grew by", say(ev))
		}
		got += ev.Preview.Text
	}
	s.here.commit("out-1", "A language.")
	s.there.send(t, channels.Outbound{ID: "out-1", Text: "A language.", Edit: id})
	e.expect(t, `message 2 out-1 dragoman "A language." t1`, "state false []")
	preview(t, s.there, "t2", "next", "web_fetch …")
	e.expect(t, "state true []", `preview t2 "next" web_fetch …`)
	if err := s.there.hub.Retract(t.Context(), room, "preview-t2"); err != nil {
		t.Fatal(err)
	}
	e.expect(t, `end t2 ""`)
}

// A viewer who attaches in the middle gets the answer so far from another node, and its
// thoughts once.
func TestAttachInTheMiddleElsewhere(t *testing.T) {
	s := newStreet(t)
	for _, thought := range []string{"I ", "think"} {
		if _, err := s.there.hub.Preview(t.Context(), channels.Preview{Key: room, Turn: "t", Text: "so far", Thoughts: thought}); err != nil {
			t.Fatal(err)
		}
	}
	e := s.here.attach(t, 0)
	e.expect(t, "hello default 0 true", "state false []", "state true []")
	if ev := e.next(t); say(ev) != `preview t "so far" ` || ev.Preview.Thoughts != "I think" {
		t.Fatalf("event %s, thoughts %q", say(ev), ev.Preview.Thoughts)
	}
	got := thoughtsOf(t, s.here)
	if _, err := s.there.hub.Preview(t.Context(), channels.Preview{Key: room, Turn: "t", Text: "so far", Thoughts: ", therefore"}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "all thoughts", func() bool { return got() == "I think, therefore" })
	if ev := e.next(t); ev.Preview == nil || ev.Preview.Thoughts != ", therefore" {
		t.Errorf("event %s", say(ev))
	}
}

// The next broadcast makes up for a lost one: each viewer gets all of the text, and all
// thoughts once.
func TestLostWord(t *testing.T) {
	s := newStreet(t)
	e, thoughts := s.here.attach(t, 0), thoughtsOf(t, s.here)
	e.expect(t, "hello default 0 true", "state false []")
	think := func(text, thoughts string) {
		t.Helper()
		if _, err := s.there.hub.Preview(t.Context(), channels.Preview{Key: room, Turn: "t", Text: text, Thoughts: thoughts}); err != nil {
			t.Fatal(err)
		}
	}
	think("one", "I ")
	e.expect(t, "state true []", `preview t "one"`)
	s.deaf.Store(true)
	before := s.words.Load()
	think("one two", "think ")
	testkit.Eventually(t, "the word that is lost", func() bool { return s.words.Load() > before })
	s.deaf.Store(false)
	think("one two three", "twice")
	e.expect(t, `delta t " two three"`)
	testkit.Eventually(t, "all thoughts", func() bool { return thoughts() == "I think twice" })
}

// Nothing is broadcast about rooms that no one watches.
func TestNobodyWatchesElsewhere(t *testing.T) {
	s := newStreet(t)
	if err := s.there.client().Post(t.Context(), "question-1", "What is Go?"); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		preview(t, s.there, "t", strings.Repeat("x", i+1), "")
	}
	s.here.commit("out-1", "x")
	s.there.send(t, channels.Outbound{ID: "out-1", Text: "x", Edit: "preview-t"})
	if n := s.words.Load(); n != 0 {
		t.Errorf("%d words, want none", n)
	}
}

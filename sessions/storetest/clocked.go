package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// clock is a wall clock that the test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

// RunClocked tests what depends on the wall clock with one that jumps.
func RunClocked(t *testing.T, open func(t *testing.T, now func() time.Time) *engine.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *rig, *clock){
		"Clock/Case46JumpsBackWithoutReordering": jumpsBack,
		"Clock/Case47GenerationsOfADay":          generationsOfADay,
		"Clock/EqualsGoByTheirKeys":              equals,
		"Clock/AnUpdateIsNotTakenBack":           updatesStay,
		"Clock/AJoinHasTheLaterUpdate":           joinsUpdates,
		"Clock/UpdatesOfAClockThatWasNotSet":     undated,
		"Clock/AnAlbumIsGathered":                gathersAlbums,
		"Clock/ARestoreDatesMessages":            datesMessages,
		"Clock/NotesAndCountsAreSwept":           swept,
		"Clock/OutcomesAreSwept":                 sweptOutcomes,
		"Clock/FactsCanBeTakenBackForAMonth":     undoneForAMonth,
		"Clock/FactsAreUsedOnceADay":             usedOnceADay,
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{t: noon}
			test(t, newRig(t, open(t, c.now)), c)
		})
	}
}

func jumpsBack(t *testing.T, r *rig, c *clock) {
	r.accept(t, "x:1", "1", "first")
	h := r.claim(t)
	c.set(noon.Add(-24 * time.Hour))
	r.accept(t, "x:1", "2", "second")
	r.pending(t, h, 0, "first", "second")
	r.commit(t, h, "one")
	c.set(noon.Add(-48 * time.Hour))
	r.accept(t, "x:1", "3", "third")
	r.pending(t, h, 0, "third")
	r.commit(t, h, "two")
	same(t, "deliveries", r.deliver(t, h), []string{"one", "two"})
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: first", "user: second", "assistant: one", "user: third", "assistant: two"})
	_, texts := r.history(t, sessions.HistoryLimit{Messages: 2})
	same(t, "History", texts, []string{"third", "two"})
	feed, err := r.Feed(t.Context(), key("x:1"), 0, 10)
	must(t, err)
	var got []string
	for _, it := range feed {
		got = append(got, it.Text)
	}
	same(t, "Feed", got, []string{"first", "second", "one", "third", "two"})
}

// gathersAlbums: a turn waits for the rest of an album, but not for ever, and so does
// the next claim.
func gathersAlbums(t *testing.T, r *rig, c *clock) {
	part := func(at time.Duration, id, album string) {
		t.Helper()
		c.set(noon.Add(at))
		m := in("x:1", id, id)
		m.Album = album
		r.enter(t, sessions.Entry{Inbound: m, Quiet: time.Second, Most: 3 * time.Second}, sessions.Queued)
	}
	r.accept(t, "x:1", "before", "before")
	h := r.claim(t)
	part(0, "a1", "a")
	part(900*time.Millisecond, "a2", "a")
	c.set(noon.Add(1800 * time.Millisecond))
	r.pending(t, h, 0)
	if it := r.item(t, "in", "waiting"); it.Attempts != 0 {
		t.Errorf("the queue has %+v", it)
	}
	c.set(noon.Add(1900 * time.Millisecond))
	if p := r.pending(t, h, 0, "before", "a1", "a2"); p.Messages[1].Inbound.Album != "a" {
		t.Errorf("Pending forgot the album: %+v", p.Messages[1])
	}
	r.commit(t, h, "ok")
	for i := range 4 {
		r.pending(t, h, 0)
		part(10*time.Second+time.Duration(i)*900*time.Millisecond, fmt.Sprint("b", i), "b")
	}
	c.set(noon.Add(13 * time.Second))
	r.pending(t, h, 0, "b0", "b1", "b2", "b3")
}

func generationsOfADay(t *testing.T, r *rig, c *clock) {
	begin := func(k, id string) string {
		t.Helper()
		r.say(t, k, id, user("hi"))
		h, err := r.History(t.Context(), key(k), sessions.HistoryLimit{})
		must(t, err)
		return h.Generation
	}
	same(t, "first", begin("x:1", "1"), "20260601_001")
	same(t, "second", begin("x:2", "2"), "20260601_002")
	c.set(time.Date(2026, 6, 2, 1, 0, 0, 0, time.FixedZone("EEST", 3*3600))) // still the first in UTC
	same(t, "third", begin("x:3", "3"), "20260601_003")
	c.set(noon.Add(24 * time.Hour))
	same(t, "next day", begin("x:4", "4"), "20260602_001")
	c.set(noon)
	for i := range 997 {
		r.enter(t, control("x:1", number("new", i), sessions.ControlNew), sessions.Done)
	}
	same(t, "the thousandth and first", begin("x:5", "5"), "20260601_1001")
}

// equals: conversations updated in the same nanosecond are sorted by the text of
// their keys in every backend. A page continues after a conversation that was erased
// meanwhile, and expiry begins at the end of the list.
func equals(t *testing.T, r *rig, c *clock) {
	ctx := t.Context()
	r.say(t, "x:older", "older", user("hi"))
	c.set(noon.Add(time.Second))
	want := []string{"a-b:1", "a:1", "a:10", "a:2", "b:Z", "b:a", "b:é"} // bytes, not numbers or letters
	for i, n := range []int{4, 0, 6, 2, 5, 1, 3} {
		r.say(t, want[n], number("", i), user("hi"))
	}
	c.set(noon.Add(2 * time.Second))
	r.say(t, "x:newer", "newer", user("hi"))
	want = slices.Concat([]string{"x:newer"}, want, []string{"x:older"})
	list := func(q sessions.Query) (got []string, last sessions.Cursor) {
		t.Helper()
		page, err := r.Find(ctx, q)
		must(t, err)
		for _, c := range page {
			got, last = append(got, c.Key.String()), c.Position()
		}
		return got, last
	}
	all, _ := list(sessions.Query{Limit: 99})
	same(t, "Find", all, want)
	var paged []string
	for q := (sessions.Query{Limit: 2}); ; {
		page, last := list(q)
		if len(page) == 0 {
			break
		}
		paged, q.After = append(paged, page...), &last
		if _, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{last.Key}}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "Find in pages", paged, want)
	left, _ := list(sessions.Query{})
	for len(left) > 0 {
		gone, err := r.Expire(ctx, noon.Add(time.Hour), 2)
		must(t, err)
		var texts []string
		for _, k := range gone {
			texts = append(texts, k.String())
		}
		slices.Reverse(texts)
		if most := left[max(len(left)-2, 0):]; strings.Join(texts, " ") != strings.Join(most, " ") {
			t.Errorf("Expire took %q of %q", texts, left)
		}
		left = left[:max(len(left)-2, 0)]
	}
}

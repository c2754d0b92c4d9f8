package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// updated checks when k was last updated.
func (r *rig) updated(t *testing.T, k string, want time.Time) {
	t.Helper()
	c, err := r.Conversation(t.Context(), key(k))
	must(t, err)
	if !c.Updated.Equal(want) {
		t.Errorf("%s was updated %s, want %s", k, c.Updated, want)
	}
}

// updatesStay: a conversation that is used while the clock says 1970 does not become
// old.
func updatesStay(t *testing.T, r *rig, c *clock) {
	r.say(t, "x:1", "1", user("hi"))
	c.set(time.Unix(100, 0))
	r.say(t, "x:1", "2", user("hi"))
	r.updated(t, "x:1", noon)
	r.enter(t, control("x:1", "3", sessions.ControlNew), sessions.Done)
	r.updated(t, "x:1", noon)
	c.set(noon.Add(24 * time.Hour))
	gone, err := r.Expire(t.Context(), c.now().AddDate(0, 0, -30), 9)
	must(t, err)
	same(t, "Expire", gone, nil)
	r.say(t, "x:1", "4", user("hi"))
	r.updated(t, "x:1", c.now())
}

// joinsUpdates: joining an older conversation does not make the newer one old.
func joinsUpdates(t *testing.T, r *rig, c *clock) {
	later := noon.Add(time.Hour)
	for _, k := range []string{"x:old1", "x:old2", "x:new1", "x:new2"} {
		if k == "x:new1" {
			c.set(later)
		}
		r.say(t, k, k, user("hi"))
	}
	c.set(later.Add(time.Hour))
	must(t, r.Join(t.Context(), key("x:old1"), key("x:new1")))
	must(t, r.Join(t.Context(), key("x:new2"), key("x:old2")))
	r.updated(t, "x:new1", later)
	r.updated(t, "x:old2", later)
	c.set(time.Unix(-100, 0)) // before the time whose number is 0
	r.say(t, "x:a", "a", user("hi"))
	must(t, r.Join(t.Context(), key("x:a"), key("x:b")))
	r.updated(t, "x:b", c.now())
}

// undated: the age of a conversation that began before the clock was set is unknown.
// Its days count from the first Expire that meets it.
func undated(t *testing.T, r *rig, c *clock) {
	for k, at := range map[string]time.Time{
		"x:1969": time.Unix(-100, 0), "x:1970": time.Unix(0, 0), "x:1980": time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		c.set(at)
		r.say(t, k, k, user("hi"))
	}
	c.set(noon)
	r.say(t, "x:known", "known", user("hi"))
	expire := func(at time.Time, want ...channels.Key) {
		t.Helper()
		c.set(at)
		gone, err := r.Expire(t.Context(), at.AddDate(0, 0, -30), 9)
		must(t, err)
		slices.SortFunc(gone, func(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) })
		same(t, "Expire", gone, want)
	}
	first := noon.AddDate(0, 0, 60)
	expire(first, key("x:known"))
	for _, k := range []string{"x:1969", "x:1970", "x:1980"} {
		r.updated(t, k, first)
	}
	must(t, r.Rename(t.Context(), key("x:1980"), "t")) // a cached head says the same
	r.updated(t, "x:1980", first)
	expire(first.AddDate(0, 0, 30))
	expire(first.AddDate(0, 0, 31), key("x:1969"), key("x:1970"), key("x:1980"))
}

// datesMessages: a restored message without a time gets that of the store's clock.
func datesMessages(t *testing.T, r *rig, c *clock) {
	c.set(noon.Add(time.Hour))
	must(t, restore(t, r, feed([]string{`{"messages":{"key":"x:1","messages":[{"role":"user","content":"hi"}]}}`}, nil)))
	ms, err := r.Messages(t.Context(), key("x:1"), 0, 9)
	must(t, err)
	if len(ms) != 1 || !ms[0].At.Equal(c.now()) {
		t.Errorf("restored %+v, want the time %s", ms, c.now())
	}
}

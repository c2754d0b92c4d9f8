package story_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// follower listens to the events at the operator's socket, over the lives of daemons: it
// comes back with the id of the last event that it has handled.
type follower struct {
	mu    sync.Mutex
	last  string
	rows  map[string]string // what is durable, by event, key and seq -> its newest state
	reset bool
}

// follow listens until ctx ends.
func (f *follower) follow(ctx context.Context, d *daemon) {
	c := api.Dial(d.state + "/dragoman.sock")
	defer c.Close()
	for ctx.Err() == nil {
		f.mu.Lock()
		q := api.EventQuery{After: f.last}
		f.mu.Unlock()
		_ = c.Events(ctx, q, func(e api.Event, id string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if id == "" && e.Seq == 0 {
				return nil
			}
			if id != "" {
				f.last = id
			}
			f.reset = f.reset || e.Event == "reset"
			if e.Seq > 0 {
				f.rows[fmt.Sprint(e.Event, " ", e.Key, "/", e.Seq)] = e.State
			}
			return nil
		}) // a daemon that was killed ends it with an error
		time.Sleep(20 * time.Millisecond)
	}
}

// stored are the rows that the store has of a chat, as the follower names them.
func (d *daemon) stored(k channels.Key) (rows map[string]string) {
	d.t.Helper()
	rows = map[string]string{}
	page, err := api.ReadFeed.Call(d.t.Context(), d.admin, api.FeedPart{Key: k, Limit: 200})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, it := range page.Data {
		if it.From == "person" {
			rows[fmt.Sprint("message_accepted ", k, "/", it.Seq)] = ""
		} else {
			rows[fmt.Sprint("delivery_changed ", k, "/", it.Seq)] = string(it.State)
		}
	}
	return rows
}

// Nothing durable is missed over kills and a restart: a listener that comes back each time
// ends up with every message and every delivery, in its last state.
func TestEventsOverKills(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	f := &follower{rows: map[string]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { f.follow(ctx, d) })
	defer listening.Wait()
	defer cancel()
	k := channels.MustKey(fmt.Sprint("telegram:", ann.ID))
	n := 0
	for life := range 3 {
		for range 3 {
			n++
			h.tell(ann, fmt.Sprintf("number #%d", n))
			if n%3 == 0 {
				testkit.Eventually(t, "an answer", func() bool { return answered(h.api.FromBot(ann.ID), n) })
			}
		}
		if life == 2 {
			break
		}
		if life == 1 {
			d.end(syscall.SIGTERM)
		} else {
			_ = d.cmd.Process.Kill()
			<-d.ended
			d.over = true
		}
		d = h.start()
	}
	testkit.Eventually(t, "all answers", func() bool { return answered(h.api.FromBot(ann.ID), n) })
	testkit.Eventually(t, "every row to be told in its last state", func() bool {
		want := d.stored(k)
		f.mu.Lock()
		defer f.mu.Unlock()
		for row, state := range want {
			if got, told := f.rows[row]; !told || got != state {
				return false
			}
		}
		return len(want) > n
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reset {
		t.Error("the listener was told to read the conversations again, though it missed little")
	}
}

// answered reports whether the bot has answered the message with that mark.
func answered(texts []string, mark int) bool {
	for _, text := range finished(texts) {
		if strings.Contains(text+" ", fmt.Sprintf("#%d ", mark)) {
			return true
		}
	}
	return false
}

package crash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// ear listens to the events of a program's daemon, over its lives, and comes back with the
// id of the last event that it has handled.
type ear struct {
	p *program
	// cut: it hangs up after each event that has an id, as if it were killed there.
	cut bool

	mu    sync.Mutex
	last  string
	heard map[string][]int // durable events, and the connections on which each came
	conns int
	reset bool
}

func newEar(p *program) *ear { return &ear{p: p, heard: map[string][]int{}} }

// listen listens until ctx ends.
func (e *ear) listen(ctx context.Context) {
	for ctx.Err() == nil {
		e.connection(ctx)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// connection listens until the connection ends.
func (e *ear) connection(ctx context.Context) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.p.url+"/api/v1/events", nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	e.mu.Lock()
	e.conns++
	if e.last != "" {
		req.Header.Set("Last-Event-ID", e.last)
	}
	e.mu.Unlock()
	resp, err := e.p.http.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	id, data := "", ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			data = value
		case "":
			e.handle(id, data)
			if e.cut && id != "" && data != "" {
				return
			}
			id, data = "", ""
		}
	}
}

// handle handles an event, and then remembers its id.
func (e *ear) handle(id, data string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var v struct {
		Event, Key, State string
		Seq, Attempts     int
	}
	if json.Unmarshal([]byte(data), &v) == nil {
		e.reset = e.reset || v.Event == "reset"
		if v.Event == "message_accepted" || v.Event == "delivery_changed" {
			name := fmt.Sprint(v.Event, " ", v.Key, "/", v.Seq, " ", v.State, " ", v.Attempts)
			e.heard[name] = append(e.heard[name], e.conns)
		}
	}
	if id != "" {
		e.last = id
	}
}

// begun reports whether the stream has an id.
func (e *ear) begun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last != ""
}

// has reports whether an event that begins so was heard.
func (e *ear) has(begins string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name := range e.heard {
		if strings.HasPrefix(name, begins) {
			return true
		}
	}
	return false
}

// The daemon is killed at each step of a turn while somebody listens to its events, who
// comes back with the last id: at once, when all is over, or again after each event. They
// hear of every message and of every delivery to its end, and on one connection nothing twice.
func TestEventsKilled(t *testing.T) {
	t.Parallel()
	const room = "web:books"
	for _, step := range stepsOf(
		t,
		"accept.before@1", "accept.after@1", "journal.model.after@1", "journal.tool_start.after@1", "journal.tool_done.after@1", "commit.before@1", "commit.after@1",
		"sending.before@1", "sending.after@1", "sent.before@1", "sent.after@1",
	) {
		t.Run(step, func(t *testing.T) {
			p := newProgram(t)
			cmd := p.start(step)
			// One comes back at once, one is cut off after each event, and one comes back when
			// everything has happened.
			ears := []*ear{newEar(p), newEar(p), newEar(p)}
			ears[1].cut = true
			var listening sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			away, leave := context.WithCancel(t.Context())
			defer listening.Wait()
			defer stop()
			defer leave()
			for i, e := range ears {
				until := []context.Context{ctx, ctx, away}[i]
				listening.Go(func() { e.listen(until) })
				testkit.Eventually(t, "the stream to begin", e.begun)
			}
			_, _ = p.send(room, "once", false)
			untilDead(t, cmd, step)
			leave()
			cmd = p.start("")
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			for _, once := range []string{"once", "twice"} {
				if _, err := p.send(room, once, false); err != nil {
					t.Error(err)
				}
			}
			testkit.Eventually(t, "everything to be delivered", func() bool { return ears[0].has("delivery_changed web:books/4 sent ") })
			listening.Go(func() { ears[2].listen(ctx) })
			for i, e := range ears {
				for _, want := range []string{
					"message_accepted web:books/1 ", "delivery_changed web:books/2 sent ", "message_accepted web:books/3 ", "delivery_changed web:books/4 sent ",
				} {
					if !testkit.Poll(20*time.Second, func() bool { return e.has(want) }) {
						e.mu.Lock()
						t.Errorf("listener %d never hears %q, but %v", i, want, e.heard)
						e.mu.Unlock()
					}
				}
				e.mu.Lock()
				for name, conns := range e.heard {
					slices.Sort(conns)
					if len(slices.Compact(slices.Clone(conns))) != len(conns) {
						t.Errorf("%s came on the connections %v, twice on one", name, conns)
					}
				}
				if e.reset {
					t.Error("the listener was told to read the conversations again, though it missed little")
				}
				e.mu.Unlock()
			}
		})
	}
}

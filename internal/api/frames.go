package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"dragoman/internal/respond"
	"dragoman/internal/stream"
)

// retryAfter is how many milliseconds browsers wait before they come back.
const retryAfter = "2000"

// frames writes server-sent events.
type frames struct {
	w       http.ResponseWriter
	control *http.ResponseController
	out     bytes.Buffer
	broken  bool // the reader is gone, or read too slowly
}

// newFrames begins a stream.
func newFrames(w http.ResponseWriter) *frames {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	respond.Private(head)
	head.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	f := &frames{w: w, control: http.NewResponseController(w)}
	_ = f.control.SetReadDeadline(time.Time{}) // the server's time limit for requests must not end streams
	f.out.WriteString("retry: " + retryAfter + "\n\n")
	return f
}

// event adds an event. id is its cursor, or "".
func (f *frames) event(e *Event, id string) { f.add(e.Event, id, e) }

// record adds a record of the log.
func (f *frames) record(r LogRecord) { f.add("log", r.ID, r) }

// add adds an event of that name.
func (f *frames) add(name, id string, what any) {
	data, err := json.Marshal(what)
	if err != nil {
		panic("api: an event that is not JSON: " + err.Error()) // our own type
	}
	f.out.WriteString("event: " + name + "\n")
	if id != "" {
		f.out.WriteString("id: " + id + "\n")
	}
	f.out.WriteString("data: ")
	f.out.Write(data)
	f.out.WriteString("\n\n")
}

// hello adds the first event. at is where the stream begins; "": where the caller was.
func (f *frames) hello(now time.Time, at string) {
	f.event(eventOf(&stream.Event{Event: eventHello, At: now}), at)
}

// beat adds a comment. at is the id of now, or "": a block with an id and no event only
// moves the id, so that a caller who gets few events does not look for a long time.
func (f *frames) beat(at string) {
	f.out.WriteString(": beat\n")
	if at != "" {
		f.out.WriteString("id: " + at + "\n")
	}
	f.out.WriteString("\n")
}

// last ends the stream with an event that says why; "" is nothing.
func (f *frames) last(now time.Time, why string) {
	if why == "" {
		return
	}
	f.event(eventOf(&stream.Event{Event: eventEnded, At: now, Why: why}), "")
	f.flush()
}

// flush sends what was added. It reports false if nobody reads it.
func (f *frames) flush() bool {
	if f.broken {
		return false
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(frameWithin))
	_, err := f.w.Write(f.out.Bytes())
	if err == nil {
		err = f.control.Flush()
	}
	f.broken = err != nil && !errors.Is(err, http.ErrNotSupported) // in this process there is nothing to flush
	f.out.Reset()
	if f.out.Cap() > maxFrames {
		f.out = bytes.Buffer{} // one long answer does not cost memory for ever
	}
	return !f.broken
}

// maxFrames is the greatest buffer that a stream keeps, in bytes.
const maxFrames = 64 << 10

// Events calls show for each event until the stream ends, with the id of events that have
// one. It returns the error of show, nil at the end of ctx, and else why it ended.
func (c *Client) Events(ctx context.Context, q EventQuery, show func(e Event, id string) error) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.send(asking, streamEvents.Spec, q)
	if err != nil {
		return err
	}
	defer func() {
		cancel() // a stream in this process ends by that
		_ = resp.Body.Close()
	}()
	lines := bufio.NewReader(resp.Body)
	id, data := "", ""
	for {
		line, err := lines.ReadString('\n')
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return callError(ctx, streamEvents.Spec, err)
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch {
		case name == "id":
			id = value
		case name == "data":
			data = value
		case line == "\n" && data != "":
			var e Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return fmt.Errorf("api: understand an event: %w", err)
			}
			if err := show(e, id); err != nil {
				return err
			}
			id, data = "", ""
		}
	}
}

package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// copyLine is one line of a copy in transit: a record, or the end. A copy
// without its end was cut off and is discarded.
type copyLine struct {
	sessions.Record
	// Done is the number of records before it, in the last line.
	Done *int `json:"done,omitempty"`
	// Failure is why the copy ends early, in the last line.
	Failure *failure `json:"failure,omitempty"`
}

// errCut: a copy ended without its last line.
var errCut = errors.New("the copy was cut off")

// Keys are conversations. None means everything.
type Keys struct {
	Key []channels.Key `json:"key,omitempty"`
}

// dump writes records. Whoever may not read one of the conversations gets none.
func (s *server) dump(w http.ResponseWriter, r *http.Request, of Keys) error {
	if len(of.Key) == 0 {
		if !AtSocket(r.Context()) {
			return refuse("key", "name the conversations by their keys: everything can only be copied on the machine itself, with the dragoman command")
		}
		if err := s.Audit.ReadAll(caller(r.Context()).Name); err != nil {
			return err
		}
	}
	for _, k := range of.Key {
		if err := s.readAll(r.Context(), k); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	respond.Private(w.Header())
	out := newCopyWriter(w)
	out.finish(s.Store.Dump(r.Context(), of.Key, out.put))
	return nil
}

// Restored is how much was stored.
type Restored struct {
	Conversations int `json:"conversations"` // each with all that belongs to it
	// Others counts records that belong to no conversation and were not in the store.
	Others int `json:"others"`
}

// restore stores the records of the body, all or none.
func (s *server) restore(w http.ResponseWriter, r *http.Request, _ None) error {
	// A large copy takes longer than bodyWithin; the sender decides how long.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	in := copyReader{dec: json.NewDecoder(bufio.NewReader(r.Body))}
	restored, err := s.Store.Restore(r.Context(), in.next)
	if errors.Is(err, errCut) {
		return refuse("", "%s", plain.Text(err))
	}
	if err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, Restored(restored))
	return nil
}

// copyWriter writes the lines of a dump, and counts them for the last line.
type copyWriter struct {
	enc   *json.Encoder
	out   *bufio.Writer
	count int
}

func newCopyWriter(w io.Writer) *copyWriter {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return &copyWriter{enc: enc, out: out}
}

func (c *copyWriter) put(r sessions.Record) error {
	c.count++
	return c.enc.Encode(copyLine{Record: r})
}

// finish writes the last line. If it fails, the reader notices that the line is
// missing.
func (c *copyWriter) finish(err error) {
	end := copyLine{Done: &c.count}
	if err != nil {
		end = copyLine{Failure: failureOf(err)}
	}
	_ = c.enc.Encode(end)
	_ = c.out.Flush()
}

// copyReader reads the lines of a dump. Without the last line the dump was cut
// off.
type copyReader struct {
	dec   *json.Decoder
	count int
}

func (c *copyReader) next() (sessions.Record, error) {
	var line copyLine
	if err := c.dec.Decode(&line); err != nil {
		if err == io.EOF {
			err = errCut
		}
		return sessions.Record{}, fmt.Errorf("api: read record %d: %w", c.count+1, err)
	}
	switch {
	case line.Failure != nil:
		return sessions.Record{}, line.Failure.refusal()
	case line.Done == nil:
		c.count++
		return line.Record, nil
	case *line.Done != c.count:
		return sessions.Record{}, fmt.Errorf("api: read record %d: %w", c.count+1, errCut)
	}
	return sessions.Record{}, io.EOF
}

// Dump is the Dump of engine.Store.
func (c *Client) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	resp, err := c.send(ctx, dump.Spec, Keys{keys})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := copyReader{dec: json.NewDecoder(bufio.NewReader(resp.Body))}
	for {
		rec, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := emit(rec); err != nil {
			return err
		}
	}
}

// Restore is the Restore of engine.Store.
func (c *Client) Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error) {
	from, to := io.Pipe()
	var sender sync.WaitGroup
	var failed error // of next; the daemon only reports a failure of the copy
	sender.Go(func() {
		out := newCopyWriter(to)
		var err error
		for err == nil {
			var rec sessions.Record
			if rec, err = next(); err == nil {
				err = out.put(rec)
			}
		}
		if err == io.EOF {
			err = nil
		} else if !errors.Is(err, io.ErrClosedPipe) {
			failed = err
		}
		out.finish(err)
		_ = to.Close()
	})
	var restored sessions.Restored
	resp, err := c.do(ctx, restore.Spec, Root+restore.Path, from)
	if err == nil {
		err = receive(ctx, resp, restore.Spec, &restored)
	}
	_ = from.Close() // in case the daemon did not read it all
	sender.Wait()
	if failed != nil {
		err = failed
	}
	return restored, err
}

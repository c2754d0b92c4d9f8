package live

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/respond"
)

const (
	// maxSilence is how long a stream may send nothing, not even a beat.
	maxSilence = 50 * time.Second
	// maxLine bounds one line of a stream: one message, encoded.
	maxLine = 16 << 20
	// callTimeout bounds every call but Events.
	callTimeout = 30 * time.Second
)

// Event is one event of a stream. Kind says which field is set: Hello ("hello"), Item
// ("message"), Preview ("preview", "delta", "end"), Tool ("tool"), State ("state"), or none
// ("beat", and kinds that a newer server may send).
type Event struct {
	Kind    string
	Hello   *Hello
	Item    *Item
	Preview *Preview
	Tool    *Tool
	State   *State
}

// Client talks to [Hub.Handler]. Its methods are safe for concurrent use.
type Client struct {
	// HTTP must not have a Timeout, which would end streams. nil: http.DefaultClient.
	HTTP *http.Client
	// URL is where the Handler is mounted, without a slash at the end.
	URL string
	// Room is the room to use; "" is the server's default.
	Room string
	// Header is added to every request.
	Header http.Header
}

// Post sends a message and returns nil once it is durable. After any error but a
// *respond.Refusal that is not temporary, it is safe to post the same id and text again.
func (c *Client) Post(ctx context.Context, id, text string) error {
	return c.call(ctx, http.MethodPost, "/messages", nil, posted{ID: id, Text: text}, nil)
}

// Feed reads at most limit items of the history, oldest first: those before the
// item numbered before, or the newest if before is 0.
func (c *Client) Feed(ctx context.Context, before int64, limit int) ([]Item, error) {
	var page struct {
		Items []Item `json:"items"`
	}
	q := url.Values{"before": {strconv.FormatInt(before, 10)}, "limit": {strconv.Itoa(limit)}}
	err := c.call(ctx, http.MethodGet, "/feed", q, nil, &page)
	return page.Items, err
}

// Events attaches to the room and calls on for every event until ctx ends or the
// connection breaks; both are errors. after is the Seq of the newest item that the
// caller has; -1 asks for new items only.
func (c *Client) Events(ctx context.Context, after int64, on func(Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(maxSilence, func() { cancel(errors.New("live: the stream fell silent")) })
	defer quiet.Stop()
	q := url.Values{}
	if after >= 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	resp, err := c.do(ctx, http.MethodGet, "/events", q, nil)
	if err != nil {
		return fmt.Errorf("live: attach: %w", err)
	}
	defer resp.Body.Close()
	err = readEvents(resp.Body, func(e Event) {
		quiet.Reset(maxSilence)
		on(e)
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *Client) call(ctx context.Context, method, path string, q url.Values, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.do(ctx, method, path, q, body)
	if err != nil {
		return fmt.Errorf("live: %s: %w", path, err)
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("live: %s: unexpected answer: %w", path, err)
	}
	return nil
}

// do makes one request. A status other than 200 becomes a *respond.Refusal.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, body any) (*http.Response, error) {
	if q == nil {
		q = url.Values{}
	}
	if c.Room != "" {
		q.Set("room", c.Room)
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path+"?"+q.Encode(), content)
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, respond.ReadRefusal(resp)
}

// readEvents parses server-sent events. It returns io.ErrUnexpectedEOF at the end of
// the stream, because the server never ends one normally.
func readEvents(r io.Reader, on func(Event)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	kind, data := "", []byte(nil)
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && kind != "":
			e, err := decode(kind, data)
			if err != nil {
				return err
			}
			on(e)
			kind, data = "", nil
		case name == "event":
			kind = value
		case name == "data":
			data = append(data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("live: read events: %w", err)
	}
	return io.ErrUnexpectedEOF
}

// fields names the field of Event that holds the data of each kind.
var fields = map[string]string{"hello": "Hello", "message": "Item", "preview": "Preview", "delta": "Preview", "end": "Preview", "tool": "Tool", "state": "State"}

func decode(kind string, data []byte) (Event, error) {
	e := Event{Kind: kind}
	if field := fields[kind]; field != "" {
		if err := json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, field, data), &e); err != nil {
			return e, fmt.Errorf("live: read events: unexpected %q: %w", kind, err)
		}
	}
	return e, nil
}

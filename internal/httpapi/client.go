package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Client speaks to an [Admin] handler. It is safe for concurrent use.
type Client struct {
	http *http.Client
	// copies is http without the limit on the time of a call: whole stores
	// travel through it.
	copies *http.Client
}

func newClient(t http.RoundTripper) *Client {
	return &Client{&http.Client{Timeout: callWithin, Transport: t}, &http.Client{Transport: t}}
}

// callWithin bounds one call; a full page of long messages fits into it.
const callWithin = time.Minute

// maxAnswer bounds what is read back: a page of 1000 messages of 256 KiB.
const maxAnswer = 512 << 20

// Dial makes a client for the daemon that listens on the socket at path. It
// does not connect yet; Status tells whether somebody answers.
func Dial(path string) *Client {
	return newClient(SocketTransport(path))
}

// SocketTransport sends every request to the socket at path, whatever host it
// names.
func SocketTransport(path string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			short, release, err := shortPath(path)
			if err != nil {
				return nil, err
			}
			defer release()
			var d net.Dialer
			return d.DialContext(ctx, "unix", short)
		},
		DisableCompression: true, IdleConnTimeout: time.Minute,
	}
}

// Close ends the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks how everything is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return fetch[Status](ctx, c, "/v1/status", nil)
}

// Rename gives a conversation a title.
func (c *Client) Rename(ctx context.Context, k channels.Key, title string) error {
	return c.post(ctx, "/v1/sessions/rename", map[string]string{"key": k.String(), "title": title}, &done{})
}

// Delete removes a conversation's transcript.
func (c *Client) Delete(ctx context.Context, k channels.Key) error {
	return c.post(ctx, "/v1/sessions/delete", map[string]string{"key": k.String()}, &done{})
}

// Queue lists what is not done.
func (c *Client) Queue(ctx context.Context, limit int) ([]sessions.QueueItem, error) {
	return fetch[[]sessions.QueueItem](ctx, c, "/v1/queue", url.Values{"limit": {strconv.Itoa(limit)}})
}

// QueueItem shows one item with its text.
func (c *Client) QueueItem(ctx context.Context, id string) (sessions.QueueItem, error) {
	return fetch[sessions.QueueItem](ctx, c, "/v1/queue/item", url.Values{"id": {id}})
}

// RetryQueue makes an item due now.
func (c *Client) RetryQueue(ctx context.Context, id string) error {
	return c.post(ctx, "/v1/queue/retry", map[string]string{"id": id}, &done{})
}

// DropQueue gives an item up.
func (c *Client) DropQueue(ctx context.Context, id string) error {
	return c.post(ctx, "/v1/queue/drop", map[string]string{"id": id}, &done{})
}

// Jobs lists the configured jobs.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	return fetch[[]Job](ctx, c, "/v1/jobs", nil)
}

// Occurrences lists what became of due times, newest first.
func (c *Client) Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error) {
	return fetch[[]sessions.Occurrence](ctx, c, "/v1/jobs/log", url.Values{"job": {job}, "limit": {strconv.Itoa(limit)}})
}

// RunJob fires a job now.
func (c *Client) RunJob(ctx context.Context, name string) error {
	return c.post(ctx, "/v1/jobs/run", map[string]string{"name": name}, &done{})
}

// Pairings lists who was let in and who asks to be.
func (c *Client) Pairings(ctx context.Context) ([]sessions.Pairing, error) {
	return fetch[[]sessions.Pairing](ctx, c, "/v1/pairings", nil)
}

// ApprovePairing lets in the person with this code.
func (c *Client) ApprovePairing(ctx context.Context, code string) (sessions.Pairing, error) {
	var p sessions.Pairing
	err := c.post(ctx, "/v1/pairings/add", map[string]string{"code": code}, &p)
	return p, err
}

// Unpair withdraws an approval.
func (c *Client) Unpair(ctx context.Context, channel, personID string) error {
	return c.post(ctx, "/v1/pairings/remove", map[string]string{"name": channel, "person": personID}, &done{})
}

func fetch[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	var got T
	err := c.call(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &got)
	return got, err
}

func (c *Client) post(ctx context.Context, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("httpapi: encode the request: %w", err)
	}
	return c.call(ctx, http.MethodPost, path, bytes.NewReader(data), into)
}

func (c *Client) call(ctx context.Context, method, path string, body io.Reader, into any) error {
	resp, err := do(ctx, c.http, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return asked(ctx, method, path, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("httpapi: understand the daemon's answer: %w", err)
	}
	return nil
}

// do returns an answer whose body the caller closes, or why there is none.
func do(ctx context.Context, c *http.Client, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://dragoman"+path, body)
	if err != nil {
		return nil, fmt.Errorf("httpapi: ask the daemon: %w", err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, asked(ctx, method, path, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, readFailure(resp)
}

package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Client calls an [Admin] handler. It is safe for concurrent use.
type Client struct {
	http *http.Client
	// copies is http without a time limit, for whole stores.
	copies *http.Client
}

func newClient(t http.RoundTripper) *Client {
	return &Client{&http.Client{Timeout: callWithin, Transport: t}, &http.Client{Transport: t}}
}

// callWithin bounds one call. It is enough for a full page of long messages.
const callWithin = time.Minute

// maxAnswer bounds an answer: a page of 1000 messages of 256 KiB.
const maxAnswer = 512 << 20

// Dial makes a client for the daemon that listens on the socket at path. It
// does not connect yet; Status tells whether a daemon answers.
func Dial(path string) *Client {
	return newClient(SocketTransport(path))
}

// SocketTransport sends every request to the socket at path, whatever host its
// URL names.
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

// Status returns the state of the daemon and its queues.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return fetch[Status](ctx, c, "/v1/status", done{})
}

// Rename gives a conversation a title.
func (c *Client) Rename(ctx context.Context, k channels.Key, title string) error {
	return c.tell(ctx, "/v1/sessions/rename", renameRequest{k, title})
}

// Delete removes a conversation's transcript.
func (c *Client) Delete(ctx context.Context, k channels.Key) error {
	return c.tell(ctx, "/v1/sessions/delete", k)
}

// Queue lists the items of inbox, outbox and quarantine that are not done.
func (c *Client) Queue(ctx context.Context, limit int) ([]sessions.QueueItem, error) {
	return fetch[[]sessions.QueueItem](ctx, c, "/v1/queue", listRequest{limit})
}

// QueueItem shows one item with its text.
func (c *Client) QueueItem(ctx context.Context, id string) (sessions.QueueItem, error) {
	return fetch[sessions.QueueItem](ctx, c, "/v1/queue/item", id)
}

// RetryQueue makes an item due now.
func (c *Client) RetryQueue(ctx context.Context, id string) error {
	return c.tell(ctx, "/v1/queue/retry", id)
}

// DropQueue gives an item up.
func (c *Client) DropQueue(ctx context.Context, id string) error {
	return c.tell(ctx, "/v1/queue/drop", id)
}

// Jobs lists the configured jobs.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	return fetch[[]Job](ctx, c, "/v1/jobs", done{})
}

// Occurrences lists the outcomes of due times, newest first.
func (c *Client) Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error) {
	return fetch[[]sessions.Occurrence](ctx, c, "/v1/jobs/log", occurrencesRequest{job, listRequest{limit}})
}

// RunJob fires a job now.
func (c *Client) RunJob(ctx context.Context, name string) error {
	return c.tell(ctx, "/v1/jobs/run", name)
}

// Pairings lists the people who were let in and those who ask.
func (c *Client) Pairings(ctx context.Context) ([]sessions.Pairing, error) {
	return fetch[[]sessions.Pairing](ctx, c, "/v1/pairings", done{})
}

// ApprovePairing lets in the person with this code.
func (c *Client) ApprovePairing(ctx context.Context, code string) (sessions.Pairing, error) {
	return post[sessions.Pairing](ctx, c, "/v1/pairings/add", code)
}

// Unpair withdraws an approval.
func (c *Client) Unpair(ctx context.Context, channel, personID string) error {
	return c.tell(ctx, "/v1/pairings/remove", unpairRequest{channel, personID})
}

// fetch makes a call that changes nothing.
func fetch[T any](ctx context.Context, c *Client, path string, args any) (T, error) {
	return ask[T](ctx, c, http.MethodGet, path, args)
}

// post makes a call that changes something and has a result.
func post[T any](ctx context.Context, c *Client, path string, args any) (T, error) {
	return ask[T](ctx, c, http.MethodPost, path, args)
}

// tell makes a call that changes something and has no result.
func (c *Client) tell(ctx context.Context, path string, args any) error {
	_, err := post[done](ctx, c, path, args)
	return err
}

func ask[T any](ctx context.Context, c *Client, method, path string, args any) (got T, err error) {
	resp, err := send(ctx, c.http, method, path, args)
	if err == nil {
		err = receive(ctx, resp, &got)
	}
	return got, err
}

func receive(ctx context.Context, resp *http.Response, into any) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return callError(ctx, resp.Request.Method, resp.Request.URL.Path, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("httpapi: understand the daemon's answer: %w", err)
	}
	return nil
}

func send(ctx context.Context, c *http.Client, method, path string, args any) (*http.Response, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("httpapi: encode the request: %w", err)
	}
	return do(ctx, c, method, path, bytes.NewReader(body))
}

// do returns a successful response, whose body the caller closes.
func do(ctx context.Context, c *http.Client, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://dragoman"+path, body)
	if err != nil {
		return nil, fmt.Errorf("httpapi: ask the daemon: %w", err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, callError(ctx, method, path, err)
	}
	if resp.Header.Get(formHeader) != wireForm && !anyForm[path] {
		defer resp.Body.Close()
		return nil, errForm
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, readFailure(resp)
}

// wireForm is the version of the JSON in requests and answers. A daemon names
// it in each answer: one of another version may have understood something else.
const (
	formHeader = "Dragoman-Form"
	wireForm   = "2"
)

// anyForm are the paths whose JSON all versions share.
var anyForm = map[string]bool{"/v1/status": true, dumpPath: true, restorePath: true}

var errForm = &RemoteError{Sentence: "the running daemon has another version and may have misunderstood the command; restart it, then run the command again"}

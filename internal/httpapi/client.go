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
	return fetch[Status](ctx, c, "/v1/status", done{})
}

// Rename gives a conversation a title.
func (c *Client) Rename(ctx context.Context, k channels.Key, title string) error {
	return c.tell(ctx, "/v1/sessions/rename", renaming{k, title})
}

// Delete removes a conversation's transcript.
func (c *Client) Delete(ctx context.Context, k channels.Key) error {
	return c.tell(ctx, "/v1/sessions/delete", k)
}

// Queue lists what is not done.
func (c *Client) Queue(ctx context.Context, limit int) ([]sessions.QueueItem, error) {
	return fetch[[]sessions.QueueItem](ctx, c, "/v1/queue", some{limit})
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

// Occurrences lists what became of due times, newest first.
func (c *Client) Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error) {
	return fetch[[]sessions.Occurrence](ctx, c, "/v1/jobs/log", past{job, some{limit}})
}

// RunJob fires a job now.
func (c *Client) RunJob(ctx context.Context, name string) error {
	return c.tell(ctx, "/v1/jobs/run", name)
}

// Pairings lists who was let in and who asks to be.
func (c *Client) Pairings(ctx context.Context) ([]sessions.Pairing, error) {
	return fetch[[]sessions.Pairing](ctx, c, "/v1/pairings", done{})
}

// ApprovePairing lets in the person with this code.
func (c *Client) ApprovePairing(ctx context.Context, code string) (sessions.Pairing, error) {
	return post[sessions.Pairing](ctx, c, "/v1/pairings/add", code)
}

// Unpair withdraws an approval.
func (c *Client) Unpair(ctx context.Context, channel, personID string) error {
	return c.tell(ctx, "/v1/pairings/remove", paired{channel, personID})
}

// fetch asks for something, and changes nothing.
func fetch[T any](ctx context.Context, c *Client, path string, asked any) (T, error) {
	return ask[T](ctx, c, http.MethodGet, path, asked)
}

// post changes something that has an answer.
func post[T any](ctx context.Context, c *Client, path string, asked any) (T, error) {
	return ask[T](ctx, c, http.MethodPost, path, asked)
}

// tell changes something that has none.
func (c *Client) tell(ctx context.Context, path string, asked any) error {
	_, err := post[done](ctx, c, path, asked)
	return err
}

func ask[T any](ctx context.Context, c *Client, method, path string, asked any) (got T, err error) {
	resp, err := send(ctx, c.http, method, path, asked)
	if err == nil {
		err = receive(ctx, resp, &got)
	}
	return got, err
}

// receive reads an answer.
func receive(ctx context.Context, resp *http.Response, into any) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return asked(ctx, resp.Request.Method, resp.Request.URL.Path, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("httpapi: understand the daemon's answer: %w", err)
	}
	return nil
}

// send is do with a question.
func send(ctx context.Context, c *http.Client, method, path string, asked any) (*http.Response, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("httpapi: encode the request: %w", err)
	}
	return do(ctx, c, method, path, bytes.NewReader(body))
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
	if resp.Header.Get(formHeader) != form && !anyForm[path] {
		defer resp.Body.Close()
		return nil, errForm
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, readFailure(resp)
}

// form is how questions and answers are written. A daemon names it with each
// answer: one of another version may have understood something else.
const (
	formHeader = "Dragoman-Form"
	form       = "2"
)

// anyForm are the paths that are the same in all of them.
var anyForm = map[string]bool{"/v1/status": true, dumpPath: true, restorePath: true}

var errForm = &RemoteError{Sentence: "the daemon that runs is of another version and may have understood something else; restart it, then run the command again"}

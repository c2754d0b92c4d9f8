package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"dragoman/internal/web"
)

// Client calls an [Admin] handler. It is safe for concurrent use.
type Client struct{ transport http.RoundTripper }

// maxAnswer bounds an answer: a page of 1000 messages of 256 KiB.
const maxAnswer = 512 << 20

// Dial makes a client for the daemon that listens on the socket at path. It
// does not connect yet; [ReadStatus] tells whether a daemon answers.
func Dial(path string) *Client {
	return &Client{web.SocketTransport(path)}
}

// Close ends the connections.
func (c *Client) Close() { (&http.Client{Transport: c.transport}).CloseIdleConnections() }

func receive(ctx context.Context, resp *http.Response, into any) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return callError(ctx, resp.Request.Method, resp.Request.URL.Path, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("api: understand the daemon's answer: %w", err)
	}
	return nil
}

// send makes a call that takes at most within; 0: as long as ctx.
func (c *Client) send(ctx context.Context, within time.Duration, method, path string, args any) (*http.Response, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("api: encode the request: %w", err)
	}
	return c.do(ctx, within, method, path, bytes.NewReader(body))
}

// do returns a successful response, whose body the caller closes.
func (c *Client) do(ctx context.Context, within time.Duration, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://dragoman"+path, body)
	if err != nil {
		return nil, fmt.Errorf("api: ask the daemon: %w", err)
	}
	resp, err := (&http.Client{Transport: c.transport, Timeout: within}).Do(req)
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

var errForm = &Refusal{Sentence: "the running daemon has another version and may have misunderstood the command; restart it, then run the command again"}

// InProcess makes a client for a handler in this process, so that a verb does the
// same with and without a daemon. The client reads an answer while the handler
// writes it. The handler's goroutine has ended when the answer's body is closed.
func InProcess(h http.Handler) *Client {
	return &Client{roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body == nil {
			r.Body = http.NoBody
		}
		from, to := io.Pipe()
		w := &recorder{header: http.Header{}, code: http.StatusOK, body: to, begun: make(chan struct{})}
		var handler sync.WaitGroup
		handler.Go(func() {
			h.ServeHTTP(w, r)
			w.WriteHeader(http.StatusOK) // if nothing was written
			_ = to.Close()
		})
		<-w.begun
		return &http.Response{
			StatusCode: w.code, Status: http.StatusText(w.code), Header: w.sent, Body: &answer{from, &handler}, Request: r,
		}, nil
	})}
}

// recorder passes an answer on. Status and header are fixed at the first write.
type recorder struct {
	header, sent http.Header
	code         int
	body         *io.PipeWriter
	once         sync.Once
	begun        chan struct{}
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.begun)
	})
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// answer is a body that waits for the handler when it is closed.
type answer struct {
	*io.PipeReader
	handler *sync.WaitGroup
}

func (a *answer) Close() error {
	err := a.PipeReader.Close() // the handler's next write fails
	a.handler.Wait()
	return err
}

// roundTrip makes a function an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

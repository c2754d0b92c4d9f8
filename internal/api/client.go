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

	"dragoman/channels"
	"dragoman/internal/web"
)

// Client calls the verbs of a handler of [New]. It is safe for concurrent use.
type Client struct {
	transport http.RoundTripper
	via       channels.Via // "": through nothing else
}

const (
	// maxAnswer bounds an answer: a page of 1000 messages of 256 KiB.
	maxAnswer = 512 << 20
	// answerWithin is how long a client waits beyond the time of a verb.
	answerWithin = 10 * time.Second
)

// Dial makes a client for the daemon that listens on the socket at path. It
// does not connect yet; [ReadStatus] tells whether a daemon answers.
func Dial(path string) *Client {
	return &Client{transport: web.SocketTransport(path)}
}

// Close ends the connections.
func (c *Client) Close() { (&http.Client{Transport: c.transport}).CloseIdleConnections() }

// receive reads an answer.
func receive(ctx context.Context, resp *http.Response, v Spec, into any) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return callError(ctx, v, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("api: understand the daemon's answer: %w", err)
	}
	return nil
}

// send asks v. The caller closes the body of the successful response.
func (c *Client) send(ctx context.Context, v Spec, args any) (*http.Response, error) {
	target, data, err := encodeArgs(v, args)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, v, target, bytes.NewReader(data))
}

// do is send with a body that is made already.
func (c *Client) do(ctx context.Context, v Spec, target string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, v.Method, "http://dragoman"+target, body)
	if err != nil {
		return nil, fmt.Errorf("api: ask the daemon: %w", err)
	}
	if !v.inQuery() {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.via != "" {
		req.Header.Set(viaHeader, string(c.via))
	}
	// The daemon ends a call that takes too long. This is for one that does not answer.
	within := v.Within
	if within > 0 {
		within += answerWithin
	}
	asking := http.Client{Transport: c.transport, Timeout: within, CheckRedirect: noRedirect}
	resp, err := asking.Do(req)
	if err != nil {
		return nil, callError(ctx, v, err)
	}
	if err := checkForm(resp, v); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, failed(resp)
}

// noRedirect keeps a client from following: a daemon never redirects, and a redirected
// order would become another request.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// InProcess makes a client for a handler in this process, so that a verb does the
// same with and without a daemon; it asks as the operator ([AsOperator]). The client reads an answer while the handler
// writes it. The handler's goroutine has ended when the answer's body is closed.
func InProcess(h http.Handler) *Client {
	return &Client{transport: inProcess(AsOperator(h))}
}

// AsCaller is InProcess for whoever the context of a call says ([people.With]).
func AsCaller(h http.Handler) *Client { return &Client{transport: inProcess(h)} }

// inProcess sends requests to h.
func inProcess(h http.Handler) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
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
	})
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

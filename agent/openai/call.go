package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
)

const (
	// grace is how long the usage and [DONE] may take after the finish reason.
	grace = 2 * time.Second
	// drainTime is how long the end of the body may take after [DONE]. A body
	// read to its end leaves the connection usable.
	drainTime = 25 * time.Millisecond
	// maxErrorBody bounds what is read of an error's body.
	maxErrorBody = 64 << 10
)

// errTooLarge is the failure of an answer past MaxResponseBytes.
var errTooLarge = errors.New("the answer is larger than allowed")

// errStalled is why a call ends whose server fell silent.
var errStalled = errors.New("the server fell silent")

// call is one completion on the wire. It sends the request, watches for
// silence, and takes the body of the answer.
type call struct {
	m      *Model
	ctx    context.Context // ends with the call
	cancel context.CancelCauseFunc
	timer  *time.Timer   // cancels ctx when the server is silent for limit
	limit  time.Duration // only the goroutine of the call uses it
	frames *frames
	// head and tools are parts of the request.
	head, tools []byte
}

func newCall(ctx context.Context, m *Model) *call {
	c := &call{m: m, limit: m.o.FirstByteTimeout, frames: &frames{}}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(c.limit, func() { c.cancel(errStalled) })
	return c
}

// end releases what the call holds.
func (c *call) end() {
	c.timer.Stop()
	c.cancel(nil)
	c.frames.release()
}

// watch lets the server be silent for d at a time from now on.
func (c *call) watch(d time.Duration) {
	c.limit = d
	c.timer.Reset(d)
}

// finishing shortens the patience: the answer is here.
func (c *call) finishing() { c.watch(min(grace, c.m.o.IdleTimeout)) }

// drain reads the end of the body, so that the connection can be used again.
func (c *call) drain() {
	c.watch(drainTime)
	_, _ = io.CopyN(io.Discard, c.frames.body, 4<<10)
}

// open sends r and leaves the answer to c.frames. It waits for the model, like
// what calls it, so the request is made in a function of its own: go-openai's
// client would do both, with 2 KB more on the stack of each turn that waits.
func (c *call) open(r *openai.ChatCompletionRequest) error {
	req, err := c.post(r)
	if err != nil {
		return err
	}
	resp, err := c.m.http.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return c.m.statusError(resp)
	}
	c.frames.reset(&watched{call: c, ReadCloser: resp.Body, left: c.m.o.MaxResponseBytes})
	return nil
}

// post makes the request whose body is r with the parts that r lacks.
func (c *call) post(r *openai.ChatCompletionRequest) (*http.Request, error) {
	body, err := c.body(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.m.url, nil)
	if err != nil {
		return nil, err
	}
	req.GetBody = func() (io.ReadCloser, error) { return &joined{left: slices.Clone(body)}, nil }
	req.Body, _ = req.GetBody()
	for _, p := range body {
		req.ContentLength += int64(len(p))
	}
	req.Header = http.Header{
		"Accept":        {"text/event-stream"},
		"Cache-Control": {"no-cache"},
		"Content-Type":  {"application/json"},
	}
	if c.m.o.APIKey != "" {
		req.Header["Authorization"] = []string{"Bearer " + c.m.o.APIKey}
	}
	return req, nil
}

// body puts the parts of the request into what go-openai's type is written as
// without them; see [Model.request].
func (c *call) body(r *openai.ChatCompletionRequest) (net.Buffers, error) {
	const empty, key = `{"model":"","messages":null`, `,"tools":`
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	rest, found := bytes.CutPrefix(body, []byte(empty))
	rest, closed := bytes.CutSuffix(rest, []byte("}"))
	if !found || !closed {
		return nil, errors.New("go-openai does not write its request as it did")
	}
	// The tools are the larger part of most requests, and those of all the
	// calls that wait are the same bytes.
	parts := make(net.Buffers, 0, 5)
	parts = append(parts, c.head[:len(c.head)-1], rest) // without its last brace
	if len(c.tools) > 0 {
		parts = append(parts, []byte(key), c.tools)
	}
	return append(parts, []byte("}")), nil
}

// joined reads parts one after the other. It writes itself, because net/http
// would take a buffer of 32 KiB only to see that nothing follows the end.
type joined struct{ left net.Buffers }

func (j *joined) Read(p []byte) (int, error)         { return j.left.Read(p) }
func (j *joined) WriteTo(w io.Writer) (int64, error) { return j.left.WriteTo(w) }
func (j *joined) Close() error                       { return nil }

// watched is a body that reports signs of life and ends with an error past its
// bound.
type watched struct {
	io.ReadCloser
	call  *call
	left  int64
	begun bool
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	n, err := w.ReadCloser.Read(p)
	w.left -= int64(n)
	switch {
	case n == 0:
	case w.begun:
		w.call.watch(w.call.limit)
	default:
		w.begun = true
		w.call.watch(w.call.m.o.IdleTimeout)
	}
	return n, err
}

// modelError makes the error that the caller gets. It is not used when the
// caller's own context ended.
func (m *Model) modelError(c *call, err error) error {
	var known *agent.ModelError
	if errors.As(err, &known) {
		return known
	}
	fail := func(kind agent.ErrorKind, text string) error {
		return &agent.ModelError{Kind: kind, Err: errors.New("openai: complete: " + m.scrub(text))}
	}
	var failure *frameFailure
	var marshal *json.MarshalerError
	switch {
	case errors.Is(context.Cause(c.ctx), errStalled):
		return fail(agent.ErrorTemporary, fmt.Sprintf("no data for %s", c.limit))
	case errors.As(err, &failure):
		return m.failure(&failure.wire, http.StatusOK)
	case errors.Is(err, errTooLarge):
		return fail(agent.ErrorRefused, fmt.Sprintf("the answer is larger than %d bytes", m.o.MaxResponseBytes))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail(agent.ErrorTemporary, "the stream ended before the answer was whole")
	case errors.As(err, &marshal):
		return fail(agent.ErrorInvalid, "the request cannot be written as JSON: "+marshal.Err.Error())
	case certificate(err):
		return fail(agent.ErrorRefused, "the server's certificate is not trusted: "+bare(err).Error())
	default:
		return fail(agent.ErrorTemporary, bare(err).Error())
	}
}

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"dragoman/agent"
)

// prefix begins the text of every error.
const prefix = "wire: complete: "

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

// errTooSlow is why a call ends that takes longer than CallTimeout.
var errTooSlow = errors.New("the call took too long")

// call is one completion on the wire. It sends the request, watches for
// silence, and takes the body of the answer.
type call struct {
	s      *Server
	ctx    context.Context // ends with the call
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels ctx when nothing of the answer comes for limit
	// The goroutine of the call alone uses what follows.
	limit  time.Duration
	until  time.Time // when the call ends as a whole
	moved  bool      // a piece of the answer has come since the last read
	frames *frames
}

func newCall(ctx context.Context, s *Server) *call {
	c := &call{s: s, limit: min(s.o.FirstByteTimeout, s.o.CallTimeout), until: time.Now().Add(s.o.CallTimeout), frames: &frames{}}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(c.limit, c.expire)
	return c
}

// expire ends the call. The timer runs it.
func (c *call) expire() {
	if time.Now().Before(c.until) {
		c.cancel(errStalled)
		return
	}
	c.cancel(errTooSlow)
}

// end releases what the call holds.
func (c *call) end() {
	c.timer.Stop()
	c.cancel(nil)
	c.frames.release()
}

// watch lets the server be silent for d from now on.
func (c *call) watch(d time.Duration) {
	c.limit = d
	c.timer.Reset(min(d, time.Until(c.until)))
}

// drain reads the end of the body, so that the connection can be used again.
func (c *call) drain() {
	c.watch(drainTime)
	_, _ = io.CopyN(io.Discard, c.frames.body, 4<<10)
}

// Complete makes one request and reads its answer, which is whole if there is
// no error. An error is ctx's or an [agent.ModelError] whose cause is a *[Said];
// [Discreet] makes one of it that is fit for logs. onDelta must not be nil.
func (s *Server) Complete(ctx context.Context, codec Codec, in *Input, onDelta func(agent.Delta)) (Answer, error) {
	c := newCall(ctx, s)
	defer c.end()
	a := codec.Decode(in, onDelta)
	err := c.stream(codec, in, a)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, s.modelError(c, err)
}

// stream fills a. It returns nil only if the answer is whole.
func (c *call) stream(codec Codec, in *Input, a Answer) error {
	if err := c.open(codec, in); err != nil {
		return err
	}
	defer c.frames.body.Close()
	return c.read(a)
}

// read fills a from the frames.
func (c *call) read(a Answer) error {
	finished := false
	for {
		event, frame, err := c.frames.next()
		switch {
		case err == nil:
			moved, err := a.Add(event, frame)
			if err != nil {
				return err
			}
			c.moved = !finished && (c.moved || moved)
			if !finished && a.Finished() {
				finished, c.moved = true, false
				c.watch(min(grace, c.s.o.IdleTimeout)) // the answer is here
			}
		case errors.Is(err, io.EOF) && c.frames.done:
			c.drain()
			return a.Check()
		case finished:
			// All that is missing is the usage or the mark of the end.
			return a.Check()
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

// open sends the request and leaves the answer to c.frames. It waits for the
// model, like what calls it, so the request is made in a function of its own,
// which keeps its 2 KB off the stack of each turn that waits.
func (c *call) open(codec Codec, in *Input) error {
	req, err := c.post(codec, in)
	if err != nil {
		return err
	}
	resp, err := c.s.http.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return c.s.statusError(resp)
	}
	c.frames.reset(&watched{call: c, ReadCloser: resp.Body, left: c.s.o.MaxResponseBytes})
	return nil
}

// post makes the request.
func (c *call) post(codec Codec, in *Input) (*http.Request, error) {
	body, err := codec.Encode(in)
	if err == nil && len(in.Extra) > 0 {
		body, err = merge(body, in.Extra)
	}
	if err != nil {
		return nil, &encodeError{err}
	}
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.s.front+codec.Path()+c.s.query, nil)
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
	maps.Copy(req.Header, Header(in.Traits.API, c.s.o.APIKey))
	for name, value := range c.s.o.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// encodeError is a request that cannot be written.
type encodeError struct{ error }

// merge puts the fields of extra into the object that body is. One that is
// null takes its field out.
func merge(body net.Buffers, extra map[string]json.RawMessage) (net.Buffers, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(slices.Concat(body...), &fields); err != nil {
		return nil, err
	}
	for name, value := range extra {
		if string(value) == "null" {
			delete(fields, name)
			continue
		}
		fields[name] = value
	}
	return Object(fields), nil // what providers attached stays as it is
}

// joined reads parts one after the other. It writes itself, because net/http
// would take a buffer of 32 KiB only to see that nothing follows the end.
type joined struct{ left net.Buffers }

func (j *joined) Read(p []byte) (int, error)         { return j.left.Read(p) }
func (j *joined) WriteTo(w io.Writer) (int64, error) { return j.left.WriteTo(w) }
func (j *joined) Close() error                       { return nil }

// watched is a body that ends with an error past its bound. It lets the server
// be silent anew where a piece of the answer has come.
type watched struct {
	io.ReadCloser
	call *call
	left int64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	if w.call.moved {
		w.call.moved = false
		w.call.watch(w.call.s.o.IdleTimeout)
	}
	n, err := w.ReadCloser.Read(p)
	w.left -= int64(n)
	return n, err
}

// modelError makes the error that the caller gets. It is not used when the
// caller's own context ended.
func (s *Server) modelError(c *call, err error) error {
	var known *agent.ModelError
	if errors.As(err, &known) {
		return known
	}
	fail := func(kind agent.ErrorKind, cause agent.Cause, text string) error {
		return &agent.ModelError{Kind: kind, Cause: cause, Err: errors.New(prefix + scrub(text, s.secrets))}
	}
	var failure *Failure
	var encode *encodeError
	ended := context.Cause(c.ctx)
	switch {
	case errors.Is(ended, errStalled):
		return fail(agent.ErrorTemporary, "", fmt.Sprintf("nothing of an answer for %s", c.limit))
	case errors.Is(ended, errTooSlow):
		return fail(agent.ErrorTemporary, "", fmt.Sprintf("the answer was not whole after %s", s.o.CallTimeout))
	case errors.As(err, &failure):
		e, _ := readError(failure.Data)
		return s.failure(e, http.StatusOK)
	case errors.Is(err, errTooLarge):
		return fail(agent.ErrorRefused, "", fmt.Sprintf("the answer is larger than %d bytes", s.o.MaxResponseBytes))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail(agent.ErrorTemporary, "", "the stream ended before the answer was whole")
	case errors.As(err, &encode):
		return fail(agent.ErrorInvalid, "", "the request cannot be written as JSON")
	case certificate(err):
		return fail(agent.ErrorRefused, agent.CauseUnreachable, "the server's certificate is not trusted: "+Bare(err).Error())
	case dialling(err):
		return fail(agent.ErrorTemporary, agent.CauseUnreachable, Bare(err).Error())
	default:
		return fail(agent.ErrorTemporary, "", Bare(err).Error())
	}
}

// dialling reports whether there was no connection at all.
func dialling(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

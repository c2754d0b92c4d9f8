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

const errorPrefix = "wire: complete: "

const (
	// finishGrace is how long the server may take to send the usage and [DONE]
	// after the finish reason.
	finishGrace = 2 * time.Second
	// drainTimeout is how long the end of the body may take after [DONE].
	drainTimeout = 25 * time.Millisecond
	// maxErrorBody is how many bytes of an error's body are read.
	maxErrorBody = 64 << 10
)

// errTooLarge is returned for an answer of more than MaxResponseBytes.
var errTooLarge = errors.New("the answer is larger than allowed")

// errStalled cancels a call whose server has stopped sending.
var errStalled = errors.New("the server fell silent")

// errTooSlow cancels a call that takes longer than CallTimeout.
var errTooSlow = errors.New("the call took too long")

// The settings that limit a wait, as errors name them.
const (
	settingFirstByte = "model.first_byte_timeout"
	settingIdle      = "model.idle_timeout"
	settingCall      = "model.call_timeout"
)

// call is one completion. It cancels itself when the server falls silent.
type call struct {
	s      *Server
	ctx    context.Context // ends with the call
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels ctx at ends
	// Only the call's own goroutine uses the fields below.
	idleLimit time.Duration
	setting   string    // which of them limits the silence
	deadline  time.Time // the end of the whole call
	ends      time.Time // when the call ends if nothing comes
	lifeEnds  time.Time // signs of life prolong the wait no further
	lastPiece time.Time // or the beginning
	alive     bool      // there was a sign of life since then
	progress  bool      // a piece of the answer has arrived since the last read
	frames    *frames
}

func newCall(ctx context.Context, s *Server, until time.Time) *call {
	now := time.Now()
	c := &call{s: s, idleLimit: min(s.o.FirstByteTimeout, s.o.CallTimeout), deadline: now.Add(s.o.CallTimeout), lastPiece: now, frames: &frames{}}
	c.setting = settingFirstByte
	if s.o.CallTimeout < s.o.FirstByteTimeout {
		c.setting = settingCall
	}
	c.ends = now.Add(c.idleLimit)
	c.lifeEnds = c.deadline
	if !until.IsZero() && until.Before(c.deadline) {
		c.lifeEnds = until
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(c.idleLimit, func() {
		why := errTooSlow
		if time.Now().Before(c.deadline) {
			why = errStalled
		}
		c.cancel(why)
	})
	return c
}

func (c *call) close() {
	c.timer.Stop()
	c.cancel(nil)
	c.frames.release()
}

// allowSilence gives the server d from now to send the next piece.
func (c *call) allowSilence(d time.Duration) {
	now := time.Now()
	c.idleLimit, c.lastPiece = d, now
	c.setting = settingIdle
	c.alive = false
	c.ends = now.Add(min(d, c.deadline.Sub(now)))
	c.timer.Reset(c.ends.Sub(now))
}

// noteLife prolongs the wait for the next piece, because the server has sent something
// else: a ping, a comment, a blank line, the start of a thought. A thinking model may
// send nothing else for minutes. A server that never sends more is cut off at lifeEnds.
func (c *call) noteLife() {
	now := time.Now()
	ends := now.Add(c.idleLimit)
	if ends.After(c.lifeEnds) {
		ends = c.lifeEnds
	}
	c.alive = true
	if ends.After(c.ends) {
		c.ends = ends
		c.timer.Reset(ends.Sub(now))
	}
}

// Complete makes one request and reads the whole answer. It returns ctx's error
// or an [agent.ModelError]. If the server reported the failure, the cause is a
// *[ServerError], which may quote the conversation: [Redact] makes it fit for
// logs. onDelta must not be nil.
func (s *Server) Complete(ctx context.Context, codec Codec, in *Input, onDelta func(agent.Delta)) (Answer, error) {
	c := newCall(ctx, s, in.Request.Until)
	defer c.close()
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

// stream returns nil only if the answer in a is complete.
func (c *call) stream(codec Codec, in *Input, a Answer) error {
	if err := c.send(codec, in); err != nil {
		return err
	}
	defer c.frames.body.Close()
	return c.readAnswer(a)
}

func (c *call) readAnswer(a Answer) error {
	finished := false
	for {
		event, frame, err := c.frames.next()
		switch {
		case err == nil:
			some, err := a.Add(event, frame)
			if err != nil {
				return err
			}
			c.progress = !finished && (c.progress || some)
			if !finished && a.Finished() {
				finished, c.progress = true, false
				c.lifeEnds = time.Time{}
				c.allowSilence(min(finishGrace, c.s.o.IdleTimeout)) // only the usage may follow
			}
		case errors.Is(err, io.EOF) && c.frames.done:
			// Read the end of the body, so that the connection can be used again.
			c.allowSilence(drainTimeout)
			_, _ = io.CopyN(io.Discard, c.frames.body, 4<<10)
			return a.Check()
		case finished:
			// Only the usage or the mark of the end is missing.
			return a.Check()
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

// send sends the request and hands the body of the response to c.frames. A turn
// waits here for the model. newRequest is a function by itself to keep its 2 KB
// off the stack of each waiting turn.
func (c *call) send(codec Codec, in *Input) error {
	req, err := c.newRequest(codec, in)
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
	encoding, err := encodingOf(resp.Header)
	if err != nil {
		return errors.Join(err, resp.Body.Close())
	}
	c.frames.reset(&watchedBody{call: c, ReadCloser: resp.Body, left: c.s.o.MaxResponseBytes})
	c.frames.encoding, c.frames.most = encoding, c.s.o.MaxResponseBytes
	return nil
}

func (c *call) newRequest(codec Codec, in *Input) (*http.Request, error) {
	body, err := codec.Encode(in)
	if err == nil && len(in.Extra) > 0 {
		body, err = merge(body, in.Extra)
	}
	if err != nil {
		return nil, &encodeError{err}
	}
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.s.base+codec.Path()+c.s.query, nil)
	if err != nil {
		return nil, err
	}
	req.GetBody = func() (io.ReadCloser, error) { return &requestBody{left: slices.Clone(body)}, nil }
	req.Body, _ = req.GetBody()
	for _, p := range body {
		req.ContentLength += int64(len(p))
	}
	req.Header = http.Header{
		"Accept":        {"text/event-stream"},
		"Cache-Control": {"no-cache"},
		"Content-Type":  {"application/json"},
	}
	maps.Copy(req.Header, AuthHeader(in.Traits.API, c.s.o.APIKey))
	for name, value := range c.s.o.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// encodeError marks a request that could not be encoded, as opposed to one that
// could not be sent.
type encodeError struct{ error }

// merge puts the fields of extra into the object in body. A null value removes
// the field.
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
	return Object(fields), nil // values keep their bytes: providers compare what they attached
}

// requestBody reads its parts one after the other. It implements io.WriterTo
// because net/http would otherwise allocate 32 KiB only to find the end.
type requestBody struct{ left net.Buffers }

func (j *requestBody) Read(p []byte) (int, error)         { return j.left.Read(p) }
func (j *requestBody) WriteTo(w io.Writer) (int64, error) { return j.left.WriteTo(w) }
func (j *requestBody) Close() error                       { return nil }

// watchedBody returns errTooLarge after left bytes. It restarts the idle
// timeout if a piece of the answer has arrived, and notes other signs of life.
type watchedBody struct {
	io.ReadCloser
	call *call
	left int64
}

func (w *watchedBody) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	if w.call.progress {
		w.call.progress = false
		w.call.allowSilence(w.call.s.o.IdleTimeout)
	}
	n, err := w.ReadCloser.Read(p)
	w.left -= int64(n)
	if n > 0 {
		w.call.noteLife()
	}
	return n, err
}

// modelError returns the error for the caller. It must not be used if the
// caller's own context has ended.
func (s *Server) modelError(c *call, err error) error {
	if known, ok := errors.AsType[*agent.ModelError](err); ok {
		return known
	}
	fail := func(kind agent.ErrorKind, cause agent.Cause, text string) error {
		return &agent.ModelError{Kind: kind, Cause: cause, Err: errors.New(errorPrefix + scrub(text, s.secrets))}
	}
	var failure *StreamError
	var encode *encodeError
	ended := context.Cause(c.ctx)
	switch {
	case errors.Is(ended, errStalled):
		text := fmt.Sprintf("no piece of the answer for %s (%s)", c.idleLimit, c.setting)
		if c.alive {
			text = fmt.Sprintf("no piece of the answer for %s, only signs of life (%s, agent.give_up_after)", time.Since(c.lastPiece).Round(time.Second/10), c.setting)
		}
		return fail(agent.ErrorTemporary, agent.CauseSlow, text)
	case errors.Is(ended, errTooSlow):
		return fail(agent.ErrorTemporary, agent.CauseSlow, fmt.Sprintf("the answer was not complete after %s (%s)", s.o.CallTimeout, settingCall))
	case errors.As(err, &failure):
		e, _ := readError(failure.Data)
		return s.serverError(e, http.StatusOK)
	case errors.Is(err, errTooLarge):
		return fail(agent.ErrorRefused, "", fmt.Sprintf("the answer is larger than %d bytes", s.o.MaxResponseBytes))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail(agent.ErrorTemporary, "", "the stream ended before the answer was complete")
	case errors.As(err, &encode):
		return fail(agent.ErrorInvalid, "", "the request cannot be written as JSON")
	case isCertificateError(err):
		return fail(agent.ErrorRefused, agent.CauseCertificate, "the server's certificate is not trusted: "+StripURL(err).Error())
	case isDialError(err):
		return fail(agent.ErrorTemporary, agent.CauseUnreachable, StripURL(err).Error())
	default:
		return fail(agent.ErrorTemporary, "", StripURL(err).Error())
	}
}

// isDialError reports whether no connection was made, so the server has seen
// nothing of the request.
func isDialError(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

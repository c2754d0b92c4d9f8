package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"
)

// maxStream bounds all that one stream of events may bring. One event may have maxFrame.
const maxStream = 16 << 20

// maxLines bounds the lines of such a stream. An event has two to four, and the library keeps
// a place for each; a question of the server is even answered by a request.
const maxLines = 2000

// What ends the reading of an answer.
var (
	errBody  = fmt.Errorf("it sent more than %d KiB", maxFrame>>10)
	errLines = errors.New("it sent too many events in one answer")
)

// remote is the client for a server with an address. A redirect is not followed: it would
// lead the headers, and whoever asks, to a place that nobody configured.
func remote(s *Server, via http.RoundTripper, begin time.Duration) (*http.Client, *bounded) {
	b := &bounded{via: via, headers: s.Headers, begin: begin}
	b.life, b.cut = context.WithCancel(context.Background())
	return &http.Client{
		Transport: b,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects to another address: write that one as url, if it is the server")
		},
	}, b
}

// newTransport makes the connections to servers, without one to a model's server among them.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2
	t.IdleConnTimeout = time.Minute
	t.MaxResponseHeaderBytes = 64 << 10
	return t
}

// bounded adds the configured headers to requests, and bounds the bodies of answers, which
// the library reads whole.
type bounded struct {
	via     http.RoundTripper
	headers map[string]string
	begin   time.Duration   // limits the time until a stream of changes begins
	life    context.Context // of all requests
	cut     context.CancelFunc
	gate    gate
	why     atomic.Pointer[error] // the reading of an answer ended, since somebody asked
}

// failure is what was wrong with an answer since the last call of it, which the library may
// not pass on.
func (b *bounded) failure() error {
	if why := b.why.Swap(nil); why != nil {
		return *why
	}
	return nil
}

// note keeps why the reading of an answer ended, if it is known.
func (b *bounded) note(err error) {
	for _, known := range faults {
		if errors.Is(err, known) {
			b.why.Store(&known)
		}
	}
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	free := context.AfterFunc(b.life, cancel)
	over := func() {
		free()
		cancel()
	}
	r = r.Clone(ctx)
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	var resp *http.Response
	var err error
	if r.Header.Get("Mcp-Method") == listenMethod {
		resp, err = waitForStream(b.via, r, b.begin)
	} else {
		resp, err = b.via.RoundTrip(r)
	}
	if err != nil {
		over()
		return nil, err
	}
	resp.Body = &cancelledBody{resp.Body, over}
	most := int64(maxFrame)
	lines := maxFrame // as many as it likes
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isStream := kind == "text/event-stream"
	if isStream {
		most = maxStream
		lines = maxLines
	}
	if resp.ContentLength > most {
		_ = resp.Body.Close()
		b.note(errBody)
		return nil, errBody
	}
	resp.Body = b.checked(&limitedBody{resp.Body, most, lines}, isStream, kind == "application/json")
	return resp, nil
}

// limitedBody fails where io.LimitReader would end as if that were all.
type limitedBody struct {
	io.ReadCloser
	left  int64
	lines int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBody
	}
	if b.lines <= 0 {
		return 0, errLines
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.lines -= bytes.Count(p[:n], []byte("\n"))
	return n, err
}

// statusSeen is a transport that remembers the last bad status.
type statusSeen struct {
	via  http.RoundTripper
	code atomic.Int64
}

func (s *statusSeen) over(via http.RoundTripper) *statusSeen {
	s.via = via
	return s
}

func (s *statusSeen) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.via.RoundTrip(r)
	if err == nil && resp.StatusCode >= 300 {
		s.code.Store(int64(resp.StatusCode))
	}
	return resp, err
}

func (s *statusSeen) last() int { return int(s.code.Load()) }

package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"dragoman/agent"
)

// Options say where the model is. BaseURL and Name are required.
type Options struct {
	// BaseURL is the endpoint up to and without /chat/completions.
	BaseURL string
	// APIKey may be empty; local servers need none.
	APIKey string
	// Name is the model's name on the server. Any name works.
	Name string
	// HTTP makes the requests; nil is a client of our own. Redirects are not
	// followed either way: they would turn the POST into a GET or carry the
	// conversation to another host.
	HTTP *http.Client
	// FirstByteTimeout bounds the silence before the first byte of an answer;
	// 0 is 5 minutes, because a local model may read a long prompt for long.
	FirstByteTimeout time.Duration
	// IdleTimeout bounds the silence after that; 0 is 60 s. Comments that keep
	// a connection alive count as a sign of life.
	IdleTimeout time.Duration
	// MaxResponseBytes bounds one answer as it comes over the wire; 0 is 16
	// MiB.
	MaxResponseBytes int64
	// NoUsage keeps stream_options out of the request, for servers that
	// refuse it. Answers then have no token counts.
	NoUsage bool
	// Files, if not nil, are where the pictures of people's messages are; then
	// the model is shown them: of a request the newest ten, older ones leave
	// five at a time. A server that refuses a request for its pictures is asked
	// once more without them, or with as few as it takes, and if it answers
	// then, that is remembered for the life of the Model. Without Files, and
	// where a picture cannot be read, the message's text says what came with it.
	Files Files
	// MaxImageBytes bounds each picture; 0 is 5 MiB.
	MaxImageBytes int64
	// Logger gets debug records about servers that bend the protocol; nil
	// discards them.
	Logger *slog.Logger
}

// Model is one model on one server. It is safe for concurrent use.
type Model struct {
	o       Options
	http    *http.Client
	url     string // of chat completions
	secrets []string
	// official says that the server is OpenAI's own, which wants
	// max_completion_tokens where most others know only max_tokens.
	official bool
	// written are the tools of the newest request that had others than the one
	// before.
	written atomic.Pointer[written]
	// fewer is by how many less than mostImages pictures the server takes.
	fewer atomic.Int32
}

var _ agent.Model = (*Model)(nil)

// New checks the options and makes a model. It does not contact the server.
func New(o Options) (*Model, error) {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return nil, errors.New("openai: new: the base URL cannot be parsed (want http://host:port/v1)")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("openai: new: the base URL %q must begin with http:// or https:// and name a host", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("openai: new: the base URL may have no ? or # part")
	case o.Name == "":
		return nil, errors.New("openai: new: the model has no name")
	case strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("openai: new: the API key has a blank, a line break or another character that no key has")
	}
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/chat/completions")
	if o.FirstByteTimeout <= 0 {
		o.FirstByteTimeout = 5 * time.Minute
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = time.Minute
	}
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = 16 << 20
	}
	if o.MaxImageBytes <= 0 {
		o.MaxImageBytes = defaultImageBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Model{
		o: o, http: &http.Client{Transport: newTransport()}, url: o.BaseURL + "/chat/completions",
		official: strings.HasSuffix("."+u.Hostname(), ".openai.com"),
	}
	if o.HTTP != nil {
		own := *o.HTTP
		m.http = &own
	}
	m.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	m.secrets = append(m.secrets, o.APIKey)
	if password, ok := u.User.Password(); ok {
		m.secrets = append(m.secrets, password)
	}
	return m, nil
}

// newTransport is made for many calls at once to one host.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 1024,
		// Each call that waits has these; twice as large they are no faster, and
		// a thousand calls have 2 MB more.
		ReadBufferSize:        1 << 10,
		WriteBufferSize:       1 << 10,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// An event stream is not worth compressing, and a compressed one
		// arrives late.
		DisableCompression: true,
		// Without pings a dead HTTP/2 connection would swallow every call
		// until its timeout.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// Name is the model's name on the server.
func (m *Model) Name() string { return m.o.Name }

// Close closes idle connections. Calls that run are not disturbed.
func (m *Model) Close() error {
	m.http.CloseIdleConnections()
	return nil
}

// Complete makes one call; see [agent.Model]. Only pictures make it two: see
// [Options.Files].
func (m *Model) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (resp agent.Response, err error) {
	if err := ctx.Err(); err != nil {
		return resp, err
	}
	if onDelta == nil {
		onDelta = func(agent.Delta) {}
	}
	var less *pictureError
	for most := m.show(); ; {
		a, shown, err := m.attempt(ctx, r, onDelta, most)
		switch {
		case err == nil:
			if less != nil {
				m.learn(less)
			}
			a.fill(&resp, m.o.Name)
			return resp, nil
		case ctx.Err() != nil:
			return resp, ctx.Err()
		}
		if less = again(err, a, shown); less == nil {
			return resp, discreet(err, &r)
		}
		most = less.most // less than before
	}
}

// attempt makes one request with at most most pictures in it, and says how
// many it had.
func (m *Model) attempt(ctx context.Context, r agent.Request, onDelta func(agent.Delta), most int) (*answer, int, error) {
	c := newCall(ctx, m)
	defer c.end()
	a := &answer{onDelta: onDelta}
	var shown int
	var err error
	if c.head, c.tools, shown, err = m.parts(r, most); err == nil {
		err = m.stream(c, r, a)
	}
	if err != nil {
		err = m.modelError(c, err)
	}
	return a, shown, err
}

// stream fills a. It returns nil only if the answer is whole.
func (m *Model) stream(c *call, r agent.Request, a *answer) error {
	if err := c.open(m.request(r)); err != nil {
		return err
	}
	defer c.frames.Close()
	return m.read(c, a)
}

// read fills a from the frames of c, without go-openai's reader: that looks at
// each line with regular expressions and copies it twice.
func (m *Model) read(c *call, a *answer) error {
	for {
		frame, err := c.frames.next()
		switch {
		case err == nil:
			if err := a.add(frame); err != nil {
				return err
			}
			if a.finish != "" {
				c.finishing()
			}
		case errors.Is(err, io.EOF) && c.frames.done:
			c.drain()
			return a.check()
		case a.finish != "":
			// All that is missing is the usage or [DONE].
			m.o.Logger.Debug("model stream ended after its finish reason without [DONE]")
			return a.check()
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say where a server is and how patient to be with it. BaseURL is
// required.
type Options struct {
	// BaseURL is the endpoint up to the path of an API; see [ParseBase].
	BaseURL string
	// APIKey may be empty; local servers need none.
	APIKey string
	// Headers are set on every request, also over those of ours. They are as HTTP
	// allows them.
	Headers map[string]string
	// HTTP makes the requests; nil is a client of our own. Redirects are not
	// followed either way: they would turn the POST into a GET or carry the
	// conversation to another host.
	HTTP *http.Client
	// FirstByteTimeout bounds the wait for the first piece of an answer; 0 is
	// 5 minutes, because a local model may read a long prompt for long. What
	// only keeps a connection alive is no piece.
	FirstByteTimeout time.Duration
	// IdleTimeout bounds the wait for each piece after that; 0 is 60 s.
	IdleTimeout time.Duration
	// CallTimeout bounds a call as a whole; 0 is 30 minutes.
	CallTimeout time.Duration
	// MaxResponseBytes bounds one answer as it comes over the wire; 0 is 16
	// MiB.
	MaxResponseBytes int64
}

// Server is the connection to a model server. It is safe for concurrent use.
type Server struct {
	o       Options
	http    *http.Client
	host    string
	front   string // of every address, to where an API's path begins
	query   string // after the path, "?" included
	secrets []string
}

// apiPaths are the ends of base URLs that are one API's address.
var apiPaths = map[string]string{"/chat/completions": APIChat, "/responses": APIResponses, "/messages": APIMessages}

// ParseBase reads the base URL of a server. It may have a query, which is
// put after the path of every request. api is the API whose address it is, if it
// is more than a base; "" otherwise.
func ParseBase(base string) (u *url.URL, api string, err error) {
	u, err = url.Parse(base)
	switch {
	case err != nil:
		return nil, "", errors.New("the base URL cannot be parsed (want http://host:port/v1)")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		u.RawQuery = "" // it may hold a key
		return nil, "", fmt.Errorf("the base URL %q must begin with http:// or https:// and name a host", u.Redacted())
	case u.Fragment != "":
		return nil, "", errors.New("the base URL may have no # part")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	for path, name := range apiPaths {
		if rest, found := strings.CutSuffix(u.Path, path); found {
			u.Path, u.RawPath = rest, strings.TrimSuffix(u.RawPath, path)
			return u, name, nil
		}
	}
	return u, "", nil
}

// New checks the options. It does not contact the server.
func New(o Options) (*Server, error) {
	base, _, err := ParseBase(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("wire: new: %w", err)
	}
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("wire: new: the API key has a blank, a line break or another character that no key has")
	}
	s := &Server{o: o.withDefaults(), host: base.Host, http: &http.Client{Transport: NewTransport()}}
	if base.RawQuery != "" {
		s.query = "?" + base.RawQuery
	}
	front := *base
	front.RawQuery, front.ForceQuery = "", false
	s.front = front.String()
	if o.HTTP != nil {
		own := *o.HTTP
		s.http = &own
	}
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.secrets = secrets(o.APIKey, o.Headers, base)
	return s, nil
}

func (o Options) withDefaults() Options {
	o.FirstByteTimeout = cmp.Or(max(o.FirstByteTimeout, 0), 5*time.Minute)
	o.IdleTimeout = cmp.Or(max(o.IdleTimeout, 0), time.Minute)
	o.CallTimeout = cmp.Or(max(o.CallTimeout, 0), 30*time.Minute)
	o.MaxResponseBytes = cmp.Or(max(o.MaxResponseBytes, 0), 16<<20)
	return o
}

// Header returns the headers that authorise a request to an API with key, which
// may be "".
func Header(api, key string) http.Header {
	h := make(http.Header)
	if api == APIMessages {
		h["Anthropic-Version"] = []string{"2023-06-01"}
	}
	switch {
	case key == "":
	case api == APIMessages:
		h["X-Api-Key"] = []string{key}
	default:
		h["Authorization"] = []string{"Bearer " + key}
	}
	return h
}

// secrets are what no error may show: the key, a password, and what headers and
// the query hold, if that is long enough to be a key.
func secrets(key string, headers map[string]string, base *url.URL) []string {
	const long = 16
	list := []string{key}
	if password, ok := base.User.Password(); ok {
		list = append(list, password)
	}
	others := slices.Collect(maps.Values(headers))
	for _, values := range base.Query() {
		others = append(others, values...)
	}
	for _, value := range others {
		if len(value) >= long {
			list = append(list, value)
		}
	}
	return list
}

// NewTransport is made for many calls at once to one host.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return conn{c}, nil
		},
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

// conn sends the bodies of requests, which have a whole conversation in them,
// through buffers that are used again. The standard library makes one for each.
type conn struct{ net.Conn }

var buffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// ReadFrom is io.ReaderFrom's.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[16 << 10]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, struct{ io.Reader }{r}, buf[:])
}

// Host is that of the base URL, with its port if that is written.
func (s *Server) Host() string { return s.host }

// Close closes idle connections. Calls that run are not disturbed.
func (s *Server) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

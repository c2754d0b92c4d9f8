package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
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

// Options describe a server and the limits for its answers. BaseURL is
// required.
type Options struct {
	// BaseURL is the address up to the path of an API; see [ParseBase].
	BaseURL string
	// APIKey may be empty; local servers need none.
	APIKey string
	// Headers are set on every request. They replace Dragoman's own and must be
	// valid in HTTP.
	Headers map[string]string
	// CAs, if not nil, are trusted instead of the system's authorities.
	CAs *x509.CertPool
	// HTTP makes the requests; if nil, New makes a client. Redirects are never
	// followed: they would turn the POST into a GET or carry the conversation to
	// another host.
	HTTP *http.Client
	// FirstByteTimeout bounds the silence before the first piece of an answer. 0 is 5
	// minutes, because a local model may need long to read a long prompt. Signs of
	// life, like keep-alives, prolong the wait, until the caller gives up
	// ([agent.Request.Until]) or CallTimeout at the latest.
	FirstByteTimeout time.Duration
	// IdleTimeout bounds the silence before each later piece in the same way; 0 is 60 s.
	IdleTimeout time.Duration
	// CallTimeout bounds the whole call; 0 is 30 minutes.
	CallTimeout time.Duration
	// MaxResponseBytes bounds the bytes of one answer on the wire; 0 is 16 MiB.
	MaxResponseBytes int64
}

// Server makes calls to a model server. It is safe for concurrent use.
type Server struct {
	o       Options
	http    *http.Client
	host    string
	base    string // the URL before the path of an API
	query   string // follows the path, with its "?"
	secrets []string
}

// apiPaths map the endings of base URLs that name one API.
var apiPaths = map[string]string{"/chat/completions": APIChat, "/responses": APIResponses, "/messages": APIMessages}

// ParseBase parses the base URL of a server. Its query is added to every
// request. api is the API whose path ends the URL, or "" if it ends with none;
// u is without that path.
func ParseBase(base string) (u *url.URL, api string, err error) {
	u, err = url.Parse(base)
	switch {
	case err != nil:
		return nil, "", errors.New("the base URL cannot be parsed (want http://host:port/v1)")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		u.RawQuery = "" // it may hold a key
		return nil, "", fmt.Errorf("the base URL %q must begin with http:// or https:// and name a host", u.Redacted())
	case u.Fragment != "":
		return nil, "", errors.New("the base URL must not have a # part")
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

// ErrKey says that no server can have made a key.
var ErrKey = errors.New("the API key contains a space, a line break or another character that keys do not have")

// New checks the options. It does not contact the server.
func New(o Options) (*Server, error) {
	base, _, err := ParseBase(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("wire: new: %w", err)
	}
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("wire: new: %w", ErrKey)
	}
	s := &Server{o: o.withDefaults(), host: base.Host, http: &http.Client{Transport: NewTransport(o.CAs)}}
	if base.RawQuery != "" {
		s.query = "?" + base.RawQuery
	}
	front := *base
	front.RawQuery, front.ForceQuery = "", false
	s.base = front.String()
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

// AuthHeader returns the headers that authorise a request to an API. key may be
// "".
func AuthHeader(api, key string) http.Header {
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

// secrets returns the texts that no error may show: the key, the password, and
// the values of headers and the query that are long enough to be keys.
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

// NewTransport returns a transport for many concurrent calls to one host. cas, if not
// nil, are trusted instead of the system's authorities.
func NewTransport(cas *x509.CertPool) *http.Transport {
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
		TLSClientConfig:     &tls.Config{RootCAs: cas},
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 1024,
		// Each waiting call holds both. Buffers of twice the size are no faster, and
		// cost 2 MB for a thousand calls.
		ReadBufferSize:        1 << 10,
		WriteBufferSize:       1 << 10,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// A compressed event stream arrives late and saves little.
		DisableCompression: true,
		// Without pings a dead HTTP/2 connection would swallow every call
		// until its timeout.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// conn sends request bodies, which hold a whole conversation, through pooled
// buffers. The standard library would allocate one for each request.
type conn struct{ net.Conn }

var bufferPool = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// ReadFrom implements io.ReaderFrom.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	buf := bufferPool.Get().(*[16 << 10]byte)
	defer bufferPool.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, struct{ io.Reader }{r}, buf[:])
}

// Host returns the host of the base URL, with its port if the URL has one.
func (s *Server) Host() string { return s.host }

// Close closes idle connections. Running calls go on.
func (s *Server) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

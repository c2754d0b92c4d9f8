package models

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/agent/wire"
)

// Server is a model server to ask. BaseURL is required.
type Server struct {
	// BaseURL is the URL of an API, without /chat/completions. Its query is added
	// to each request.
	BaseURL string
	// Key may be empty; local servers need none.
	Key string
	// Headers are set on each request. They replace Dragoman's own.
	Headers map[string]string
	// API is model.api of the configuration. It decides how the key is sent.
	API string
	// CAs, if not nil, are trusted instead of the system's authorities.
	CAs *x509.CertPool
	// HTTP makes the requests; if nil, each request uses a new client.
	HTTP *http.Client
	// Timeout bounds each question; 0 is 10 seconds.
	Timeout time.Duration
}

// maxAnswer is how many bytes of an answer are read. OpenRouter's list has 1
// MB.
const maxAnswer = 8 << 20

// statusError is a response other than 200.
type statusError struct {
	status  int
	message string // the server's words without secrets, or ""
	cause   agent.Cause
}

func (e *statusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", e.status, e.message), ": ")
}

var errNoAPI = errors.New("the answer is not from a model server")

func (s *Server) client() *http.Client {
	c := new(http.Client)
	if s.HTTP != nil {
		*c = *s.HTTP
	} else {
		t := wire.NewTransport(s.CAs)
		t.DisableCompression = false // a list is long and does not stream
		t.DisableKeepAlives = true
		c.Transport = t
	}
	// A redirect could carry the key to another host.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// listPath is OpenAI's list of models. The other paths here belong to the
// additional interfaces of llama.cpp and Ollama.
const listPath = "/models"

// address returns the URL of path, with the query of the base URL.
func (s *Server) address(path string) (string, error) {
	u, _, err := wire.ParseBase(s.BaseURL)
	if err != nil {
		return "", errors.New("models: the base URL cannot be used")
	}
	if path != listPath {
		u.Path = strings.TrimSuffix(u.Path, "/v1")
	} else if p := providerAt(s.BaseURL); p != nil && p.id == anthropic {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&limit=1000", "&") // without a limit it lists only a few
	}
	u.Path, u.RawPath = u.Path+path, ""
	return u.String(), nil
}

// fetch makes one request and decodes the JSON of a 200. With a nil body it is
// a GET.
func (s *Server) fetch(ctx context.Context, path string, body, into any) error {
	address, err := s.address(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, 10*time.Second))
	defer cancel()
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("models: encode a question: %w", err)
		}
		method, reader = http.MethodPost, bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return errors.New("models: the address cannot be used")
	}
	s.authorise(req.Header)
	resp, err := s.client().Do(req)
	if err != nil {
		return wire.StripURL(err) // the URL may hold a key
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		says, cause := wire.Explain(resp.StatusCode, b, s.BaseURL, s.Key, s.Headers)
		return &statusError{resp.StatusCode, says, cause}
	}
	if json.Unmarshal(b, into) != nil {
		return errNoAPI
	}
	return nil
}

func (s *Server) authorise(h http.Header) {
	h.Set("User-Agent", "dragoman")
	switch p := providerAt(s.BaseURL); {
	case p != nil && p.id == azure && s.Key != "":
		h.Set("api-key", s.Key)
	case p != nil && p.id == anthropic:
		maps.Copy(h, wire.AuthHeader(wire.APIMessages, s.Key))
	default:
		maps.Copy(h, wire.AuthHeader(s.API, s.Key))
	}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
}

// Host returns the host of a base URL, for people.
func Host(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "the given address"
	}
	return u.Host
}

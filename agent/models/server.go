package models

import (
	"bytes"
	"cmp"
	"context"
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

// Server is where models are. BaseURL is required.
type Server struct {
	// BaseURL is an API up to and without /chat/completions. It may have a
	// query, which each request gets.
	BaseURL string
	// Key may be empty; local servers need none.
	Key string
	// Headers go out with each request, also over those of ours.
	Headers map[string]string
	// API is model.api of the configuration: it says how the key is sent.
	API string
	// HTTP makes the requests; nil is a client of our own.
	HTTP *http.Client
	// Timeout is how long a question may take; 0 is 10 seconds.
	Timeout time.Duration
}

// maxAnswer bounds what is read of an answer. OpenRouter's list has 1 MB.
const maxAnswer = 8 << 20

// statusError is an answer other than 200.
type statusError struct {
	status  int
	message string // without secrets; "" if nothing that is worth showing
	cause   agent.Cause
}

func (e *statusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", e.status, e.message), ": ")
}

// errNoAPI is an answer of something that is no API of models.
var errNoAPI = errors.New("the answer is not one of a model server")

// client makes one request.
func (s *Server) client() *http.Client {
	c := new(http.Client)
	if s.HTTP != nil {
		*c = *s.HTTP
	} else {
		t := wire.NewTransport()
		t.DisableCompression = false // a list is long, and comes at once
		t.DisableKeepAlives = true
		c.Transport = t
	}
	// The key must not be carried elsewhere.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// listPath is OpenAI's list of models. All other paths here are those of
// interfaces that llama.cpp and Ollama have beside that API.
const listPath = "/models"

// address is the address of path, with the query of the base URL. A base that ends
// with the path of one call is understood.
func (s *Server) address(path string) (string, error) {
	u, _, err := wire.ParseBase(s.BaseURL)
	if err != nil {
		return "", errors.New("models: the base URL cannot be used")
	}
	if path != listPath {
		u.Path = strings.TrimSuffix(u.Path, "/v1")
	} else if p := providerAt(s.BaseURL); p != nil && p.id == anthropic {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&limit=1000", "&") // else it lists a few
	}
	u.Path, u.RawPath = u.Path+path, ""
	return u.String(), nil
}

// fetch makes one request and decodes the JSON of a 200. body nil: a GET.
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
		return wire.StripURL(err) // the address has what is secret
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

// authorise sets what the server wants to see of the key.
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

// Host is the part of a base URL that is fit to be shown.
func Host(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "the given address"
	}
	return u.Host
}

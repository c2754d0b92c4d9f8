package models

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

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
	// Patience is how long a question may take; 0 is 10 seconds.
	Patience time.Duration
}

// maxAnswer bounds what is read of an answer. OpenRouter's list has 1 MB.
const maxAnswer = 8 << 20

// statusError is an answer other than 200.
type statusError struct {
	status int
	// says is what the server said about it, fit to be shown.
	says string
	// html: it is a page for people, not an answer of an API.
	html bool
}

func (e *statusError) Error() string {
	if e.says == "" {
		return fmt.Sprintf("HTTP %d", e.status)
	}
	return fmt.Sprintf("HTTP %d: %s", e.status, e.says)
}

// errNoAPI is an answer of something that is no API of models.
var errNoAPI = errors.New("the answer is not one of a model server")

// client makes a client whose requests end with their context. The caller
// closes its connections.
func (s *Server) client() *http.Client {
	if s.HTTP != nil {
		own := *s.HTTP
		own.CheckRedirect = sameHost
		return &own
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return &http.Client{CheckRedirect: sameHost, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 5 * time.Second, MaxIdleConnsPerHost: 4, IdleConnTimeout: 5 * time.Second,
	}}
}

// sameHost follows no redirect: the key must not be carried elsewhere.
func sameHost(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// asker is one conversation with a server.
type asker struct {
	s    *Server
	http *http.Client
}

func (s *Server) ask() *asker { return &asker{s, s.client()} }

func (a *asker) close() {
	if a.s.HTTP == nil {
		a.http.CloseIdleConnections()
	}
}

// limit gives ctx the time that one question may take.
func (s *Server) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(s.Patience, 10*time.Second))
}

// under is the address of path below base, with base's query.
func under(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("models: the base URL cannot be used")
	}
	u.Path, u.RawPath = trimAPI(u.Path)+path, ""
	return u.String(), nil
}

// trimAPI takes the path of one call off the end of a base URL's path: whoever
// makes the calls understands such a URL too.
func trimAPI(path string) string {
	path = strings.TrimRight(path, "/")
	for _, end := range []string{"/chat/completions", "/responses", "/messages"} {
		if rest, found := strings.CutSuffix(path, end); found {
			return rest
		}
	}
	return path
}

// root is base without the path of the API: where the interfaces of llama.cpp
// and Ollama that are not OpenAI's are.
func root(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	u.Path, u.RawPath = strings.TrimSuffix(trimAPI(u.Path), "/v1"), ""
	return u.String()
}

// fetch makes one request and decodes the JSON of a 200. body nil: a GET.
func (a *asker) fetch(ctx context.Context, address string, body, into any) error {
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
	a.s.authorise(req.Header)
	resp, err := a.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // its text has the whole address, with what is secret in it
			err = u.Err
		}
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
	if resp.StatusCode != http.StatusOK {
		return &statusError{resp.StatusCode, a.s.quote(b, page), page}
	}
	if page || json.Unmarshal(b, into) != nil {
		return errNoAPI
	}
	return nil
}

// authorise sets what the server wants to see of the key.
func (s *Server) authorise(h http.Header) {
	h.Set("User-Agent", "dragoman")
	p := providerAt(s.BaseURL)
	switch {
	case s.Key == "":
	case p != nil && p.id == anthropic, s.API == wire.APIMessages:
		h.Set("x-api-key", s.Key)
		h.Set("anthropic-version", "2023-06-01")
	case p != nil && p.id == azure:
		h.Set("api-key", s.Key)
	default:
		h.Set("Authorization", "Bearer "+s.Key)
	}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
}

// quote is what a server said of an error: one line, no key, not too long.
func (s *Server) quote(body []byte, page bool) string {
	if page {
		return ""
	}
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	text := ""
	if json.Unmarshal(body, &e) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		switch {
		case json.Unmarshal(e.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case json.Unmarshal(e.Error, &text) == nil && text != "", json.Unmarshal(e.Detail, &text) == nil && text != "":
		default:
			text = e.Message
		}
	}
	return s.clean(text)
}

// clean makes the words of a server fit to be shown.
func (s *Server) clean(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	secrets := []string{s.Key}
	for _, value := range s.Headers {
		secrets = append(secrets, value)
	}
	for _, secret := range secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "<secret>")
		}
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Host is the part of a base URL that is fit to be shown.
func Host(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "the given address"
	}
	return u.Host
}

// Package websearch asks a search service for pages.
//
// The promise: one question is one request to the configured service, and nobody else
// hears of it. The key goes into a header, never into an address, a log or an error.
// What comes back is bounded: [MostResults] results, each with a title and a passage of
// plain text, and an address that begins with http:// or https://.
//
// What fails, and how: every error is a sentence for the model, which names the service
// and never repeats what it wrote.
//
//	no answer in 15 seconds, or no connection    "did not answer"
//	the key is refused                           "refused the key"
//	too many questions                           "wants a pause", with its length if it said so
//	SearXNG without JSON                         what its operator must switch on
//	another status, or an answer that is none    the status
//
// Goroutines: none. An [Engine] may be used by several.
package websearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	// MostResults is how many results one question brings.
	MostResults = 10

	timeout     = 15 * time.Second
	answerBytes = 2 << 20
	titleBytes  = 200
	textBytes   = 600
)

// Result is one page that was found.
type Result struct {
	Title string
	URL   string
	Text  string // a passage of it, or ""
	Date  string // as the service writes it, or ""
}

// Options say which service is asked.
type Options struct {
	Name string // one of [Names]
	URL  string // where it is; "": the service's own address, which SearXNG has none of
	Key  string
}

// service is one kind of service.
type service struct {
	url     string // of its API, or "" if everybody runs their own
	keyed   bool   // it needs a key
	request func(ctx context.Context, base, key, query string) (*http.Request, error)
	read    func(body []byte) ([]Result, error)
}

// services are all kinds, by their names.
var services = map[string]service{
	"searxng": {request: searxngRequest, read: searxngResults},
	"brave":   {url: "https://api.search.brave.com", keyed: true, request: braveRequest, read: braveResults},
	"tavily":  {url: "https://api.tavily.com", keyed: true, request: tavilyRequest, read: tavilyResults},
}

// Names returns the kinds of services, sorted.
func Names() []string {
	var names []string
	for name := range services {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// NeedsURL and NeedsKey say what a kind of service cannot do without.
func NeedsURL(name string) bool { return services[name].url == "" }

// NeedsKey: see [NeedsURL].
func NeedsKey(name string) bool { return services[name].keyed }

// Engine asks one service. Make it with [New].
type Engine struct {
	service
	base, key, shown string
	client           *http.Client
}

// New returns the engine for o, which the configuration has checked. client is nil but in
// tests.
func New(o Options, client *http.Client) (*Engine, error) {
	s, ok := services[o.Name]
	if !ok {
		return nil, fmt.Errorf("websearch: there is no service %q", o.Name)
	}
	e := &Engine{service: s, base: strings.TrimSuffix(o.URL, "/"), key: o.Key, client: client}
	if e.base == "" {
		e.base = s.url
	}
	at, err := url.Parse(e.base)
	if err != nil || at.Host == "" {
		return nil, errors.New("websearch: the service has no address")
	}
	e.shown = at.Hostname()
	if e.client == nil {
		e.client = &http.Client{
			// A redirect could take the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return e, nil
}

// Shown is the service's host, for people and for the model.
func (e *Engine) Shown() string { return e.shown }

// Search asks one question.
func (e *Engine) Search(ctx context.Context, query string) ([]Result, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := e.request(limited, e.base, e.key, query)
	if err != nil {
		return nil, errors.New("the question cannot be sent")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Dragoman")
	resp, err := e.client.Do(req)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the search service %s did not answer", e.shown)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerBytes))
	if err != nil {
		return nil, fmt.Errorf("the answer of the search service %s broke off", e.shown)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, e.refusal(resp)
	}
	found, err := e.read(body)
	if err != nil {
		return nil, fmt.Errorf("the search service %s gave an answer that is none", e.shown)
	}
	return tidy(found), nil
}

// refusal says what a status other than 200 means.
func (e *Engine) refusal(resp *http.Response) error {
	switch status := resp.StatusCode; {
	case status == http.StatusForbidden && !e.keyed:
		return fmt.Errorf("the search service %s does not give JSON: its operator must add json to search.formats in settings.yml", e.shown)
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusUnprocessableEntity:
		return fmt.Errorf("the search service %s refused the key (HTTP %d)", e.shown, status)
	case status == http.StatusTooManyRequests:
		wait := ""
		if after := resp.Header.Get("Retry-After"); len(after) < 5 && after != "" && strings.Trim(after, "0123456789") == "" {
			wait = " of " + after + " seconds"
		}
		return fmt.Errorf("the search service %s wants a pause%s; go on without it", e.shown, wait)
	default:
		return fmt.Errorf("the search service %s answered with HTTP %d", e.shown, status)
	}
}

// tidy keeps what can be shown: the first results with an address, each as plain text.
func tidy(all []Result) []Result {
	var kept []Result
	for _, r := range all {
		at, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || len(r.URL) > 2000 {
			continue
		}
		kept = append(kept, Result{Title: line(r.Title, titleBytes), URL: at.String(), Text: line(r.Text, textBytes), Date: line(r.Date, 40)})
		if len(kept) == MostResults {
			break
		}
	}
	return kept
}

// line makes foreign text one line without control characters, of at most most bytes.
func line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

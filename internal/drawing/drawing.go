// Package drawing has pictures made of words. It asks a server that speaks OpenAI's API:
// POST /images/generations.
//
// The promise: a prompt goes to the configured server and to nobody else, once for each
// call. The key goes into a header of that request, never into a log, an error or another
// request. What comes back is a PNG or a JPEG that was written anew from its pixels, so
// nothing that was hidden in it arrives, of at most [MostBytes]. A reader of foreign files
// opens it: see [Serve].
//
// A server may give the picture or an address of it. The address is read if it is the
// server's own, which the operator named, or if it is https on the public internet
// ([Options.Fetch]). Any other one could make this machine ask its neighbours.
//
// What fails, and how: every error is a sentence for the model and the operator, which names
// the server and repeats nothing that it wrote.
//
//	no connection, or no answer in time         "did not answer", or how long it took
//	the prompt breaks the server's rules        ErrRules
//	too many requests, no credit, a wrong key   what to do, with the length of a pause
//	another status                              the status
//	a page, a GIF, a bomb, a damaged picture    what it is, and what helps
//	an address that must not be read            which setting of the server helps
//
// Goroutines: none. A [Painter] may be used by several.
//
// Source: https://platform.openai.com/docs/api-reference/images/create
package drawing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrRules: the server does not draw such things.
var ErrRules = errors.New("does not draw this, by its rules; say so, or suggest something else")

// Options say which server is asked.
type Options struct {
	URL     string // up to and with /v1
	Key     string
	Model   string
	Size    string // like 1024x1024; "": the server decides
	Timeout time.Duration
	// Open has [Serve] read an answer. Its error is a [Flaw] if the answer is to blame.
	Open func(ctx context.Context, answer []byte) ([]byte, error)
	// Fetch reads at most most bytes from the public internet.
	Fetch func(ctx context.Context, address string, most int64) ([]byte, error)
}

// Picture is what was drawn.
type Picture struct {
	Content []byte
	Type    string // image/png or image/jpeg
	// Paid says that the server has drawn, also if there is an error.
	Paid bool
}

// Painter asks one server. Make it with [New].
type Painter struct {
	o      Options
	at     *url.URL
	client *http.Client
}

// New returns the painter for o, which the configuration has checked.
func New(o Options) (*Painter, error) {
	at, err := url.Parse(strings.TrimSuffix(o.URL, "/"))
	if err != nil || at.Host == "" {
		return nil, errors.New("drawing: the server has no address")
	}
	return &Painter{o: o, at: at, client: &http.Client{
		// A redirect could take the key and the words elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Draw has a picture made of a prompt.
func (p *Painter) Draw(ctx context.Context, prompt string) (Picture, error) {
	limited, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	answer, drew, err := p.ask(limited, prompt)
	drawn := Picture{Paid: drew}
	if err != nil {
		return drawn, p.explain(ctx, limited, err)
	}
	drawn.Content, err = p.o.Open(limited, answer)
	address, isAddress := strings.CutPrefix(string(drawn.Content[:min(len(drawn.Content), maxAddress)]), addressMark)
	if err == nil && isAddress {
		drawn.Content, err = p.fetch(limited, address)
	}
	if err != nil {
		drawn.Content = nil
		return drawn, p.explain(ctx, limited, err)
	}
	drawn.Type = http.DetectContentType(drawn.Content)
	return drawn, nil
}

// explain makes err a sentence about the server. ctx is the caller's, and limited has the
// time limit.
func (p *Painter) explain(ctx, limited context.Context, err error) error {
	flaw, known := errors.AsType[Flaw](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrRules):
		return fmt.Errorf("the picture server %s %w", p.at.Host, ErrRules)
	case limited.Err() != nil:
		return fmt.Errorf("the picture server %s took longer than %s", p.at.Host, p.o.Timeout)
	case known:
		return fmt.Errorf("the picture server %s %w", p.at.Host, flaw)
	}
	return fmt.Errorf("what the picture server %s gave could not be opened here: %w", p.at.Host, err)
}

// ask returns the server's answer. drew says that it did not refuse.
func (p *Painter) ask(ctx context.Context, prompt string) (answer []byte, drew bool, err error) {
	ask := map[string]any{"model": p.o.Model, "prompt": prompt, "n": 1}
	if p.o.Size != "" {
		ask["size"] = p.o.Size
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, false, Flaw("cannot be sent this prompt")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at.String()+"/images/generations", bytes.NewReader(body))
	if err != nil {
		return nil, false, Flaw("has no address")
	}
	req.Header.Set("Content-Type", "application/json")
	if p.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+p.o.Key)
	}
	resp, err := p.do(req)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close() // nothing was written
	if resp.StatusCode != http.StatusOK {
		return nil, false, refusal(resp)
	}
	answer, err = read(resp.Body, answerBytes)
	return answer, true, err
}

func (p *Painter) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "Dragoman")
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, Flaw("did not answer")
	}
	return resp, nil
}

// read reads an answer of at most most bytes.
func read(body io.Reader, most int64) ([]byte, error) {
	answer, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, Flaw("broke off in the middle of its answer")
	}
	if int64(len(answer)) > most {
		return nil, tooLarge
	}
	return answer, nil
}

// fetch returns the picture at an address that the server gave.
func (p *Painter) fetch(ctx context.Context, address string) ([]byte, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.User != nil {
		return nil, Flaw("gave an address that is none")
	}
	var content []byte
	switch {
	case at.Scheme == p.at.Scheme && at.Host == p.at.Host:
		content, err = p.fetchOwn(ctx, at)
	case at.Scheme != "https":
		return nil, Flaw("gave an address that is not read (only https, or its own); let it answer with b64_json")
	default:
		content, err = p.o.Fetch(ctx, at.String(), takenBytes)
	}
	if err != nil {
		return nil, err
	}
	content, err = p.o.Open(ctx, content)
	if err == nil && bytes.HasPrefix(content, []byte(addressMark)) {
		return nil, Flaw("gave an address of an address, and no picture")
	}
	return content, err
}

// fetchOwn reads from the server itself, without the key.
func (p *Painter) fetchOwn(ctx context.Context, at *url.URL) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, Flaw("gave an address that is none")
	}
	resp, err := p.do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // nothing was written
	if resp.StatusCode != http.StatusOK {
		return nil, Flaw(fmt.Sprintf("gave an address that has no picture (HTTP %d)", resp.StatusCode))
	}
	return read(resp.Body, takenBytes)
}

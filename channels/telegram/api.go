package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"dragoman/channels"
)

// mostAnswer bounds what is read of one answer. A hundred of the largest
// updates stay far below it.
const mostAnswer = 64 << 20

// mostAfter bounds, in seconds, how long Telegram may ask us to wait.
const mostAfter = 24 * 60 * 60

// client makes the calls. It posts JSON by itself; see docs/decisions/0010
// for what the library's multipart costs.
type client struct {
	// url is a function so that no formatting of a client shows the token.
	url   func(method string) string
	file  func(path string) string
	scrub func(string) string
	http  *http.Client
}

func newClient(base, token string, o Options) *client {
	c := &client{
		url:   func(method string) string { return base + "/bot" + token + "/" + method },
		file:  func(path string) string { return base + "/file/bot" + token + "/" + path },
		scrub: func(s string) string { return strings.ReplaceAll(s, token, "<token>") },
		http:  o.HTTP,
	}
	if c.http == nil {
		c.http = &http.Client{
			Transport: newTransport(o.Proxy),
			// A redirect would carry the token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c
}

// newTransport keeps many connections of HTTP/1.1: with HTTP/2 one dead
// connection would hold up the poll and every send together.
func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               proxy,
		Protocols:           protocols,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        128,
		MaxIdleConnsPerHost: 128,
		// A thousand chats that are answered in the same moment take turns. A
		// call that is given up while it waits for a connection was not sent.
		MaxConnsPerHost: 256,
		// Shorter than servers' own limits, so that a connection is rarely
		// closed under a request, which would leave that send uncertain.
		IdleConnTimeout: 20 * time.Second,
	}
}

// refusal is Telegram's answer that it will not do what it was asked.
type refusal struct {
	method      string
	code        int
	description string
	after       time.Duration
	migrateTo   int64
}

func (r *refusal) Error() string {
	return fmt.Sprintf("telegram: %s: %d %s", r.method, r.code, r.description)
}

// says reports whether the description contains one of the phrases.
func (r *refusal) says(phrases ...string) bool {
	for _, p := range phrases {
		if strings.Contains(strings.ToLower(r.description), strings.ToLower(p)) {
			return true
		}
	}
	return false
}

// broken is a call without a usable answer.
type broken struct {
	method string
	// reached says that the request may have got to Telegram.
	reached bool
	cause   error
}

func (b *broken) Error() string { return fmt.Sprintf("telegram: %s: %v", b.method, b.cause) }
func (b *broken) Unwrap() error { return b.cause }

// envelope is the frame of every answer.
type envelope struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// upload are the parameters of a call with a file.
type upload struct {
	values map[string]string
	field  string // of the file
	file   *channels.File
}

// encode is the body for params, and its type.
func encode(params any) (body []byte, kind string, err error) {
	u, isUpload := params.(*upload)
	if !isUpload {
		body, err = json.Marshal(params)
		return body, "application/json", err
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range u.values {
		err = errors.Join(err, w.WriteField(name, value))
	}
	part, failed := w.CreateFormFile(u.field, u.file.Name)
	if err = errors.Join(err, failed); err != nil {
		return nil, "", err
	}
	_, err = io.WriteString(part, u.file.Content)
	err = errors.Join(err, w.Close())
	return b.Bytes(), w.FormDataContentType(), err
}

// call posts params and returns the result. Its errors are *refusal and
// *broken, and never hold the token.
func (c *client) call(ctx context.Context, method string, params any, limit time.Duration) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reached := false
	fail := func(err error) error { return &broken{method, reached, c.tame(err)} }

	body, kind, err := encode(params)
	if err != nil {
		return nil, fail(err)
	}
	// Before there is a connection nothing can have been sent.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached = true }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, c.url(method), bytes.NewReader(body))
	if err != nil {
		return nil, fail(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fail(err)
	}
	reached = true // by whatever client was configured
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, fail(fmt.Errorf("read the answer (HTTP %d): %w", resp.StatusCode, err))
	case len(answer) > mostAnswer:
		return nil, fail(fmt.Errorf("the answer has more than %d bytes", mostAnswer))
	}
	return c.open(method, resp.StatusCode, answer)
}

// open takes the result out of an answer.
func (c *client) open(method string, status int, answer []byte) (json.RawMessage, error) {
	var e envelope
	if err := json.Unmarshal(answer, &e); err != nil || !e.OK && e.Code == 0 {
		// Proxies answer with pages of their own. Only the status counts then.
		if status == http.StatusOK {
			return nil, &broken{method, true, errUnreadable}
		}
		e = envelope{Code: status, Description: http.StatusText(status)}
	}
	if e.OK {
		return e.Result, nil
	}
	return nil, &refusal{
		method: method, code: e.Code, description: c.scrub(e.Description),
		after: time.Duration(min(e.Parameters.RetryAfter, mostAfter)) * time.Second, migrateTo: e.Parameters.MigrateTo,
	}
}

// errUnreadable is a 200 that is no Bot API answer.
var errUnreadable = errors.New("the answer is not what the Bot API sends")

// tame takes the URL, which holds the token, out of an error of net/http.
func (c *client) tame(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if text := err.Error(); c.scrub(text) != text {
		return errors.New(c.scrub(text))
	}
	return err
}

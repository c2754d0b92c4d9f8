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

// maxAnswer bounds the bytes read of one answer. A hundred updates of the largest size
// stay far below it.
const maxAnswer = 64 << 20

// maxRetryAfter bounds, in seconds, how long Telegram may ask us to wait.
const maxRetryAfter = 24 * 60 * 60

// client calls the Bot API. It posts JSON itself; docs/decisions/0010 says what the
// library's multipart requests cost.
type client struct {
	// url and file are functions, so that printing a client never shows the token.
	url    func(method string) string
	file   func(path string) string
	redact func(string) string
	http   *http.Client
}

func newClient(base, token string, o Options) *client {
	c := &client{
		url:    func(method string) string { return base + "/bot" + token + "/" + method },
		file:   func(path string) string { return base + "/file/bot" + token + "/" + path },
		redact: func(s string) string { return strings.ReplaceAll(s, token, "<token>") },
		http:   o.HTTP,
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

// newTransport uses many HTTP/1.1 connections. With HTTP/2 a single dead connection
// would block the poll and every send.
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
		// If a thousand chats are answered at once, their calls wait for a free
		// connection. A call that is cancelled while it waits was not sent.
		MaxConnsPerHost: 256,
		// This is shorter than the servers' limits, so that a server rarely closes a
		// connection during a request: we could not know if that message was sent.
		IdleConnTimeout: 20 * time.Second,
	}
}

// apiError is an answer in which Telegram refuses a call.
type apiError struct {
	method      string
	code        int
	description string
	after       time.Duration
	migrateTo   int64
}

func (r *apiError) Error() string {
	return fmt.Sprintf("telegram: %s: %d %s", r.method, r.code, r.description)
}

// contains reports whether the description has one of the phrases, in any case.
func (r *apiError) contains(phrases ...string) bool {
	for _, p := range phrases {
		if strings.Contains(strings.ToLower(r.description), strings.ToLower(p)) {
			return true
		}
	}
	return false
}

// callError is the error of a call that got no usable answer.
type callError struct {
	method string
	// reached says that the request may have reached Telegram.
	reached bool
	cause   error
}

func (b *callError) Error() string { return fmt.Sprintf("telegram: %s: %v", b.method, b.cause) }
func (b *callError) Unwrap() error { return b.cause }

// response is what the Bot API answers to every method.
type response struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// upload is a method whose parameters carry a file. It is sent as
// multipart/form-data, and all others as JSON.
type upload struct {
	values map[string]string
	field  string // the name of the parameter that holds the file
	file   *channels.File
}

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

// call posts params and returns the result. Its errors are *apiError or *callError,
// and never contain the token.
func (c *client) call(ctx context.Context, method string, params any, limit time.Duration) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reached := false
	fail := func(err error) error { return &callError{method, reached, c.hideToken(err)} }

	body, kind, err := encode(params)
	if err != nil {
		return nil, fail(err)
	}
	// Until there is a connection, nothing can have been sent.
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
	reached = true // A configured client may not call the trace.
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fail(fmt.Errorf("read the answer (HTTP %d): %w", resp.StatusCode, err))
	case len(answer) > maxAnswer:
		return nil, fail(fmt.Errorf("the answer has more than %d bytes", maxAnswer))
	}
	return c.decode(method, resp.StatusCode, answer)
}

// decode returns the result of a call, an *apiError if Telegram refused it, or a
// *callError if nobody can tell what happened.
func (c *client) decode(method string, status int, answer []byte) (json.RawMessage, error) {
	var e response
	if err := json.Unmarshal(answer, &e); err != nil || !e.OK && e.Code == 0 {
		// A proxy has answered with a page. Only its status counts.
		if status == http.StatusOK {
			return nil, &callError{method, true, errUnreadable}
		}
		e = response{Code: status, Description: http.StatusText(status)}
	}
	if e.OK {
		return e.Result, nil
	}
	return nil, &apiError{
		method: method, code: e.Code, description: c.redact(e.Description),
		after: time.Duration(min(e.Parameters.RetryAfter, maxRetryAfter)) * time.Second, migrateTo: e.Parameters.MigrateTo,
	}
}

// errUnreadable is the cause of a callError if the answer has status 200 but is not
// from a Bot API.
var errUnreadable = errors.New("the answer is not from the Bot API")

// hideToken removes the URL, which contains the token, from an error of net/http.
func (c *client) hideToken(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if text := err.Error(); c.redact(text) != text {
		return errors.New(c.redact(text))
	}
	return err
}

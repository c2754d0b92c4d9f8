// Package respond is how every HTTP server of ours answers: one writer of JSON, and
// one refusal in the shape of OpenAI's API, because every client library reads that.
//
//	{"error": {"message": "A sentence.", "type": "invalid_request_error", "param": null, "code": "invalid_value"}}
//
// All four keys are always there. message is for people, code for programs, param
// names the field that is wrong. [ReadRefusal] is the other end.
//
// Failures:
//
//	what happens                          what the client gets
//	an answer that cannot be encoded      500, a refusal
//	an error that is not a [Refusal]      500, and not a word of the error
//	a path that no route has              404, a refusal: see [Routes]
//	a method that a path does not have    405 with Allow, a refusal
//	a client that has gone                nothing; it notices that itself
//
// The package knows nothing of ours and starts no goroutines.
package respond

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Refusal is an error that the caller may read.
type Refusal struct {
	// Status is that of the HTTP response. 0: 500.
	Status int
	// Code is the word on which programs branch. "": the usual one of the status.
	Code string
	// Param is the field of the request that is wrong, like "messages[2].role". "": none.
	Param string
	// Sentence is for people.
	Sentence string
	// RetryAfter is when the same request may succeed, for 429 and the 5xx. It is sent
	// in whole seconds. 0: the usual time of the status, if it has one.
	RetryAfter time.Duration
	// NoRepeat says that the client must not send the same request again by itself, as
	// OpenAI's does after some statuses.
	NoRepeat bool
	// Allow lists the methods that a path has, for 405.
	Allow string
	// Cause is what [errors.Is] sees behind the refusal. It is never sent.
	Cause error
}

// Error is the sentence.
func (e *Refusal) Error() string { return e.Sentence }

// Plain says that the sentence is for people as it is: it may begin with words of the
// caller, which look like the name of a package.
func (e *Refusal) Plain() string { return e.Sentence }

// Unwrap returns the cause, or nil.
func (e *Refusal) Unwrap() error { return e.Cause }

// WrongMethod refuses a method that a path does not have; allow lists those it has.
func WrongMethod(allow string) *Refusal {
	return &Refusal{Status: http.StatusMethodNotAllowed, Allow: allow, Sentence: "Use " + allow + " here."}
}

// Temporary reports whether the same request may succeed later.
func (e *Refusal) Temporary() bool {
	return e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests
}

// body is a refusal on the wire.
type body struct {
	Error problem `json:"error"`
}

// problem is OpenAI's error object. Param is null unless a field is to blame.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// usual is what a refusal of a status has if it says nothing else.
type usual struct {
	code       string
	retryAfter time.Duration
}

var usually = map[int]usual{
	http.StatusBadRequest:            {code: "invalid_value"},
	http.StatusUnauthorized:          {code: "invalid_api_key"},
	http.StatusForbidden:             {code: "forbidden"},
	http.StatusNotFound:              {code: "not_found"},
	http.StatusMethodNotAllowed:      {code: "method_not_allowed"},
	http.StatusConflict:              {code: "conflict"},
	http.StatusRequestEntityTooLarge: {code: "too_large"},
	http.StatusUnsupportedMediaType:  {code: "unsupported_media_type"},
	http.StatusUnprocessableEntity:   {code: "unprocessable"},
	http.StatusTooManyRequests:       {code: "rate_limit_exceeded", retryAfter: time.Minute},
	http.StatusInternalServerError:   {code: "internal_error"},
	http.StatusNotImplemented:        {code: "unsupported"},
	http.StatusBadGateway:            {code: "upstream_error", retryAfter: time.Second},
	http.StatusServiceUnavailable:    {code: "unavailable", retryAfter: time.Second},
	http.StatusGatewayTimeout:        {code: "timeout", retryAfter: time.Second},
}

// CodeScope is the code of a 403 that a token with a larger scope would not get.
const CodeScope = "insufficient_scope"

// CodeQuota is the code of a 429 that says that a budget is used up. It is the error's type
// too, as with OpenAI.
const CodeQuota = "insufficient_quota"

// kindOf is the error's type, of which OpenAI's clients know four.
func kindOf(status int, code string) string {
	switch {
	case code == CodeQuota:
		return CodeQuota
	case status >= http.StatusInternalServerError:
		return "server_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	}
	return "invalid_request_error"
}

// unexpected is what the caller learns of an error that is not meant for them.
const unexpected = "Something went wrong here. Try again."

// Refuse answers with the [Refusal] in err. Any other error becomes a 500 that says
// nothing about it, so the caller of Refuse logs it first.
func Refuse(w http.ResponseWriter, err error) {
	var no *Refusal
	if !errors.As(err, &no) {
		no = &Refusal{Sentence: unexpected}
	}
	Head(w, no)
	JSON(w, cmp.Or(no.Status, http.StatusInternalServerError), Body(no))
}

// CodeOf is the word on which programs branch.
func CodeOf(no *Refusal) string {
	return cmp.Or(no.Code, usually[cmp.Or(no.Status, http.StatusInternalServerError)].code)
}

// Body is what JSON makes the body of a refusal of, for those who send it in a stream.
func Body(no *Refusal) any {
	status := cmp.Or(no.Status, http.StatusInternalServerError)
	p := problem{Message: no.Sentence, Type: kindOf(status, no.Code), Code: CodeOf(no)}
	if no.Param != "" {
		p.Param = &no.Param
	}
	return body{p}
}

// Head sets the headers that say more about a refusal, for those who write its body
// themselves.
func Head(w http.ResponseWriter, no *Refusal) {
	h := w.Header()
	after := cmp.Or(no.RetryAfter, usually[no.Status].retryAfter)
	if no.NoRepeat {
		h.Set("X-Should-Retry", "false")
		after = 0
	}
	if after > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(after.Seconds()))))
	}
	if no.Allow != "" {
		h.Set("Allow", no.Allow)
	}
	switch {
	case no.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="dragoman"`)
	case no.Code == CodeScope:
		h.Set("WWW-Authenticate", `Bearer realm="dragoman", error="insufficient_scope"`)
	}
}

// JSON answers with v. Nothing of it is cached.
func JSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		Refuse(w, &Refusal{Status: http.StatusInternalServerError, Sentence: "This answer cannot be encoded."})
		return
	}
	Private(w.Header())
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client notices a broken connection
}

// Private sets what keeps an answer out of caches, and browsers from guessing that it is
// something to run. Answers that [JSON] does not write set it themselves.
func Private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// maxRefusal bounds a refusal that we read, in bytes.
const maxRefusal = 64 << 10

// ReadRefusal reads a response that is not a success. Where the body is no refusal of
// ours, the status line takes the sentence's place. The caller closes the body.
func ReadRefusal(resp *http.Response) *Refusal {
	var b body
	_ = json.NewDecoder(io.LimitReader(resp.Body, maxRefusal)).Decode(&b) // else the status explains it
	e := &Refusal{Status: resp.StatusCode, Code: b.Error.Code, Sentence: cmp.Or(b.Error.Message, resp.Status)}
	if b.Error.Param != nil {
		e.Param = *b.Error.Param
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

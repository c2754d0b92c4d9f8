package wire

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dragoman/agent"
)

// errorBody is an error as a server wrote it. Servers have no common form: the
// error is an object, a string or the whole body; its code is a string, a
// number or null.
type errorBody struct {
	Code    Loose `json:"code"`
	Type    Loose `json:"type"`
	Message Loose `json:"message"`
	Detail  Loose `json:"detail"`
	// Param names the refused part of the request, if the server says it.
	Param Loose `json:"param"`
	// Status is an HTTP status in words, as Google writes it.
	Status   Loose           `json:"status"`
	Metadata json.RawMessage `json:"metadata"`
}

// UnmarshalJSON reads the known forms: {"error":{…}}, {"error":"…"},
// {"message":…,"code":…}, {"detail":…}, and a list of one of those. For
// anything else it leaves e empty.
func (e *errorBody) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 || list[0][0] == '[' {
			return err
		}
		b = list[0]
	}
	type fields errorBody // without this method
	var top struct {
		Error   json.RawMessage `json:"error"`
		Choices json.RawMessage `json:"choices"`
		fields
	}
	if err := json.Unmarshal(b, &top); err != nil {
		return err
	}
	if raw := top.Error; hasError(raw) {
		var inner fields
		if json.Unmarshal(raw, &inner) == nil {
			*e = errorBody(inner)
			e.addUpstream()
		}
		if !e.found() {
			e.Message = Loose(cmp.Or(LooseString(raw), "an error without a message"))
		}
		return nil
	}
	if len(top.Choices) == 0 {
		*e = errorBody(top.fields)
		e.addUpstream()
	}
	return nil
}

// hasError reports whether raw, the value of the field "error", is an error.
func hasError(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

// addUpstream adds the error of the provider behind a router. OpenRouter's own
// message is only "Provider returned error"; the reason is a string in its
// metadata, often another error in JSON.
func (e *errorBody) addUpstream() {
	e.Message = cmp.Or(e.Message, e.Detail)
	var metadata struct {
		Raw Loose `json:"raw"`
	}
	_ = json.Unmarshal(e.Metadata, &metadata) // metadata of another form has no reason
	reason := strings.TrimSpace(string(metadata.Raw))
	if reason == "" {
		return
	}
	// The recursion is bounded: each level escapes the next one, so maxErrorBody
	// holds only a few.
	if inner, known := readError([]byte(reason)); known {
		e.Type += " " + inner.Type + " " + inner.Code
		e.Param = cmp.Or(e.Param, inner.Param)
		reason = inner.text()
	}
	e.Message = Loose(strings.TrimPrefix(string(e.Message)+": "+reason, ": "))
}

// Loose is a JSON string, or any other value as it is written: see [LooseString].
type Loose string

// UnmarshalJSON accepts any value.
func (l *Loose) UnmarshalJSON(b []byte) error {
	*l = Loose(LooseString(b))
	return nil
}

// LooseString returns the text of a JSON string, or any other value as it is
// written. null, {} and [] are "".
func LooseString(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	s = string(raw)
	if s == "{}" || s == "[]" {
		return ""
	}
	return s
}

// readError reads an error of any form. known reports whether it has one of the
// known forms.
func readError(data []byte) (e *errorBody, known bool) {
	e = new(errorBody)
	if json.Unmarshal(data, e) == nil && e.found() {
		return e, true
	}
	return &errorBody{Message: Loose(plainText(data))}, false
}

func (e *errorBody) found() bool { return e.Message != "" || e.Type != "" || e.Code != "" }

func (e *errorBody) text() string { return string(cmp.Or(e.Message, e.Type, e.Code)) }

func (s *Server) statusError(resp *http.Response) error {
	// An unreadable body is no loss: the status is enough.
	encoding, unreadable := encodingOf(resp.Header)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if unreadable == nil {
		body = decodedError(body, encoding)
	} else {
		body = []byte(unreadable.Error())
	}
	e, _ := readError(body)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e = &errorBody{Message: "it redirects, which Dragoman does not follow; set the base URL to the address that it redirects to"}
	}
	failed := s.serverError(e, resp.StatusCode)
	failed.Status, failed.After = resp.StatusCode, retryAfter(resp.Header, time.Now())
	return failed
}

// Explain reads a response that is not a 200 from the server at base. It
// returns the server's message without the key and without secrets in headers,
// or "", and the cause.
func Explain(status int, body []byte, base, key string, headers map[string]string) (message string, cause agent.Cause) {
	var e errorBody
	_ = json.Unmarshal(body, &e) // a body that is not JSON is not worth showing
	all, _ := readError(body)    // but tells who refuses
	u, _, err := ParseBase(base)
	if err != nil {
		u = new(url.URL)
	}
	_, cause = judge(all, status, u.Host)
	return scrub(e.text(), secrets(key, headers, u)), cause
}

// plainText returns the part of body that is worth showing if it is not JSON of
// a known form.
func plainText(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	if strings.HasPrefix(text, "<") {
		return "(a web page)"
	}
	return text
}

// retryAfter returns how long the server asks to wait: it may say so in
// milliseconds, seconds or as a date. It returns 0 if the server does not say,
// and at most a day.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	clamp := func(d float64) time.Duration { return time.Duration(min(max(d, 0), float64(most))) }
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms == ms {
		return clamp(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s == s {
		return clamp(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return clamp(float64(at.Sub(now)))
	}
	return 0
}

// StripURL returns err without the URL that net/http puts before it.
func StripURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// isCertificateError reports whether the server's certificate was refused. That
// is permanent.
func isCertificateError(err error) bool {
	var verify *tls.CertificateVerificationError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &host) || errors.As(err, &authority)
}

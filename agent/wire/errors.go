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

// wireError is an error as a server wrote it. Servers agree on nothing: the
// error is an object, a string, or the whole body; its code is a string, a
// number or null.
type wireError struct {
	Code    string
	Type    string
	Message string
	// Param is the part of the request that is wrong, where that is said.
	Param string
	// Status is an HTTP status in words, as Google writes it.
	Status string
}

// UnmarshalJSON reads the shapes that were seen: {"error":{…}},
// {"error":"…"}, {"message":…,"code":…}, {"detail":…}, and a list of one of
// those. Anything else leaves e empty.
func (e *wireError) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 || list[0][0] == '[' {
			return err
		}
		b = list[0]
	}
	var top struct {
		Error   json.RawMessage `json:"error"`
		Choices json.RawMessage `json:"choices"`
		wireFields
	}
	if err := json.Unmarshal(b, &top); err != nil {
		return err
	}
	if raw := top.Error; failed(raw) {
		var inner wireFields
		if json.Unmarshal(raw, &inner) == nil {
			inner.into(e)
		}
		if !e.found() {
			e.Message = cmp.Or(Loose(raw), "an error without a message")
		}
		return nil
	}
	if len(top.Choices) == 0 {
		top.into(e)
	}
	return nil
}

// failed reports whether the member called error says that there is one.
func failed(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

type wireFields struct {
	Code     json.RawMessage `json:"code"`
	Type     json.RawMessage `json:"type"`
	Message  json.RawMessage `json:"message"`
	Detail   json.RawMessage `json:"detail"`
	Param    json.RawMessage `json:"param"`
	Status   json.RawMessage `json:"status"`
	Metadata json.RawMessage `json:"metadata"`
}

func (f *wireFields) into(e *wireError) {
	*e = wireError{Code: Loose(f.Code), Type: Loose(f.Type), Message: Loose(f.Message), Param: Loose(f.Param), Status: Loose(f.Status)}
	e.Message = cmp.Or(e.Message, Loose(f.Detail))
	f.relayed(e)
}

// relayed adds what the server that it passed the request on to says. OpenRouter has only
// "Provider returned error" to say itself, and the reason is in its
// metadata: as a text, which often is an error in JSON again.
func (f *wireFields) relayed(e *wireError) {
	var metadata struct {
		Raw json.RawMessage `json:"raw"`
	}
	_ = json.Unmarshal(f.Metadata, &metadata) // it says something, or nothing
	said := strings.TrimSpace(Loose(metadata.Raw))
	if said == "" {
		return
	}
	// However deep they are nested, each is a text in another, so that a body
	// of maxErrorBody has no room for many.
	if inner, known := readError([]byte(said)); known {
		e.Type += " " + inner.Type + " " + inner.Code
		e.Param = cmp.Or(e.Param, inner.Param)
		said = inner.text()
	}
	e.Message = strings.TrimPrefix(e.Message+": "+said, ": ")
}

// Loose is a JSON string's text, or any other value as it is written.
func Loose(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	if s = string(raw); s == "{}" || s == "[]" {
		return ""
	}
	return s
}

// readError reads an error, which may be anything; known says that it has one of
// the shapes that were seen.
func readError(data []byte) (e *wireError, known bool) {
	e = new(wireError)
	if json.Unmarshal(data, e) == nil && e.found() {
		return e, true
	}
	return &wireError{Message: plain(data)}, false
}

func (e *wireError) found() bool { return e.Message != "" || e.Type != "" || e.Code != "" }

func (e *wireError) text() string {
	return cmp.Or(e.Message, e.Type, e.Code)
}

// statusError makes the error for an answer that is not a 200.
func (s *Server) statusError(resp *http.Response) error {
	// What cannot be read of a reason is left out: the status is enough.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e, _ := readError(body)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e = &wireError{Message: "it redirects, which is not followed; set the base URL to where it points"}
	}
	failed := s.failure(e, resp.StatusCode)
	failed.Status, failed.After = resp.StatusCode, retryAfter(resp.Header, time.Now())
	return failed
}

// Explain reads an answer that is not a 200, of a server at base with this key and
// headers: what it says about the failure, without secrets, or "", and what that
// means.
func Explain(status int, body []byte, base, key string, headers map[string]string) (says string, cause agent.Cause) {
	var e wireError
	_ = json.Unmarshal(body, &e) // what is not JSON says nothing that is worth showing
	u, _, err := ParseBase(base)
	if err != nil {
		u = new(url.URL)
	}
	return scrub(e.text(), secrets(key, headers, u)), e.cause(status, e.kind(status))
}

// plain is what is worth showing of a body that is not the JSON we know.
func plain(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	if strings.HasPrefix(text, "<") {
		return "(a web page)"
	}
	return text
}

// retryAfter reads when the server wants to be asked again: milliseconds,
// seconds or a date. 0 if it does not say; a day at most.
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

// Bare is err without the URL that net/http puts before it.
func Bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// certificate reports whether err is about who the server is, which does not
// change from one try to the next.
func certificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &host) || errors.As(err, &authority)
}

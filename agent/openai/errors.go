package openai

import (
	"bytes"
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
	if raw := bytes.TrimSpace(top.Error); len(raw) > 0 && string(raw) != "null" && string(raw) != "false" {
		var inner wireFields
		if json.Unmarshal(raw, &inner) == nil {
			inner.into(e)
		}
		if !e.found() {
			e.Message = loose(raw)
		}
		if !e.found() {
			e.Message = "an error without a message"
		}
		return nil
	}
	if len(top.Choices) == 0 {
		top.into(e)
	}
	return nil
}

type wireFields struct {
	Code    json.RawMessage `json:"code"`
	Type    json.RawMessage `json:"type"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

func (f *wireFields) into(e *wireError) {
	*e = wireError{loose(f.Code), loose(f.Type), loose(f.Message)}
	if e.Message == "" {
		e.Message = loose(f.Detail)
	}
}

// loose is a JSON string's text, or any other value as it is written.
func loose(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	if s = string(raw); s == "{}" || s == "[]" {
		return ""
	}
	return s
}

func (e *wireError) found() bool { return e.Message != "" || e.Type != "" || e.Code != "" }

func (e *wireError) text() string {
	for _, s := range []string{e.Message, e.Type, e.Code} {
		if s != "" {
			return saysPrefix + s
		}
	}
	return "the server gives no reason"
}

// overflows are how servers say that a request does not fit the window, in
// lower case: OpenAI, Azure, llama.cpp, Ollama, vLLM, SGLang, LM Studio, TGI,
// Anthropic, Gemini, Groq, xAI, LiteLLM.
var overflows = []string{
	"context_length_exceeded", "exceed_context_size", "contextwindowexceeded",
	"maximum context length", "maximum prompt length", "maximum model length", "max_model_len",
	"model's context length", "max context length", "exceeds the context length", "exceeds maximum context",
	"available context size", "context size has been exceeded", "context size exceeded",
	"context window", "context overflow", "context the overflows",
	"prompt is too long", "prompt too long", "input is too long", "input is too large to process",
	"input token count", "tokens exceed the configured limit", "reduce the length of the messages",
	"reduce the length of the prompt", "max_tokens must be at least 1, got", "`max_new_tokens` must be <=",
	"`inputs` must have less than", "string_above_max_length",
}

// limits are how they say that one has asked for too much in too short a time.
var limits = []string{
	"tokens per min", "requests per min", "tokens per day", "requests per day", "(tpm)", "(rpm)",
	"rate limit", "rate_limit", "too many requests", "overloaded", "resource_exhausted",
}

// refusals are how they say that trying again is no use.
var refusals = []string{
	"insufficient_quota", "exceeded your current quota", "billing", "invalid_api_key", "incorrect api key",
	"api key not valid", "authentication_error", "permission_denied", "model_not_found",
}

// kind classifies e, which came with an HTTP status. A 200 with an error in
// it is judged by its words, or by the status that its code may be.
func (e *wireError) kind(status int) agent.ErrorKind {
	words := strings.ToLower(e.Code + "\n" + e.Type + "\n" + e.Message)
	if code, err := strconv.Atoi(e.Code); status == http.StatusOK && err == nil && code >= 400 && code < 600 {
		status = code
	}
	// A limit on tokens in a time may speak of the context window too, with any
	// status, and making the request shorter would be no remedy.
	limited := status == http.StatusTooManyRequests || mentions(words, limits)
	switch {
	case mentions(words, refusals):
		return agent.ErrorRefused
	case limited:
		return agent.ErrorTemporary
	case status == http.StatusRequestEntityTooLarge:
		return agent.ErrorContext
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return agent.ErrorRefused
	case mentions(words, overflows):
		return agent.ErrorContext
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		return agent.ErrorRefused
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return agent.ErrorTemporary
	case status >= 400 && status < 500, status < 300 && strings.Contains(words, "invalid_request"):
		return agent.ErrorInvalid
	default:
		return agent.ErrorTemporary
	}
}

func mentions(words string, phrases []string) bool {
	for _, p := range phrases {
		if strings.Contains(words, p) {
			return true
		}
	}
	return false
}

// statusError makes the error for an answer that is not a 200.
func (m *Model) statusError(resp *http.Response) error {
	// What cannot be read of a reason is left out: the status is enough.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var e wireError
	if json.Unmarshal(body, &e) != nil || !e.found() {
		e = wireError{Message: plain(body)}
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e = wireError{Message: "it redirects, which is not followed; set the base URL to where it points"}
	}
	return &agent.ModelError{
		Kind:   e.kind(resp.StatusCode),
		Status: resp.StatusCode,
		After:  retryAfter(resp.Header, time.Now()),
		Err:    e.aboutPictures(resp.StatusCode, errors.New("openai: complete: "+m.scrub(e.text()))),
	}
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

// bare is err without the URL that net/http puts before it.
func bare(err error) error {
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

// scrub makes a server's words fit to be shown: one line, not long, and with
// no piece of a secret in it. A server may cut the key it repeats, so that
// every piece of 8 bytes or more goes, not just the whole.
func (m *Model) scrub(s string) string {
	const most, piece = 300, 8
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 4096)], "")), " ")
	// Servers that check requests with pydantic repeat the message that they
	// refuse, and what people wrote does not belong into errors.
	for _, echo := range []string{"'input':", `"input":`, "input_value="} {
		if i := strings.Index(s, echo); i > 0 {
			s = s[:i] + "…"
		}
	}
	for _, secret := range m.secrets {
		if secret == "" {
			continue
		}
		s = strings.ReplaceAll(s, secret, "[key]")
		s = cutPieces(s, secret, piece, "[key]")
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// cutPieces replaces every run of at least piece bytes that s shares with
// secret.
func cutPieces(s, secret string, piece int, by string) string {
	if len(secret) < piece {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 0
		for i+max(n+1, piece) <= len(s) && strings.Contains(secret, s[i:i+max(n+1, piece)]) {
			n = max(n+1, piece)
		}
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(by)
		i += n
	}
	return b.String()
}

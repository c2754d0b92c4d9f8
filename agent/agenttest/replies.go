package agenttest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// EchoReply answers "echo: " and the newest user message. Marks like #1 in other user
// messages of the same turn come before it, so that a test can tell which messages an
// answer covers.
//
// If the newest message contains "!tool NAME {json}", and the request offers that
// tool, it calls the tool first and adds the result to the echo: " -> result". If it
// is asked for a summary in sections, it adds a heading. That makes the server useful
// by hand and in crash campaigns.
func EchoReply(x *Exchange) {
	r := x.Request
	text := echoText(r)
	if name, args, ok := toolCommand(r.LastUser()); ok && r.HasTool(name) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role != "tool" {
			x.Tools(ToolDelta{Index: At(0), ID: fmt.Sprintf("call_%d_%d", r.N, len(r.Messages)), Name: name})
			x.Tools(ToolDelta{Index: At(0), Arguments: args})
			x.End("tool_calls")
			return
		}
		text += " -> " + last.Content
	}
	if len(r.Tools) == 0 && len(r.Messages) > 0 && strings.Contains(r.Messages[0].Content, summaryHeading) {
		text = summaryHeading + "\n" + text
	}
	x.Text(Words(text)...)
	x.End("stop")
}

// summaryHeading is one of the headings of a summary in sections.
const summaryHeading = "## Critical context"

// toolCommand finds "!tool NAME {json}".
func toolCommand(text string) (name, args string, ok bool) {
	_, rest, ok := strings.Cut(text, "!tool ")
	if !ok {
		return "", "", false
	}
	name, args, _ = strings.Cut(strings.TrimSpace(rest), " ")
	end := strings.LastIndexByte(args, '}')
	args = strings.TrimSpace(args[:end+1])
	if !strings.HasPrefix(args, "{") {
		args = "{}"
	}
	return name, args, name != ""
}

// TextReply answers with text.
func TextReply(text string) Reply {
	return func(x *Exchange) {
		x.Text(Words(text)...)
		x.End("stop")
	}
}

// ToolReply calls tools, one after another, each in two pieces.
func ToolReply(calls ...ToolDelta) Reply {
	return func(x *Exchange) {
		for i, c := range calls {
			half := len(c.Arguments) / 2
			x.Tools(ToolDelta{Index: At(i), ID: c.ID, Name: c.Name, Arguments: c.Arguments[:half]})
			x.Tools(ToolDelta{Index: At(i), Arguments: c.Arguments[half:]})
		}
		x.End("tool_calls")
	}
}

// DeltasReply sends each element as one chunk of tool-call pieces.
func DeltasReply(chunks ...[]ToolDelta) Reply {
	return func(x *Exchange) {
		for _, c := range chunks {
			x.Tools(c...)
		}
		x.End("tool_calls")
	}
}

// StatusReply answers with an HTTP error.
func StatusReply(code int, header map[string]string, body string) Reply {
	return func(x *Exchange) { x.Status(code, header, body) }
}

// RawReply sends s as the body of a stream and ends it cleanly.
func RawReply(s string) Reply {
	return func(x *Exchange) { x.Raw(s) }
}

// RateLimit is a 429 with a Retry-After in whole seconds.
func RateLimit(after time.Duration) Reply {
	return StatusReply(http.StatusTooManyRequests, map[string]string{"Retry-After": fmt.Sprint(int(after.Seconds()))},
		errorBody("Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1.", "requests", "rate_limit_exceeded"))
}

// Faults are ways in which real servers fail, by name. A client must report each as
// an error.
var Faults = map[string]Reply{
	"rate-limit":        RateLimit(2 * time.Second),
	"tokens-per-minute": StatusReply(429, nil, errorBody("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000. Please try again in 6s.", "tokens", "rate_limit_exceeded")),
	"quota":             StatusReply(429, nil, errorBody("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota")),
	"server-error":      StatusReply(500, nil, errorBody("The server had an error while processing your request.", "server_error", "")),
	"bad-gateway":       StatusReply(502, map[string]string{"Content-Type": "text/html"}, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"),
	"unauthorized":      StatusReply(401, nil, errorBody("Incorrect API key provided.", "invalid_request_error", "invalid_api_key")),
	"leaky-key":         leakyKey,
	"context-length":    StatusReply(400, nil, errorBody("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", "invalid_request_error", "context_length_exceeded")),
	"bad-request":       StatusReply(400, nil, errorBody("Invalid value: 'wizard'. Supported values are: 'system', 'assistant', 'user', and 'tool'.", "invalid_request_error", "invalid_value")),
	"no-model":          StatusReply(404, nil, errorBody("The model `nope` does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")),
	"error-string":      StatusReply(500, nil, `{"error":"model runner has unexpectedly stopped"}`),
	"error-in-200":      StatusReply(200, nil, errorBody("upstream is overloaded", "server_error", "")),
	"string-in-200":     StatusReply(200, nil, `{"error":"upstream is overloaded"}`),
	"empty-choices":     StatusReply(200, nil, `{"id":"x","object":"chat.completion","choices":[]}`),
	"null":              StatusReply(200, nil, `null`),
	"empty-body":        StatusReply(200, nil, ``),
	"empty-stream":      RawReply("data: {\"id\":\"x\",\"choices\":[]}\n\ndata: [DONE]\n\n"),
	"done-only":         RawReply("data: [DONE]\n\n"),
	"no-finish":         func(x *Exchange) { x.Text("half ", "an ") },
	"cut":               func(x *Exchange) { x.Text("half ", "an "); x.Cut() },
	"cut-mid-json":      func(x *Exchange) { x.Text("half "); x.Raw(`data: {"id":"x","choices":[{"index":0,"del`); x.Cut() },
	"end-mid-json":      func(x *Exchange) { x.Text("half "); x.Raw(`data: {"id":"x","choices":[{"index":0,"del`) },
	"cut-tool":          cutTool,
	"garbage":           RawReply("data: this is not JSON\n\ndata: [DONE]\n\n"),
	"event-error":       func(x *Exchange) { x.Text("half "); x.Raw("event: error\ndata: {\"message\":\"it broke\"}\n\n") },
	"event-error-text":  func(x *Exchange) { x.Text("half "); x.Raw("event: error\ndata: it broke\n\n") },
	"error-frame": func(x *Exchange) {
		x.Text("half ")
		x.Raw("data: {\"error\":{\"message\":\"it broke\",\"code\":502}}\n\n")
	},
	"error-frame-space": func(x *Exchange) {
		x.Text("half ")
		x.Raw("data: { \"error\" : {\"message\":\"it broke\"}}\n\ndata: [DONE]\n\n")
	},
	"error-late-key": func(x *Exchange) {
		x.Raw("data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}],\"error\":{\"code\":502,\"message\":\"it broke\"}}\n\n")
	},
	"error-line":     func(x *Exchange) { x.Text("half "); x.Raw("error: {\"code\":500,\"message\":\"it broke\"}\n\n") },
	"comments-error": func(x *Exchange) { comments(x, 3); x.Raw("data: {\"error\":{\"message\":\"it broke\"}}\n\n") },
	"html":           StatusReply(200, map[string]string{"Content-Type": "text/html; charset=utf-8"}, "<!doctype html><title>Welcome</title>"),
	"stall":          func(x *Exchange) { x.Text("half "); x.Stall() },
	"stall-at-start": func(x *Exchange) { x.Stall() },
	"stall-header":   func(x *Exchange) { x.Raw(""); x.Stall() },
	"huge-body":      huge("", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\""+strings.Repeat("x", 1000)+"\"}}]}\n\n"),
	"huge-line":      huge("data: ", strings.Repeat("x", 1024)),
	"huge-error":     func(x *Exchange) { x.Status(500, nil, ""); hugeBody(x, strings.Repeat("x", 1024)) },
	"huge-whole": func(x *Exchange) {
		x.Status(200, nil, `{"choices":[{"message":{"content":"`)
		hugeBody(x, strings.Repeat("x", 1024))
	},
	"closed-at-start": func(x *Exchange) { x.Cut() },
}

// KeepAliveReply sends n comments before an ordinary answer.
func KeepAliveReply(n int, text string) Reply {
	return func(x *Exchange) {
		comments(x, n)
		x.Text(Words(text)...)
		x.End("stop")
	}
}

func comments(x *Exchange, n int) {
	for range n {
		x.Raw(": keep-alive\n\n")
	}
}

// leakyKey repeats the API key, in full and in part, as some proxies do.
func leakyKey(x *Exchange) {
	key := strings.TrimPrefix(x.Request.Header.Get("Authorization"), "Bearer ")
	x.Status(401, nil, errorBody("Incorrect API key provided: "+key+" (starts with "+key[:len(key)*2/3]+"). Header was Authorization: Bearer "+key, "invalid_request_error", "invalid_api_key"))
}

func cutTool(x *Exchange) {
	x.Tools(ToolDelta{Index: At(0), ID: "call_1", Name: "write_file", Arguments: `{"path":"a","cont`})
	x.Cut()
}

// huge streams line again and again after begin, up to 1 GiB; a client without a
// limit would run out of memory.
func huge(begin, line string) Reply {
	return func(x *Exchange) {
		x.Raw(begin)
		hugeBody(x, line)
	}
}

func hugeBody(x *Exchange, line string) {
	for range (1 << 30) / len(line) {
		x.write(line)
	}
}

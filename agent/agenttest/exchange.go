package agenttest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Reply handles one request.
type Reply func(*Exchange)

// ToolDelta is a piece of a tool call. Index is left out if nil, the other fields if
// empty.
type ToolDelta struct {
	Index     *int
	ID        string
	Name      string
	Arguments string
	// ExtraContent is JSON beside the call; Gemini puts its signature there.
	ExtraContent string
}

// At returns a [ToolDelta] index.
func At(i int) *int { return &i }

// Exchange is one request with the means to answer it. Its methods write a stream or,
// if the client asked for none, collect one JSON answer. Once the client or the
// server is gone they end the reply by panicking with [http.ErrAbortHandler], as is
// usual in net/http.
type Exchange struct {
	Request *Request

	w       http.ResponseWriter
	ctx     context.Context // the request's; an Exchange lives no longer
	o       *Options
	started bool // the header is written
	waited  bool // FirstToken has passed
	whole   wholeAnswer
	raw     bool // the reply wrote its own body
}

// wholeAnswer is an answer for a client that asked for no stream. It is collected
// piece by piece and written as one JSON document.
type wholeAnswer struct {
	text, reasoning strings.Builder
	calls           []ToolDelta
	finish          string
	usage           string
}

// add adds a piece of a call, which may continue the one before it.
func (w *wholeAnswer) add(d ToolDelta) {
	if d.Index != nil && *d.Index < len(w.calls) {
		w.calls[*d.Index].Arguments += d.Arguments
		return
	}
	w.calls = append(w.calls, d)
}

// Wait pauses the reply.
func (x *Exchange) Wait(d time.Duration) {
	if d <= 0 {
		return
	}
	x.Flush()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-x.ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// Stall sends nothing more until the client or the server goes away.
func (x *Exchange) Stall() {
	x.Flush()
	<-x.ctx.Done()
	panic(http.ErrAbortHandler)
}

// Cut closes the connection in the middle of the answer.
func (x *Exchange) Cut() {
	x.Flush()
	panic(http.ErrAbortHandler)
}

// Flush sends what was written so far.
func (x *Exchange) Flush() {
	if f, ok := x.w.(http.Flusher); ok && x.started {
		f.Flush()
	}
}

// Status answers with a status and any body instead of a stream.
func (x *Exchange) Status(code int, header map[string]string, body string) {
	x.raw, x.started = true, true
	x.w.Header().Set("Content-Type", "application/json")
	for k, v := range header {
		x.w.Header().Set(k, v)
	}
	x.w.WriteHeader(code)
	x.write(body)
}

// Raw writes any bytes into the stream.
func (x *Exchange) Raw(s string) {
	x.start()
	x.raw = true
	x.write(s)
}

// Text streams content, one chunk for each piece.
func (x *Exchange) Text(pieces ...string) {
	for _, p := range pieces {
		x.pace()
		if !x.Request.Stream {
			x.whole.text.WriteString(p)
			continue
		}
		x.chunk(`{"content":`+quote(p)+`}`, "null")
	}
}

// Reasoning streams a piece of reasoning_content.
func (x *Exchange) Reasoning(s string) {
	x.pace()
	if !x.Request.Stream {
		x.whole.reasoning.WriteString(s)
		return
	}
	x.chunk(`{"reasoning_content":`+quote(s)+`}`, "null")
}

// Tools streams one chunk with pieces of tool calls.
func (x *Exchange) Tools(deltas ...ToolDelta) {
	x.pace()
	if !x.Request.Stream {
		for _, d := range deltas {
			x.whole.add(d)
		}
		return
	}
	x.chunk(`{"tool_calls":`+toolJSON(deltas)+`}`, "null")
}

// Finish sends the finish reason.
func (x *Exchange) Finish(reason string) {
	if !x.Request.Stream {
		x.whole.finish = reason
		return
	}
	x.chunk(`{}`, quote(reason))
}

// Usage sends the usage chunk if the client wants one.
func (x *Exchange) Usage(input, output, cached int) {
	u := `{"prompt_tokens":` + strconv.Itoa(input) + `,"completion_tokens":` + strconv.Itoa(output) +
		`,"total_tokens":` + strconv.Itoa(input+output) + `,"prompt_tokens_details":{"cached_tokens":` + strconv.Itoa(cached) + `}}`
	if !x.Request.Stream {
		x.whole.usage = u
		return
	}
	if x.Request.IncludeUsage {
		x.start()
		x.write(`data: {"id":"chatcmpl-` + strconv.Itoa(x.Request.N) + `","object":"chat.completion.chunk","choices":[],"usage":` + u + "}\n\n")
	}
}

// Done ends the stream with [DONE].
func (x *Exchange) Done() {
	if x.Request.Stream {
		x.start()
		x.write("data: [DONE]\n\n")
	}
}

// End is Finish, Usage (roughly estimated) and Done.
func (x *Exchange) End(reason string) {
	x.Finish(reason)
	x.Usage(len(x.Request.Body)/4, 8, 0)
	x.Done()
}

// pace waits for the configured latencies.
func (x *Exchange) pace() {
	if !x.waited {
		x.waited = true
		x.Wait(x.o.FirstToken)
		return
	}
	x.Wait(x.o.Latency)
}

func (x *Exchange) start() {
	if x.started {
		return
	}
	x.started = true
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
}

func (x *Exchange) chunk(delta, finish string) {
	x.start()
	x.write(`data: {"id":"chatcmpl-` + strconv.Itoa(x.Request.N) + `","object":"chat.completion.chunk","created":1700000000,"model":` +
		quote(x.Request.Model) + `,"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n")
}

func (x *Exchange) write(s string) {
	if _, err := io.WriteString(x.w, s); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// close writes the whole answer if the client asked for no stream.
func (x *Exchange) close() {
	if x.raw || x.Request.Stream {
		return
	}
	message := `{"role":"assistant","content":` + quote(x.whole.text.String())
	if s := x.whole.reasoning.String(); s != "" {
		message += `,"reasoning_content":` + quote(s)
	}
	if len(x.whole.calls) > 0 {
		message += `,"tool_calls":` + toolJSON(x.whole.calls)
	}
	finish, usage := "null", "null"
	if x.whole.finish != "" {
		finish = quote(x.whole.finish)
	}
	if x.whole.usage != "" {
		usage = x.whole.usage
	}
	writeJSON(x.w, http.StatusOK, `{"id":"chatcmpl-`+strconv.Itoa(x.Request.N)+`","object":"chat.completion","created":1700000000,"model":`+
		quote(x.Request.Model)+`,"choices":[{"index":0,"message":`+message+`},"finish_reason":`+finish+`}],"usage":`+usage+`}`)
}

func toolJSON(deltas []ToolDelta) string {
	parts := make([]string, 0, len(deltas))
	for _, d := range deltas {
		s := "{"
		if d.Index != nil {
			s += `"index":` + strconv.Itoa(*d.Index) + ","
		}
		if d.ID != "" {
			s += `"id":` + quote(d.ID) + `,"type":"function",`
		}
		if d.ExtraContent != "" {
			s += `"extra_content":` + d.ExtraContent + ","
		}
		s += `"function":{`
		if d.Name != "" {
			s += `"name":` + quote(d.Name) + ","
		}
		parts = append(parts, s+`"arguments":`+quote(d.Arguments)+"}}")
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

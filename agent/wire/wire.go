// Package wire makes calls to model servers. It holds what all APIs share: the
// connection ([Server]), the interface of an API's JSON ([Codec]), the [Traits]
// of a model on its server, and the classification of errors.
//
// An answer is returned only if it is complete. Every other outcome is an error
// with a kind and a cause. It never retries.
//
// Goroutines: none but the timer of a call, which ends with the call.
package wire

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"slices"

	"dragoman/agent"
	"dragoman/sessions"
)

// The APIs that have a codec, as model.api names them.
const (
	APIChat      = "chat"      // POST /chat/completions
	APIResponses = "responses" // POST /responses
	APIMessages  = "messages"  // POST /messages, Anthropic's
)

// Traits say what a model on a server accepts. The zero value suits a server
// that accepts all of documented chat completions.
type Traits struct {
	// API is one of the constants above; "" is APIChat.
	API string
	// NoTools: the server refuses requests with tools.
	NoTools bool
	// SingleCall: the server refuses messages with more than one tool call.
	SingleCall bool
	// NoTemperature: the server accepts only its default temperature.
	NoTemperature bool
	// CompletionTokens: the limit of an answer is called max_completion_tokens.
	CompletionTokens bool
	// NoUsage: the server refuses stream_options.
	NoUsage bool
	// ToolsNeedEffort is the only reasoning effort with which the server accepts
	// tools; "" if any will do.
	ToolsNeedEffort string
	// Efforts are the reasoning efforts that the model knows, from least to most.
	// Empty: it takes none. nil: unknown, so the requested effort is sent. See
	// [Traits.Effort].
	Efforts []string
	// NeedsReasoning: every message with tool calls needs reasoning_content, even
	// if another model wrote it (DeepSeek V4, Kimi K2.6).
	NeedsReasoning bool
	// NeedsSignatures: every tool call needs a thought signature, even if another
	// model made it (Gemini 3).
	NeedsSignatures bool
	// JSONSchema: the server obeys response_format with a JSON schema.
	JSONSchema bool
	// NeedsMaxTokens is the token limit to send if the request has none. 0: a
	// request may have none. Anthropic requires a limit.
	NeedsMaxTokens int
}

// effortLevels are the known reasoning efforts, from least to most.
var effortLevels = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Effort returns the reasoning effort to send when asked was requested: the
// nearest that the model knows, preferably a lower one. It returns "none" only
// if that was requested, and "" for a model that takes no effort.
func (t *Traits) Effort(asked string) string {
	at := slices.Index(effortLevels, asked)
	if at < 0 || t.Efforts == nil || slices.Contains(t.Efforts, asked) {
		return asked
	}
	for i := at; i >= 0; i-- {
		if e := effortLevels[i]; slices.Contains(t.Efforts, e) && (e != "none" || asked == "none") {
			return e
		}
	}
	for _, e := range effortLevels[at:] {
		if slices.Contains(t.Efforts, e) {
			return e
		}
	}
	return ""
}

// Codec knows the JSON of one API. It is safe for concurrent use. It may keep
// the encoded tools, which are usually those of the previous request.
type Codec interface {
	// Path returns what follows the base URL, like "/chat/completions".
	Path() string
	// Encode writes the body of a streaming request, as parts to send one after
	// the other.
	Encode(in *Input) (net.Buffers, error)
	// Decode returns an empty answer to in.
	Decode(in *Input, onDelta func(agent.Delta)) Answer
}

// Input is one request to a server.
type Input struct {
	Request *agent.Request
	Traits  Traits
	// To is the receiver; To.Model is the name of the model. Data that a provider
	// attached to a message returns only to that provider: see
	// [sessions.Message.AttachedBy].
	To sessions.Provenance
	// Pictures returns the pictures of a message to show to the model. If nil,
	// there are none.
	Pictures func(m *sessions.Message) []Picture
	// OmitAttached leaves out the data that providers attached.
	OmitAttached bool
	// Extra are fields of the body from the configuration. They replace fields of
	// the same name at the top level; null removes one. The server adds them;
	// codecs ignore them.
	Extra map[string]json.RawMessage
}

// Picture is an image to send.
type Picture struct {
	MediaType string // like image/png
	Data      []byte
}

// DataURL returns p as a data: URL.
func (p Picture) DataURL() string {
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// Answer collects the events of one stream.
type Answer interface {
	// Add takes the data of one event: a JSON object that is valid only during
	// the call. event is its type, or "". Add does not get errors that come as an
	// event of type error or as an object with the field error. It returns errors
	// of other forms as *[StreamError].
	//
	// progress reports whether the event holds a piece of the answer: text, a
	// thought, or part of a tool call. A ping or an empty delta is not progress:
	// a server that sends nothing else has stalled.
	Add(event string, data []byte) (progress bool, err error)
	// Finished reports whether only the end of the stream is missing.
	Finished() bool
	// Check returns what is wrong with an answer whose stream has ended.
	Check() error
	// Fill writes the response into out.
	Fill(out *agent.Response)
}

// StreamError is an error that a server reports in a stream or in a 200.
type StreamError struct {
	// Data describes the error: usually a JSON object.
	Data json.RawMessage
}

// Error does not quote the server, because its words must first be made safe
// for logs.
func (e *StreamError) Error() string { return "the server reports an error" }

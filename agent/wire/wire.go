// Package wire holds what every way to talk to a model server shares: the
// contract between a [Codec], which knows one API's JSON, and the connection
// below it, and the [Traits] of a model on its server.
package wire

import (
	"encoding/json"
	"net"

	"dragoman/agent"
	"dragoman/sessions"
)

// The APIs that there are codecs for, as model.api names them.
const (
	APIChat      = "chat"      // POST /chat/completions
	APIResponses = "responses" // POST /responses
	APIMessages  = "messages"  // POST /messages, Anthropic's
)

// Traits say what one model on one server takes. The zero value suits a server
// that takes whatever chat completions document.
type Traits struct {
	// API is one of the constants above; "" is APIChat.
	API string
	// NoTools: a request with tools is refused.
	NoTools bool
	// OneCall: a message with more than one tool call is refused.
	OneCall bool
	// NoTemperature: only the server's own temperature is taken.
	NoTemperature bool
	// CompletionTokens: the bound of an answer is called max_completion_tokens.
	CompletionTokens bool
	// NoUsage: stream_options is refused.
	NoUsage bool
	// ToolsNeed is the reasoning effort without which tools are refused; ""
	// if there is no such rule.
	ToolsNeed string
	// Efforts are the reasoning efforts that the model knows, from least to
	// most; empty: it takes none; nil: unknown, so that whatever was asked for
	// is sent. See [Traits.Effort].
	Efforts []string
	// OwnThoughts: every message with tool calls must come with reasoning_content
	// (DeepSeek V4, Kimi K2.6), also one that another model wrote.
	OwnThoughts bool
	// Signatures: the same with the thought signature of a call (Gemini 3).
	Signatures bool
	// Formats: the server obeys response_format with a JSON schema.
	Formats bool
	// NeedsMaxTokens is the bound that a request must state when nobody asked
	// for one; 0: it may be left out. Anthropic wants one.
	NeedsMaxTokens int
}

// Codec knows the JSON of one API. It is safe for concurrent use, and may keep
// what it has written of tools: they are those of the request before.
type Codec interface {
	// Path follows the base URL: "/chat/completions".
	Path() string
	// Encode writes the body of a streaming request as parts that are sent one
	// after the other.
	Encode(in *Input) (net.Buffers, error)
	// Decode begins an answer to in.
	Decode(in *Input, onDelta func(agent.Delta)) Answer
}

// Input is one request on its way to a server.
type Input struct {
	Request *agent.Request
	Traits  Traits
	// To is where it goes. What a provider attached to a message is sent back
	// only there: [sessions.Message.AttachedBy]. Its Model is the model's name.
	To sessions.Provenance
	// Pictures returns the pictures of a message that the model is to be shown.
	// It may be nil: there are none.
	Pictures func(m *sessions.Message) []Picture
	// Bare leaves out what providers attached.
	Bare bool
	// Extra are fields of the body that the configuration adds. They replace
	// fields of the same name at the top level; null takes one out. The
	// connection puts them in; codecs leave them alone.
	Extra map[string]json.RawMessage
}

// Picture is an image as it is sent.
type Picture struct {
	MediaType string // like image/png
	Data      []byte
}

// Answer gathers the events of one stream.
type Answer interface {
	// Add takes the data of one event, a JSON object that is valid only during
	// the call. event is its type, "" if it has none. Errors in the stream never
	// get here if they come as an event of the type error or as an object with
	// a member error; those of another form Add returns as *[Failure].
	//
	// progress says that a piece of the answer was in it: text, a thought, part
	// of a tool call. A ping or an empty delta is none, and a server that sends
	// nothing else has stalled.
	Add(event string, data []byte) (progress bool, err error)
	// Finished reports whether only the end of the stream is missing.
	Finished() bool
	// Check says what is wrong with an answer whose stream ended well.
	Check() error
	// Fill makes out the response that the answer came to.
	Fill(out *agent.Response)
}

// Failure is an error that a server reports in a stream, or in a 200.
type Failure struct {
	// Data describes it: a JSON object, as a rule.
	Data json.RawMessage
}

// Error does not quote the server: its words are made safe for logs first.
func (e *Failure) Error() string { return "the server reports an error" }

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Request is one call to a model.
type Request struct {
	System string
	// Messages take turns, and window.Validate accepts them: none is empty, ids of
	// calls are unique, arguments are objects, and results follow their calls.
	Messages []sessions.Message
	// Tools are sorted by name; each has Parameters. Nobody changes the list.
	Tools []Spec
	// MaxTokens bounds the answer; 0 leaves it to the server.
	MaxTokens int
	// Temperature is left to the server if nil.
	Temperature *float32
	// Effort is how much the model is to reason: none, minimal, low, medium,
	// high, xhigh or max. "" leaves it to the server, or to what its API wants
	// beside tools.
	Effort string
	// Key names the conversation to the provider's prompt cache. It holds
	// nothing that identifies a person. "": no name.
	Key string
	// Format is a JSON schema that the answer is to follow, where the server
	// obeys one; nil: free text.
	Format json.RawMessage
	// Asked, if not nil, is shared by all tries of one answer.
	Asked *Asked
}

// Asked keeps one answer with one model, where several may give it ([Several]).
type Asked struct {
	// Model is who was asked last. A model over several sets it before each call.
	Model string
	// Shown says that people saw some of the answer. Then only Model may be
	// asked again: another model would write another answer.
	Shown bool
}

// Delta is a piece of an answer while it streams.
type Delta struct {
	Text      string
	Reasoning string
}

// Response is a model's whole answer.
type Response struct {
	// Message is the assistant message: content, or tool calls, or both.
	Message sessions.Message
	// Finish is the reason that the server gave: "stop", "tool_calls", "length",
	// "content_filter".
	Finish string
	// Thought says that the model reasoned, whatever else came of it.
	Thought bool
	Usage   *sessions.Usage
	// Refused says that the server marks the answer as a refusal: its content
	// says why the model does not do what it was asked for. People are to read
	// that; it is nothing to go on with, as a summary is.
	Refused bool
}

// Model answers requests.
type Model interface {
	// Name is the model's name for people and records.
	Name() string
	// Complete makes one call and streams it to onDelta (which may be nil and
	// must not block). A response is whole: a stream that broke off is an
	// error. It never retries. Errors are *ModelError or ctx's.
	Complete(ctx context.Context, r Request, onDelta func(Delta)) (Response, error)
}

// Abilities are what is known of a model on its server. The zero value is a
// model of which nothing is known, and that can do all.
type Abilities struct {
	// NoTools: it takes no tools. It is offered none, and its prompt promises none.
	NoTools bool
	// NoVision: it takes no pictures.
	NoVision bool
	// Window is how many tokens it takes, answer included; 0: unknown.
	Window int
	// Apart: its server never leaves thoughts in the text of an answer, so that the
	// first answer can be shown while it grows.
	Apart bool
}

// Able is a [Model] that knows what it can do. What it knows may change: it
// learns from what its server refuses. Abilities is asked before each request:
// it must not block, and is safe for concurrent use. Without it, a model is
// taken to be able to do all, in the window that is configured.
type Able interface {
	Abilities() Abilities
}

// AbilitiesOf returns what is known of m, or of the model that m wraps, which
// its method Unwrap() Model returns.
func AbilitiesOf(m Model) Abilities {
	if able, ok := inside[Able](m); ok {
		return able.Abilities()
	}
	return Abilities{}
}

// Several is a [Model] over several, any of which may answer. Without it, a
// model's own name is the only one.
type Several interface {
	// Names are those of all of them.
	Names() []string
}

// inside finds T in m, or in the model that m wraps, which its method
// Unwrap() Model returns.
func inside[T any](m Model) (found T, ok bool) {
	for m != nil {
		if found, ok = m.(T); ok {
			return found, true
		}
		outer, wraps := m.(interface{ Unwrap() Model })
		if !wraps {
			break
		}
		m = outer.Unwrap()
	}
	return found, false
}

// ErrorKind is what a failed model call means for the caller.
type ErrorKind string

// The kinds of model errors.
const (
	ErrorTemporary ErrorKind = "temporary" // try again: network, 429, 5xx, a broken stream
	ErrorContext   ErrorKind = "context"   // the request does not fit into the window
	ErrorRefused   ErrorKind = "refused"   // bad key, unknown model, quota used up: trying again is no use
	ErrorInvalid   ErrorKind = "invalid"   // the server says the request is malformed
)

// Cause names what is wrong between us and a model's server.
type Cause string

// The causes that have a sentence of their own.
const (
	CauseKey         Cause = "key"         // the API key is missing or wrong
	CauseModel       Cause = "model"       // the server has no such model
	CauseQuota       Cause = "quota"       // the account is used up
	CauseURL         Cause = "url"         // nothing answers at this path
	CauseFilter      Cause = "filter"      // a content filter refused it
	CauseUnreachable Cause = "unreachable" // no connection, no such host
	CauseBusy        Cause = "busy"        // too many requests, or overloaded
	CauseTools       Cause = "tools"       // tools are refused
	CauseParameter   Cause = "parameter"   // the server does not take a setting
)

// ModelError is why a model call failed. Its text names no secret.
type ModelError struct {
	Kind   ErrorKind
	Status int           // HTTP status, 0 if none
	After  time.Duration // Retry-After, 0 if none
	// Limit and Asked are set where the server allows fewer tokens in a time
	// than the request alone has: waiting is no use, and Kind is ErrorRefused.
	Limit, Asked int
	// Cause is what is wrong, where that is known; it has a sentence for people
	// and one for whoever runs this. "": unknown.
	Cause Cause
	Err   error
}

func (e *ModelError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %v", e.Kind, e.Status, e.Err)
	}
	return fmt.Sprintf("model: %s: %v", e.Kind, e.Err)
}

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Passing reports whether the failure may pass by itself, and how long the server
// wants to be left alone.
func (e *ModelError) Passing() (after time.Duration, passes bool) {
	return e.After, e.Kind == ErrorTemporary
}

// Spec describes a tool to the model and to the loop.
type Spec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
	// Parallel says that calls of this tool may run beside others.
	Parallel bool
	// Repeatable says that running a call again, when it is unknown whether
	// it ran, does no harm.
	Repeatable bool
}

// Call is one invocation of a tool.
type Call struct {
	ID   string
	Args json.RawMessage // a JSON object; the loop has checked that
	// Who and where, for tools with a memory.
	Key     channels.Key
	Person  channels.Person // the newest message's sender
	Private bool
	Turn    string
	// Operator says that whoever runs Dragoman asks: see [Turn.Operator].
	Operator bool
}

// Tool is something the model can do.
type Tool interface {
	// Spec is constant.
	Spec() Spec
	// Run does it. The result and the error's text go to the model, so neither
	// may hold a secret. ctx has the tool's deadline.
	Run(ctx context.Context, c Call) (string, error)
}

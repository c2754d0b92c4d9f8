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
	// Messages passes window.Validate: roles alternate, no message is empty, call ids
	// are unique, arguments are objects, and results follow their calls.
	Messages []sessions.Message
	// Tools are sorted by name, and each has Parameters. The list must not be
	// changed.
	Tools []Spec
	// MaxTokens limits the answer; 0 leaves it to the server.
	MaxTokens int
	// Temperature, if nil, is left to the server.
	Temperature *float32
	// Effort says how much the model should reason: none, minimal, low, medium, high,
	// xhigh or max. "" leaves it to the server, or to what its API requires with tools.
	Effort string
	// Key identifies the conversation to the provider's prompt cache, and no person. "":
	// none.
	Key string
	// Format is a JSON schema that the answer should follow, on servers that enforce
	// one. Nil: free text.
	Format json.RawMessage
	// TopP, PresencePenalty, FrequencyPenalty, Stop and Seed are those of [Wishes]. An
	// API that has none of a kind is not sent it.
	TopP, PresencePenalty, FrequencyPenalty *float32
	Stop                                    []string
	Seed                                    *int
	// MustCall: the answer has to call one of Tools. OneCall: at most one.
	MustCall, OneCall bool
	// Pin, if not nil, is shared by all tries of one answer.
	Pin *Pin
	// Until, if not zero, is when the caller gives up. Signs of life of a server that
	// sends nothing of an answer prolong a call until then.
	Until time.Time
}

// Pin keeps all tries of one answer on the same model where several could give it
// ([FallbackModel]).
type Pin struct {
	// Model is the name of the model that was called last. A model with fallbacks
	// sets it before each call.
	Model string
	// Shown says that people have seen part of the answer. Then only Model may be
	// called again, because another model would write a different answer.
	Shown bool
	// Skip, if not "", names a model that gave an empty answer. Another one is asked, if
	// there is one.
	Skip string
}

// Delta is the next piece of a streamed answer.
type Delta struct {
	Text      string
	Reasoning string
}

// Response is a model's complete answer.
type Response struct {
	// Message is the assistant message: content, tool calls, or both.
	Message sessions.Message
	// Finish is the server's reason for ending: "stop", "tool_calls", "length" or
	// "content_filter", or in the server's words if they mean none of these.
	Finish string
	// Thought says that the model reasoned, whether or not an answer followed.
	Thought bool
	Usage   *sessions.Usage
	// Model is the model that answered, as its server names it: often a dated version of
	// the one that was asked. It is foreign text. "": the server named none.
	Model string
	// Refused says that the server marked the answer as a refusal. People should read
	// Content, but it must not be used as a summary.
	Refused bool
}

// Model answers requests. It must be safe for concurrent use.
type Model interface {
	// Name is the model's name as people and records see it.
	Name() string
	// Complete makes one call and streams it to onDelta, which may be nil and must
	// not block. A stream that breaks off is an error, never a short response.
	// Complete does not retry. Errors are *ModelError or ctx's. It must not keep
	// r.Messages: another turn may get that memory. Their texts may be kept.
	Complete(ctx context.Context, r Request, onDelta func(Delta)) (Response, error)
}

// Abilities say what a model on its server can do. An unknown model has the zero value:
// it is assumed able to do everything.
type Abilities struct {
	// NoTools: it accepts none, so it is offered none and its prompt mentions none.
	NoTools bool
	// NoVision: the model accepts no pictures.
	NoVision bool
	// Window is its context length in tokens, answer included; 0: unknown.
	Window int
	// SeparatesThoughts: its server never mixes thoughts into the answer's text, so
	// even the model's first answer can be shown while it streams.
	SeparatesThoughts bool
}

// ModelWithAbilities is a [Model] that knows what it can do. The answer may change,
// because models learn from what their servers refuse. Abilities is called before each
// request: it must not block, and must be safe for concurrent use. Other models are
// assumed able to do everything within the configured window.
type ModelWithAbilities interface {
	Abilities() Abilities
}

// AbilitiesOf returns the abilities of m, or of the model that m wraps.
func AbilitiesOf(m Model) Abilities {
	if able, ok := inside[ModelWithAbilities](m); ok {
		return able.Abilities()
	}
	return Abilities{}
}

// FallbackModel is a [Model] made of several, any of which may answer.
type FallbackModel interface {
	// Names returns the names of all of them.
	Names() []string
}

// ToolAs finds a T in t, or in a tool that t wraps and returns from Unwrap() Tool.
func ToolAs[T any](t Tool) (found T, ok bool) {
	for t != nil {
		found, ok = t.(T)
		if ok {
			return found, true
		}
		outer, wraps := t.(interface{ Unwrap() Tool })
		if !wraps {
			break
		}
		t = outer.Unwrap()
	}
	return found, false
}

// inside finds a T in m, or in a model that m wraps and returns from Unwrap() Model.
func inside[T any](m Model) (found T, ok bool) {
	for m != nil {
		found, ok = m.(T)
		if ok {
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

// ErrorKind says what the caller can do about a failed model call.
type ErrorKind string

// The kinds of model errors.
const (
	ErrorTemporary ErrorKind = "temporary" // try again: network, 429, 5xx, a broken stream
	ErrorContext   ErrorKind = "context"   // the request does not fit into the window
	ErrorRefused   ErrorKind = "refused"   // bad key, unknown model, quota used up: a retry cannot help
	ErrorInvalid   ErrorKind = "invalid"   // the server says the request is malformed
)

// Cause says what is wrong between Dragoman and a model's server.
type Cause string

// The causes that have their own sentence for users.
const (
	CauseKey         Cause = "key"          // the API key is missing or wrong
	CauseAccess      Cause = "access"       // the server knows the key and refuses (403)
	CauseRegion      Cause = "region"       // it does not serve this country
	CauseModelAccess Cause = "model_access" // the key may not use this model
	CauseBlocked     Cause = "blocked"      // something before the server refused
	CauseModel       Cause = "model"        // the server has no such model
	CauseQuota       Cause = "quota"        // the account has no credit left
	CauseURL         Cause = "url"          // the server has nothing at this path
	CauseFilter      Cause = "filter"       // a content filter refused it
	CauseUnreachable Cause = "unreachable"  // no connection, no such host
	CauseBusy        Cause = "busy"         // too many requests, or overloaded
	CauseTools       Cause = "tools"        // the server refuses tools
	CauseParameter   Cause = "parameter"    // the server refuses a setting
	CauseCertificate Cause = "certificate"  // the server's certificate is not trusted
	CauseSlow        Cause = "slow"         // it did not answer within the configured time
)

// ModelError is a failed model call. Its text contains no secret.
type ModelError struct {
	Kind   ErrorKind
	Status int           // HTTP status, 0 if none
	After  time.Duration // Retry-After, 0 if none
	// Limit and Requested are set if the server's limit of tokens per minute is
	// smaller than this one request. Waiting cannot help, and Kind is ErrorRefused.
	Limit, Requested int
	// Cause, if known, selects a sentence for people and one for the operator.
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

// Temporary reports whether a retry may help, and how long the server asked us to wait.
func (e *ModelError) Temporary() (after time.Duration, passes bool) {
	return e.After, e.Kind == ErrorTemporary
}

// Spec describes a tool to the model and to the loop.
type Spec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
	// Parallel says that calls of this tool may run at the same time as others.
	Parallel bool
	// Repeatable says that a second run of a call does no harm. It decides about calls
	// that a crash interrupted.
	Repeatable bool
	// Effect is what its calls do, unless the tool is an [EffectTool]. "" counts as
	// EffectOut.
	Effect Effect `json:"-"`
	// Unattended says that a clean call of EffectOut may run where nobody can be asked,
	// such as in a job, though the configuration does not say so.
	Unattended bool `json:"-"`
	// Origin is whose words its results are, unless [Call.Mark] says more. "" is
	// sessions.OriginOthers.
	Origin sessions.Origin `json:"-"`
	// Foreign says that the words above are of Origin, too: a request that offers the tool has
	// been read by nobody who answers for it.
	Foreign bool `json:"-"`
	// Keep decides which tools a model gets whose window has no room for all: those
	// with the lowest Keep are left out first. 0 is for tools of which nothing is
	// known. A tool that answers often need has more, one that they seldom need less.
	Keep int
	// Patience is how long a call may take, where that is more than Options.ToolTimeout: the
	// tool then ends calls itself.
	Patience time.Duration `json:"-"`
	// Chat says that the tool works on the conversation that it is called in. Turns
	// without one ([Turn.Given]) are not offered it.
	Chat bool
	// Note is for the end of the system prompt of requests that offer the tool: a list that
	// is too long for a description, of which some servers take 1,024 characters.
	Note string `json:"-"`
	// Corrects says that the tool only changes or removes what another one makes, so that it
	// alone is of no use.
	Corrects bool `json:"-"`
	// Finds says that the tool finds what was said in its conversation: requests that leave
	// messages out name it.
	Finds bool `json:"-"`
	// Off says why this daemon cannot offer the tool, and what the operator would do about
	// it: a part of a sentence. "" if it is offered.
	Off string `json:"-"`
}

// Call is one invocation of a tool.
type Call struct {
	ID   string
	Args json.RawMessage // a JSON object; the loop has checked that
	// Who is asking, and where, for tools with a memory.
	Key     channels.Key
	Person  channels.Person // the newest message's sender
	Private bool
	// Operator: see [Turn.Operator].
	Operator bool
	// Turn is the id of the turn, and with ID that of the call: no other call has both.
	Turn string
	// Job: see [Turn.Job].
	Job bool
	// Own is the name of the persona that asks, if that has a memory of its own; else "".
	Own string
	// Taint is [Proposal.Taint]: what the call makes is as tainted.
	Taint []sessions.Origin
	// Listed are the tools that the turn may use and its requests do not describe.
	Listed []Spec
	// Delegate does a task in a loop of its own, and returns its result. It may be called side
	// by side, once for each call of a tool that is Repeatable: after a crash the task goes on
	// where it was. Nil inside of a task.
	Delegate func(ctx context.Context, t Task) (string, error)
	// Progress, if not nil, shows in the chat how far the call is: a few words without controls.
	// It does not block, and does nothing once Run has returned.
	Progress func(note string)
	// Answer, if not nil, is that to the form with which an earlier run of the call has ended:
	// see [Asking].
	Answer *Answer
	// Found, if not nil, gets what Mark and MarkMessage say.
	Found *sessions.Taint
	// Sent, if not nil, gets what Attach says. Sending is how many files earlier calls of the
	// turn send.
	Sent    *[]channels.Attachment
	Sending int
	// Paid, if not nil, gets what Pay says.
	Paid *Payment
}

// Payment is what a call cost beside the tokens of the model that makes it.
type Payment struct {
	Model string // who was paid, as usage lists it
	Cost  float64
}

// Pay says that the call used a model that costs something else than tokens, whether or not
// it fails afterwards. It is counted with what the turn uses. It must not be called after Run has
// returned.
func (c Call) Pay(model string, cost float64) {
	if c.Paid != nil {
		c.Paid.Model = model
		c.Paid.Cost += cost
	}
}

// Attach sends a file that is kept (its File is set) with the answer. It must not be called
// after Run has returned; a call that fails sends nothing.
func (c Call) Attach(a channels.Attachment) {
	if c.Sent != nil {
		*c.Sent = append(*c.Sent, a)
	}
}

// Mark says whose words the result of c is, beside [Spec.Origin]. It must not be called
// after Run has returned.
func (c Call) Mark(origins ...sessions.Origin) {
	if c.Found != nil {
		c.Found.Add(origins...)
	}
}

// MarkMessage says that the result of c has words of m, a message of the conversation.
func (c Call) MarkMessage(m *sessions.Message) {
	if c.Found == nil {
		return
	}
	c.Found.AddMessage(m)
	who := speaker{c.Person, !c.Private}
	if who.isOther(m) {
		c.Found.Add(sessions.OriginOthers)
	}
}

// Tool is something the model can do.
type Tool interface {
	// Spec always returns the same value.
	Spec() Spec
	// Run executes the call before ctx's deadline. The model reads the result and the
	// error's text, so neither may contain a secret. An error that is an *[Asking] parks the
	// turn until the person has answered.
	Run(ctx context.Context, c Call) (string, error)
}

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Form is what a tool needs to know of the person in the middle of a call. All words in it are
// foreign, and cleaned.
type Form struct {
	// From is the server whose words these are.
	From    string `json:"from"`
	Message string `json:"message"`
	// URL, if not "", is an address that the person is asked to open. Then there are no fields.
	URL string `json:"url,omitempty"`
	// Fields are asked one after the other. None: the person says yes or no.
	Fields []Field `json:"fields,omitempty"`
}

// Field is one value of a form.
type Field struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Type is string, number, integer or boolean.
	Type string `json:"type"`
	// Many: the value is a list of values of Choices.
	Many bool `json:"many,omitempty"`
	// Choices, if there are any, are all values; Shown are their names for people.
	Choices []string `json:"choices,omitempty"`
	Shown   []string `json:"shown,omitempty"`
	// Format of a string is "", email, uri, date or date-time.
	Format string `json:"format,omitempty"`
	// Min and Max are bounds of a number, of the letters of a string, or of the length of a list.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Pattern, if not "", is what a string has to match.
	Pattern  string `json:"pattern,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Default is the value without another one, as JSON; nil: there is none.
	Default json.RawMessage `json:"default,omitempty"`
}

// Action is what a person did with a form.
type Action string

// The actions, in the words of the Model Context Protocol.
const (
	Accepted  Action = "accept"
	Declined  Action = "decline"
	Dismissed Action = "cancel" // nobody answered in time, or nobody is there
)

// Answer is what became of a form.
type Answer struct {
	// State is that of the [Asking].
	State  string
	Action Action
	// Values are those of an accepted form, by the names of the fields.
	Values map[string]any
}

// Asking is the error of a call that needs an answer of the person before it can go on. It
// has begun, so what it did is kept in State; it is run again with [Call.Answer], which may be
// after a restart.
type Asking struct {
	Form Form
	// State is for the tool alone. It is journaled.
	State string
}

// Error does not quote the form, which has foreign words.
func (*Asking) Error() string { return "the tool asks the person something first" }

// Asked is a form of a call that is put to a person.
type Asked struct {
	Turn, Call string
	// Nth form of the call it is, from 1.
	Nth    int
	Form   Form
	Person channels.Person
}

// Asker puts forms of calls to people.
type Asker interface {
	// Ask puts a form, if that was not done before, and returns the answer; nil: there is none
	// yet, and it is asked again at until at the latest. The text of the question is the
	// caller's business. An error ends the turn, which can be run again.
	Ask(ctx context.Context, a Asked) (answer *Answer, until time.Time, err error)
}

// maxForms is how many forms a call may have. Tools and askers allow fewer.
const maxForms = 10

// formOpen is the form of a call that waits for its answer: the stored form of a step, too.
type formOpen struct {
	Form  Form   `json:"form"`
	State string `json:"state"`
	Nth   int    `json:"nth"`
}

// errForms ends a call that asks without end.
var errForms = errors.New("not finished: it asks again and again; it may or may not have happened")

// asks journals that call c needs an answer before it goes on.
func (r *run) asks(ctx context.Context, c sessions.ToolCall, a *Asking) error {
	r.mu.Lock()
	nth := 1
	if before := r.forms[c.ID]; before != nil {
		nth = before.Nth + 1
	}
	open := &formOpen{a.Form, a.State, nth}
	r.forms[c.ID] = open
	r.mu.Unlock()
	text, err := json.Marshal(open)
	if err != nil {
		return fmt.Errorf("agent: journal a form: %w", err)
	}
	return r.record(ctx, sessions.Step{Kind: sessions.StepToolAsk, CallID: c.ID, Asks: text})
}

// answerTo is the answer for call c to go on with; nil if it asked nothing. waits: there is
// none yet, and the turn is parked.
func (r *run) answerTo(ctx context.Context, c sessions.ToolCall) (answer *Answer, waits bool, err error) {
	r.mu.Lock()
	open := r.forms[c.ID]
	r.mu.Unlock()
	if open == nil {
		return nil, false, nil
	}
	if r.t.Asker == nil || r.in != nil {
		return &Answer{State: open.State, Action: Dismissed}, false, nil
	}
	answer, until, err := r.t.Asker.Ask(ctx, Asked{r.t.ID, c.ID, open.Nth, open.Form, r.person})
	if err != nil {
		return nil, false, fmt.Errorf("agent: ask the person for a tool: %w", err)
	}
	if answer == nil {
		r.waitFor(Decision{Until: until})
		return nil, true, nil
	}
	answer.State = open.State
	return answer, false, nil
}

// waitFor notes that the turn ends, because a call waits.
func (r *run) waitFor(d Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = new(Waiting)
	}
	r.waiting.add(d)
}

// replayForm brings the form of a journaled step back: its call has not begun again since.
func (r *run) replayForm(s sessions.Step) {
	open := new(formOpen)
	if json.Unmarshal(s.Asks, open) != nil {
		return // of a newer version: the call is told as interrupted
	}
	r.forms[s.CallID] = open
	delete(r.started, s.CallID)
}

// isAsking is the form that a call ended with, or nil.
func isAsking(err error) *Asking {
	a, _ := errors.AsType[*Asking](err)
	return a
}

package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"dragoman/sessions"
)

// Index makes tools reachable that requests do not describe, because there are too many.
type Index interface {
	// Arrange says which of all, sorted by name, a request describes: shown, sorted by
	// name, with tools of the index among them, and which it does not: listed, which the
	// model can call all the same. tight: the model's window has no room for all. It must
	// depend on nothing else, and be safe for concurrent use.
	Arrange(all []Spec, tight bool) (shown, listed []Spec)
	// Tools are the index's own, always the same. Nothing but Arrange offers them.
	Tools() []Tool
}

// Forwarder is a [Tool] of an [Index] whose calls are calls of listed tools. The loop runs
// what is meant as if the model had called it: with its effect, its taint, its approvals.
// Run is never called.
type Forwarder interface {
	// Forward returns the name and the arguments of the call that one with args is. The
	// error is for the model.
	Forward(args json.RawMessage) (tool string, inner json.RawMessage, err error)
}

// rights say which of an agent's tools a turn may use. Each part may be nil.
type rights struct {
	persona *Persona
	permit  *Permit
	given   *Given
}

// may reports whether a turn with those rights may use the agent's own tool s.
func (r rights) may(s Spec) bool {
	return r.persona.may(s.Name) && r.permit.may(s.Name) && (r.given == nil || !s.Chat)
}

// Rule is what the configuration says about a tool.
type Rule string

// The rules.
const (
	RuleDefault Rule = ""      // as its effect says
	RuleAllow   Rule = "allow" // nobody is asked while everything that the model read is the person's own
	RuleAsk     Rule = "ask"   // somebody is always asked, unless the tool only reads
	RuleDeny    Rule = "deny"  // it is not offered
)

// Permit says which tools some turns may use, such as those of one chat. What follows from
// it is kept, so turns with the same rules should share one. It must not be changed.
type Permit struct {
	// Rule is what counts there for the tool of that name. It must be safe for concurrent
	// use.
	Rule func(tool string) Rule
}

// rule is what p, which may be nil, says about the tool.
func (p *Permit) rule(tool string) Rule {
	if p == nil {
		return RuleDefault
	}
	return p.Rule(tool)
}

// may reports whether p, which may be nil, lets the model have the tool.
func (p *Permit) may(tool string) bool { return p.rule(tool) != RuleDeny }

// meant is the call that c stands for: c itself, or the call of a listed tool that c
// forwards, with the id of c. why, if not "", says to the model why it stands for none.
func (r *run) meant(c sessions.ToolCall) (inner sessions.ToolCall, why string) {
	f, forwards := ToolAs[Forwarder](r.kit.tools[c.Name])
	if !forwards || !r.offer.has(c.Name) {
		return c, ""
	}
	name, args, err := f.Forward(json.RawMessage(arguments(c)))
	if err != nil {
		return c, "error: not run: " + err.Error()
	}
	if !r.offer.lists(name) {
		name = r.offer.nameMeant(name)
	}
	switch {
	case r.offer.lists(name):
		return sessions.ToolCall{ID: c.ID, Name: name, Arguments: string(args)}, ""
	case r.offer.has(name):
		return c, fmt.Sprintf("error: not run: %s is described to you, so call it directly", name)
	}
	return c, fmt.Sprintf("error: not run: there is no tool called %.64q", name)
}

// lists reports whether o has the tool of that name without its description.
func (o *offer) lists(name string) bool {
	return slices.ContainsFunc(o.listed, func(s Spec) bool { return s.Name == name })
}

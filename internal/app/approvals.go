package app

import (
	"context"
	"time"

	"dragoman/agent"
	"dragoman/internal/actions"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/stream"
)

// builtinRules are those of tools about which the configuration says nothing. A job that
// shall look at the news makes up addresses and questions, and before it has read a page
// there is nothing foreign that could choose them. Where a job sends a message, a route
// allows it.
var builtinRules = map[string]actions.Rule{"web_fetch": actions.RuleAllow, "web_search": actions.RuleAllow, "send_message": actions.RuleAllow}

// newBook makes the book of what needs a yes, as the configuration says.
func (d *Daemon) newBook() *actions.Book {
	rules := map[string]actions.Rule{}
	for name, rule := range builtinRules {
		rules[name] = rule
	}
	addMCPRules(d.cfg, rules)
	for name, rule := range d.cfg.Agent.Tools.Rules() {
		rules[name] = actions.Rule(rule)
	}
	return actions.New(d.store, actions.Options{
		Rules: rules, Approvers: d.cfg.Approvals.Approvers, Self: d.cfg.Approvals.Approve == config.ApproveSelf,
		Zone: zoneOf(d.cfg.Agent.TimeZone), Log: d.log, Files: d.boundFiles,
		Tell: func(e actions.Event) {
			d.events.Publish(stream.Event{Event: stream.ApprovalChange, At: time.Now(), Key: e.Chat, ID: e.ID, Turn: e.Turn, Tool: e.Tool, Why: string(e.State)})
		},
	})
}

// boundFiles are the files that a call would replace or run: a yes is for what was in them
// when somebody was asked.
func (d *Daemon) boundFiles(ctx context.Context, p agent.Proposal) (files []actions.File, err error) {
	if d.workspace == nil {
		return nil, nil
	}
	bound, err := d.workspace.Bound(ctx, p.Tool, p.Call)
	for _, f := range bound {
		files = append(files, actions.File(f))
	}
	return files, err
}

// approvals is what the API does with questions: the book's, and the gateway's answer.
type approvals struct {
	*actions.Book
	*gateway.Gateway
}

var _ api.Approvals = approvals{}

// EffectOf implements [agent.EffectTool] for tools that do.
func (t counted) EffectOf(c agent.Call, seen agent.Seen) agent.Effect {
	if able, ok := t.Tool.(agent.EffectTool); ok {
		return able.EffectOf(c, seen)
	}
	return t.Spec().Effect
}

// Ask implements [agent.AskTool] for tools that do.
func (t counted) Ask(ctx context.Context, c agent.Call) (string, error) {
	if able, ok := t.Tool.(agent.AskTool); ok {
		return able.Ask(ctx, c)
	}
	return "", nil
}

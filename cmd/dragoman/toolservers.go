package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// mcpListCmd is "dragoman mcp list".
type mcpListCmd struct {
	jsonFlag
}

// Run lists the servers of tools.
func (k *mcpListCmd) Run(e *env, c *cli) error {
	return listPage(e, c, k.JSON, api.ListToolServers, api.None{}, func(p api.Page[api.ToolServer]) {
		if len(p.Data) == 0 {
			e.say("No server of tools is configured. mcp.servers is for them: docs/mcp-servers.md.")
		}
		for _, s := range p.Data {
			e.say("%s: %s, %s", s.Name, s.State, sessions.Printable(s.Where))
			if s.Since.IsZero() {
				e.say("  nothing of it was accepted yet: the first list of its tools will be")
			} else {
				e.say("  %s offered, accepted first %s", count(s.Tools, "tool is", "tools are"), e.when(s.Since))
			}
			if s.Login != nil && s.Login.Why == "" {
				e.say("  %s", e.loginWords(s.Login))
			}
			if s.Why != "" {
				e.say("  %s", sessions.Printable(s.Why))
			}
			if s.Unread > 0 {
				e.say("  nobody has read what its tools say, so people are asked more often: %s shows it", e.command("mcp accept", s.Name))
			}
			if len(s.Waiting) > 0 {
				e.say("  new or changed, and not offered: %s; %s shows them", strings.Join(s.Waiting, ", "), e.command("mcp accept", s.Name))
			}
		}
	})
}

// loginWords says how long a login lasts.
func (e *env) loginWords(l *api.ToolServerLogin) string {
	switch {
	case l.Renews:
		return "logged in; the token is renewed without you"
	case l.Until.IsZero():
		return "logged in; the server does not say for how long"
	}
	return "logged in until " + e.when(l.Until)
}

// mcpTestCmd is "dragoman mcp test".
type mcpTestCmd struct {
	Server string `arg:"" help:"The name of a server in mcp.servers."`
	jsonFlag
}

// Run starts a server, and shows what it lists.
func (k *mcpTestCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		r, err := e.testServer(ctx, a, k.Server)
		if err != nil {
			return err
		}
		if k.JSON {
			return e.json(r)
		}
		e.sayReport(r)
		if r.Why != "" {
			return fmt.Errorf("%s cannot be used: %s", k.Server, sessions.Printable(r.Why))
		}
		return nil
	})
}

func (e *env) testServer(ctx context.Context, a *api.Client, name string) (api.ToolReport, error) {
	r, err := api.TestToolServer.Call(ctx, a, api.ToolServerName{Name: name})
	if errors.Is(err, sessions.ErrNotFound) {
		return r, plainErrorf(nil, "mcp.servers has no %s, or it is not enabled; %s shows all", oneLine(name), e.command("mcp list"))
	}
	return r, err
}

// sayReport says what a server is and lists. All of it is foreign words.
func (e *env) sayReport(r api.ToolReport) {
	if r.Why == "" {
		e.say("%s works: %s, revision %s of the protocol.", r.Server, sessions.Printable(r.Program), r.Protocol)
	}
	for _, t := range r.Tools {
		change := ""
		if t.Change != "" {
			change = " (" + t.Change + ")"
		}
		e.say("  %s%s: %s", t.Name, change, sessions.Printable(t.Description))
	}
	for _, odd := range r.Odd {
		e.say("  %s", sessions.Printable(odd))
	}
	for _, line := range r.Dropped {
		e.say("  it wrote to its standard output, which is for messages: %s", sessions.Printable(line))
	}
	for _, line := range r.Errors {
		e.say("  it wrote: %s", sessions.Printable(line))
	}
}

// mcpAcceptCmd is "dragoman mcp accept".
type mcpAcceptCmd struct {
	Server string `arg:"" help:"The name of a server in mcp.servers."`
	Yes    bool   `short:"y" help:"Do not ask."`
}

// Run shows what has changed, and accepts it after a yes.
func (k *mcpAcceptCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		r, err := e.testServer(ctx, a, k.Server)
		if err != nil {
			return err
		}
		if r.Why != "" {
			return fmt.Errorf("%s cannot be used: %s", k.Server, sessions.Printable(r.Why))
		}
		for _, t := range r.Tools {
			if t.Change != "" {
				e.sayChange(t)
			}
		}
		for _, odd := range r.Odd {
			e.say("%s", sessions.Printable(odd))
		}
		question := whetherToAccept(r)
		if question == "" {
			e.say("Nothing has changed: %s accepted.", count(len(r.Tools), "tool is", "tools are"))
			return nil
		}
		if err := e.confirm(k.Yes, question); err != nil {
			return err
		}
		if err := api.AcceptTools.Call(ctx, a, api.AcceptedTools{Name: k.Server, Digest: r.Digest}); err != nil {
			return err
		}
		e.say("%s: %s accepted.", k.Server, count(len(r.Tools), "tool is", "tools are"))
		return nil
	})
}

// whetherToAccept asks what to do about a report; "" if there is nothing to accept.
func whetherToAccept(r api.ToolReport) string {
	changes := map[string]bool{}
	for _, t := range r.Tools {
		changes[t.Change] = true
	}
	delete(changes, "")
	switch {
	case len(changes) == 0 && len(r.Odd) == 0:
		return ""
	case len(changes) == 1 && changes["unread"]: // they are offered already
		return "Shall what " + r.Server + " says here count as your own words, so that people are asked less often?"
	}
	return "Shall the model be offered what " + r.Server + " lists now?"
}

// sayChange shows a tool before and after, line by line: what was taken away with "-", what
// came with "+".
func (e *env) sayChange(t api.ToolListed) {
	e.say("%s is %s:", t.Name, t.Change)
	for _, line := range difference(indented(t.Before), indented(t.Now)) {
		e.say("  %s", sessions.Printable(line))
	}
}

// indented are the lines of JSON; none of "".
func indented(text string) []string {
	var b bytes.Buffer
	if text == "" || json.Indent(&b, []byte(text), "", "  ") != nil {
		return nil
	}
	return strings.Split(b.String(), "\n")
}

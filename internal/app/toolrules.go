package app

import (
	"fmt"
	"sync"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/toolbox"
	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
)

// others names the tools of a server that have no rule of their own.
const others = "*"

// toolRules is what a configuration says about tools. Turns for which the same counts share a
// permit, so that what follows from it is made once. Safe for concurrent use.
type toolRules struct {
	cfg     *config.Config
	servers toolbox.Rules

	mu      sync.Mutex
	permits map[string]*agent.Permit // by what counts
}

func newToolRules(cfg *config.Config) *toolRules {
	return &toolRules{cfg: cfg, servers: mcpRules(cfg), permits: map[string]*agent.Permit{}}
}

// permit is what a turn of that kind may use; nil if nothing is said.
func (t *toolRules) permit(kind config.ToolKind, chat channels.Key, persona string) *agent.Permit {
	layers := t.layers(t.cfg.ToolsFor(kind, chat, persona))
	if len(layers) == 0 {
		return nil
	}
	what := fmt.Sprintf("%q", layers) // maps are printed sorted
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.permits[what] == nil {
		t.permits[what] = &agent.Permit{Rule: layers.Of}
	}
	return t.permits[what]
}

// layers are the rules of the servers of tools, and then those of lists.
func (t *toolRules) layers(lists []config.ToolList) (layers toolbox.Layers) {
	if len(t.servers) > 0 {
		layers = append(layers, t.servers)
	}
	for _, list := range lists {
		layers = append(layers, rulesOf(list))
	}
	return layers
}

// rulesOf are the rules of a list or a table.
func rulesOf(list config.ToolList) toolbox.Rules {
	table := list.Rules()
	if table == nil {
		return toolbox.Only(list)
	}
	rules := toolbox.Rules{}
	for name, rule := range table {
		rules[name] = agent.Rule(rule)
	}
	return rules
}

// mcpRules are the rules of servers for their tools, by the names that the model knows.
func mcpRules(cfg *config.Config) toolbox.Rules {
	rules := toolbox.Rules{}
	for _, name := range cfg.EnabledMCP() {
		c := cfg.MCP.Servers[name]
		rules[name+"__"+others] = agent.Rule(ruleOf(c, others))
		for own, rule := range c.Tools {
			if own != others {
				rules[mcp.ToolName(name, own)] = agent.Rule(rule)
			}
		}
	}
	return rules
}

// ruleOf is what the configuration of a server says about its tool of that name.
func ruleOf(c config.MCPServer, own string) string {
	for _, name := range []string{own, others} {
		if rule := c.Tools[name]; rule != "" {
			return rule
		}
	}
	return config.ToolAsk
}

// permitOf is what counts now for the tools of a turn: see [gateway.Options.Permit].
func (d *Daemon) permitOf(kind gateway.TurnKind, chat channels.Key, persona string) *agent.Permit {
	return d.toolRules.Load().permit(config.ToolKind(kind), chat, persona)
}

// usualPermit is what counts for tools everywhere.
func (d *Daemon) usualPermit() *agent.Permit {
	return d.toolRules.Load().permit("", channels.Key{}, "")
}

// offers reports whether agent.tools leaves the tool of that name.
func offers(cfg *config.Config, name string) bool {
	return cfg.Agent.Tools.IsZero() || rulesOf(cfg.Agent.Tools).Of(name) != agent.RuleDeny
}

// mayHaveAny reports whether agent.tools leaves a tool of that server.
func mayHaveAny(cfg *config.Config, server string) bool {
	return cfg.Agent.Tools.IsZero() || toolbox.Layers{rulesOf(cfg.Agent.Tools)}.MayHaveAny(server)
}

// lacksServers reports whether cfg leaves tools of servers that the start has left out.
func (d *Daemon) lacksServers(cfg *config.Config) bool {
	for _, name := range d.cfg.EnabledMCP() {
		if mayHaveAny(cfg, name) && !mayHaveAny(d.cfg, name) {
			return true
		}
	}
	return false
}

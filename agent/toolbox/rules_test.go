package toolbox_test

import (
	"testing"

	"dragoman/agent"
	"dragoman/agent/toolbox"
)

// What one place denies, no other gives; else the narrowest place that says something counts,
// and in one place the longest name.
func TestLayers(t *testing.T) {
	const (
		unsaid = agent.RuleDefault
		allow  = agent.RuleAllow
		ask    = agent.RuleAsk
		deny   = agent.RuleDeny
	)
	wide := toolbox.Rules{"*": ask, "time": allow, "files__*": deny, "files__read": ask, "exec": deny}
	narrow := toolbox.Rules{"files__*": allow, "web_*": allow, "exec": allow, "time": ask}
	only := toolbox.Only([]string{"time", "files__*"})
	for name, test := range map[string]struct {
		layers toolbox.Layers
		want   map[string]agent.Rule
	}{
		"no place":     {nil, map[string]agent.Rule{"time": unsaid, "files__read": unsaid}},
		"one place":    {toolbox.Layers{wide}, map[string]agent.Rule{"time": allow, "recall": ask, "files__read": ask, "files__write": deny, "exec": deny}},
		"two places":   {toolbox.Layers{wide, narrow}, map[string]agent.Rule{"time": ask, "recall": ask, "web_fetch": allow, "files__read": allow, "files__write": deny, "exec": deny}},
		"a list":       {toolbox.Layers{only}, map[string]agent.Rule{"time": unsaid, "files__a": unsaid, "file": deny, "recall": deny}},
		"after a list": {toolbox.Layers{only, narrow}, map[string]agent.Rule{"time": ask, "files__a": allow, "web_fetch": deny}},
		"a list after": {toolbox.Layers{wide, only}, map[string]agent.Rule{"time": allow, "files__read": ask, "recall": deny}},
		"no tool":      {toolbox.Layers{toolbox.Only(nil), {"time": allow}}, map[string]agent.Rule{"time": deny}},
	} {
		for tool, want := range test.want {
			if got := test.layers.Of(tool); got != want {
				t.Errorf("%s: %s is %q, want %q", name, tool, got, want)
			}
		}
	}
}

// A server of which no tool may be used is not needed.
func TestMayHaveAny(t *testing.T) {
	for name, test := range map[string]struct {
		rules toolbox.Rules
		want  bool
	}{
		"nothing said":           {nil, true},
		"only others":            {toolbox.Only([]string{"time", "file__read", "files"}), false},
		"one of it":              {toolbox.Only([]string{"files__read"}), true},
		"all of it":              {toolbox.Only([]string{"files__*"}), true},
		"all but one":            {toolbox.Rules{"files__read": agent.RuleDeny}, true},
		"none of it":             {toolbox.Rules{"files__*": agent.RuleDeny}, false},
		"none of it but some":    {toolbox.Rules{"files__*": agent.RuleDeny, "files__re*": agent.RuleAsk}, true},
		"nothing, and not of it": {toolbox.Rules{"*": agent.RuleDeny, "time": agent.RuleAllow}, false},
		"nothing, and all of it": {toolbox.Rules{"*": agent.RuleDeny, "files__*": agent.RuleAsk}, true},
	} {
		if got := (toolbox.Layers{{"files__x": agent.RuleAsk}, test.rules}).MayHaveAny("files"); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/config"
)

// Names of tools are checked by what offers the tools. Unset and empty are different,
// also in the effective configuration, which can be loaded again.
func TestToolNames(t *testing.T) {
	for name, test := range map[string]struct{ text, want, problem string }{
		"unset":                  {"{}", "all", ""},
		"none":                   {"{tools: []}", "[]", ""},
		"known":                  {"{tools: [time, read_file]}", "[time read_file]", ""},
		"in capitals":            {"{tools: [Time]}", "[time]", ""},
		"only a daemon can tell": {"{tools: [far_away, time]}", "[far_away time]", ""},
		"unknown":                {"{tools: [tame]}", "", `"tame" is not a known value; did you mean "time"?`},
		"a table":                {"{tools: {Time: DENY, far_away: ask}}", "[far_away: ask time: deny]", ""},
		"an empty table":         {"{tools: {}}", "all", ""},
		"an unknown rule":        {"{tools: {time: maybe}}", "", `agent.tools.time: "maybe" is not a known value; write allow, ask or deny`},
		"a table of the unknown": {"{tools: {tame: ask}}", "", `"tame" is not a known value; did you mean "time"?`},
		"a table of lists":       {"{tools: {time: [ask]}}", "", "agent.tools.time: expected text"},
		"empty":                  {`{tools: [""]}`, "", "is not a known value"},
	} {
		c, err := load(t, "agent: "+test.text)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: %v, want %s", name, err, test.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := load(t, c.Effective())
		if err != nil {
			t.Errorf("%s: the effective configuration does not load: %v", name, err)
			continue
		}
		for _, c := range []*config.Config{c, again} {
			got := "all"
			if c.Agent.Tools != nil {
				got = "[" + strings.Join(c.Agent.Tools, " ") + "]"
			}
			if got != test.want {
				t.Errorf("%s: Tools = %s, want %s", name, got, test.want)
			}
		}
	}
}

// Where nobody knows tools, names are taken as they are.
func TestToolNamesWithoutTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	write(t, path, "agent: {tools: [whatever]}")
	o := options(t, path)
	o.Tools = nil
	if _, _, err := config.Load(o); err != nil {
		t.Error(err)
	}
}

// A table stands for all tools, with a rule for some.
func TestToolRules(t *testing.T) {
	list := config.ToolList{"time: deny", "web_fetch: ask"}
	if names := list.Names(); names != nil {
		t.Errorf("Names = %q, want all", names)
	}
	if rules := list.Rules(); len(rules) != 2 || rules["time"] != config.ToolDeny || rules["web_fetch"] != config.ToolAsk {
		t.Errorf("Rules = %v", rules)
	}
	list = config.ToolList{"time"}
	if list.Rules() != nil || len(list.Names()) != 1 {
		t.Errorf("a list has the names %q and the rules %v", list.Names(), list.Rules())
	}
}

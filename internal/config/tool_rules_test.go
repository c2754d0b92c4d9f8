package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/config"
)

const ruled = `agent:
  tools: {far_b: deny, far_a: ask, time: allow, far_c: ask}
  tools_in: {group: [time], job: {"*": deny}, program: []}
agents: {cook: {tools: {time: ask}}}
bind:
  - {match: "web:kitchen", tools: {far_c: deny}}
  - {match: web, agent: cook}
  - {match: "web:k*", tools: [far_c]}
`

// What counts for a turn is in the order from the widest place to the narrowest, and people
// read where it is said.
func TestToolsFor(t *testing.T) {
	c, err := load(t, ruled)
	if err != nil {
		t.Fatal(err)
	}
	again, err := load(t, c.Effective())
	if err != nil {
		t.Fatalf("the effective configuration does not load: %v", err)
	}
	want := []string{"deny far_b; ask far_a, far_c; allow time", "only time", "ask time", "only far_c", "deny far_c"}
	for _, c := range []*config.Config{c, again} {
		var got []string
		for _, list := range c.ToolsFor(config.ToolsGroup, channels.MustKey("web:kitchen"), "cook") {
			got = append(got, list.Says())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in a group (-want +got):\n%s", diff)
		}
		if got := c.ToolsFor(config.ToolsPrivate, channels.MustKey("web:garden"), ""); len(got) != 1 {
			t.Errorf("elsewhere %q counts", got)
		}
		if got := c.Bound(channels.MustKey("web:kitchen")); !cmp.Equal(got, []string{"cook"}) {
			t.Errorf("a binding without a persona changes who answers: %q", got)
		}
	}
	lines := []string{
		"everywhere: deny far_b; ask far_a, far_c; allow time", "groups: only time", "jobs: deny *", "programs: none", "the persona cook: ask time",
		"web:kitchen: deny far_c", "web:k*: only far_c",
	}
	if diff := cmp.Diff(lines, c.ToolRules()); diff != "" {
		t.Errorf("people read (-want +got):\n%s", diff)
	}
}

// Rules that change nothing, and servers that are not there, are told of. Names that no tool
// can have are refused.
func TestWarningsOfToolRules(t *testing.T) {
	const turned = " is turned off in agent.tools, so it is not offered here either; remove it here, or turn it on there"
	for name, tt := range map[string]struct{ text, want string }{
		"a denied tool":   {"agent: {tools: {time: deny}, tools_in: {job: {time: allow}}}", "agent.tools_in.job.time: time" + turned},
		"denied again":    {"agent: {tools: {time: deny}, tools_in: {job: {time: deny}}}", ""},
		"not in the list": {"agent: {tools: [time]}\nagents: {a: {tools: [time, read_file]}}", "agents.a.tools[1]: read_file" + turned},
		"by a star":       {"agent: {tools: ['far_*']}\nbind: [{match: web, tools: [far_a]}]", ""},
		"another server": {
			"mcp: {servers: {filer: {url: 'http://127.0.0.1:1'}}}\nbind: [{match: web, tools: {'files__*': ask}}]",
			`bind[0].tools.files__*: mcp.servers has no "files"; did you mean "filer"? configured: filer`,
		},
	} {
		c, err := load(t, tt.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		for _, w := range c.Warnings() {
			got += w.String() + "\n"
		}
		if tt.want == "" && strings.Contains(got, "tools") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: the warnings are %q, want %q", name, got, tt.want)
		}
	}
	_, err := load(t, "bind: [{match: web, tools: {tame: ask}}]")
	if want := `bind[0].tools.tame: "tame" is not a known value; did you mean "time"?`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an unknown name: %v, want %s", err, want)
	}
}

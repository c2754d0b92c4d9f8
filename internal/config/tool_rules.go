package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
)

// ToolsIn are rules for some kinds of turns.
type ToolsIn struct {
	Private ToolList `yaml:"private,flow,omitempty" is:"tool" doc:"The same for private chats."`
	Group   ToolList `yaml:"group,flow,omitempty" is:"tool" doc:"The same for groups and rooms."`
	Job     ToolList `yaml:"job,flow,omitempty" is:"tool" doc:"The same for jobs and reminders with a prompt, where nobody is there."`
	Program ToolList `yaml:"program,flow,omitempty" is:"tool" doc:"The same for programs that send their messages along, by OpenAI's API without a conversation."`
}

// ToolKind is a kind of turn that tools_in has rules for.
type ToolKind string

// The kinds of turns.
const (
	ToolsPrivate ToolKind = "private"
	ToolsGroup   ToolKind = "group"
	ToolsJob     ToolKind = "job"
	ToolsProgram ToolKind = "program"
)

// kinds are the lists of t, with their kinds and how people call these.
func (t *ToolsIn) kinds() []toolPlace {
	return []toolPlace{
		{"agent.tools_in." + string(ToolsPrivate), "private chats", t.Private},
		{"agent.tools_in." + string(ToolsGroup), "groups", t.Group},
		{"agent.tools_in." + string(ToolsJob), "jobs", t.Job},
		{"agent.tools_in." + string(ToolsProgram), "programs", t.Program},
	}
}

// Of is the list for a kind of turn.
func (t *ToolsIn) Of(kind ToolKind) ToolList {
	switch kind {
	case ToolsPrivate:
		return t.Private
	case ToolsGroup:
		return t.Group
	case ToolsJob:
		return t.Job
	case ToolsProgram:
		return t.Program
	}
	return nil
}

// toolPlace is a place of the configuration that says something about tools.
type toolPlace struct {
	path, name string
	tools      ToolList
}

// ToolsFor is what the configuration says about the tools of a turn of that kind, in chat,
// answered by that persona ("": none), from the widest place to the narrowest.
func (c *Config) ToolsFor(kind ToolKind, chat channels.Key, persona string) (lists []ToolList) {
	all := []ToolList{c.Agent.Tools, c.Agent.ToolsIn.Of(kind), c.Agents[persona].Tools}
	var bound []Bind
	for _, b := range c.Bind {
		if b.Matches(chat) {
			bound = append(bound, b)
		}
	}
	slices.SortStableFunc(bound, func(x, y Bind) int { return cmp.Compare(len(x.Match), len(y.Match)) })
	for _, b := range bound {
		all = append(all, b.Tools)
	}
	for _, list := range all {
		if !list.IsZero() {
			lists = append(lists, list)
		}
	}
	return lists
}

// toolPlaces are all places that say something, from the widest to the narrowest.
func (c *Config) toolPlaces() (all []toolPlace) {
	all = append(all, toolPlace{"agent.tools", "everywhere", c.Agent.Tools})
	all = append(all, c.Agent.ToolsIn.kinds()...)
	for _, name := range sortedKeys(c.Agents) {
		all = append(all, toolPlace{"agents." + name + ".tools", "the persona " + name, c.Agents[name].Tools})
	}
	for i, b := range c.Bind {
		all = append(all, toolPlace{fmt.Sprintf("bind[%d].tools", i), b.Match, b.Tools})
	}
	return slices.DeleteFunc(all, func(p toolPlace) bool { return p.tools.IsZero() })
}

// ToolRules says in lines what each place says about tools.
func (c *Config) ToolRules() (lines []string) {
	for _, p := range c.toolPlaces() {
		lines = append(lines, p.name+": "+p.tools.Says())
	}
	return lines
}

// Says is what l says, for people to read.
func (l ToolList) Says() string {
	rules := l.Rules()
	switch {
	case l.IsZero():
		return "all"
	case len(l) == 0:
		return "none"
	case rules == nil:
		return "only " + strings.Join(l, ", ")
	}
	var said []string
	for _, word := range []string{ToolDeny, ToolAsk, ToolAllow} {
		var names []string
		for _, name := range sortedKeys(rules) {
			if rules[name] == word {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			said = append(said, word+" "+strings.Join(names, ", "))
		}
	}
	return strings.Join(said, "; ")
}

// toolRules warns of rules that give what agent.tools has denied, and of servers that are
// not there.
func (v *validator) toolRules() {
	for _, p := range v.c.toolPlaces() {
		for i, entry := range p.tools {
			name, rule, table := strings.Cut(entry, ruleSign)
			at := fmt.Sprintf("%s[%d]", p.path, i)
			if table {
				at = p.path + "." + name
			}
			if p.path != "agent.tools" && rule != ToolDeny && v.isOff(name) {
				v.warn(at, name+" is turned off in agent.tools, so it is not offered here either", "remove it here, or turn it on there")
			}
			v.toolServer(at, name)
		}
	}
}

// toolServer warns of a tool of a server that is not configured.
func (v *validator) toolServer(path, tool string) {
	server, _, borrowed := strings.Cut(tool, "__")
	known := sortedKeys(v.c.MCP.Servers)
	if !borrowed || slices.Contains(known, server) || len(known) == 0 {
		return
	}
	want := "configured: " + strings.Join(known, ", ")
	if near := nearest(server, known); near != "" {
		want = fmt.Sprintf("did you mean %q? %s", near, want)
	}
	v.warn(path, "mcp.servers has no "+v.show(path, server), want)
}

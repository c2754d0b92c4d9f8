package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/channels"
)

// PlainAgent is the name of the agent that answers where nothing else is configured. It is
// the section agent, so that no persona can have the name.
const PlainAgent = "dragoman"

// Persona is one of agents: how Dragoman answers in the chats that bind names.
type Persona struct {
	Prompt string   `yaml:"prompt,omitempty" doc:"Replaces agent.system_prompt for this persona. As ${file:SOUL.md}, the file is read again when it changes; it must be outside of the workspace."`
	Model  string   `yaml:"model,omitempty" doc:"The model that answers, in place of the configured one: one of model.others or model.fallback, or model.name. /model overrides it."`
	Tools  ToolList `yaml:"tools,flow,omitempty" is:"tool" doc:"The tools that it may use, of those that agent.tools turns on, as a list or a table like that of agent.tools. Unset: all of these; []: none."`
	Memory string   `yaml:"memory" default:"shared" oneof:"shared own" doc:"shared: it remembers what is remembered about a person or chat. own: it has a memory of its own about each, and does not see the other."`

	// File is where Prompt was read, "" if the configuration itself has it.
	File string `yaml:"-"`
}

// OwnMemory is the value of Persona.Memory for a memory of its own.
const OwnMemory = "own"

// MarshalYAML writes the place of a prompt that has a file, and not its text.
func (p Persona) MarshalYAML() (any, error) {
	type plain Persona
	if p.File != "" {
		p.Prompt = "${file:" + p.File + "}"
	}
	return plain(p), nil
}

// Bind says which personas answer in some chats, and with which tools.
type Bind struct {
	Match string   `yaml:"match,omitempty" once:"yes" doc:"The chats: a channel (telegram), a conversation (telegram:-100200:7), or the beginning of one with a star (telegram:-100200:*). Of those that match, the longest counts."`
	Agent []string `yaml:"agent,flow,omitempty" single:"ok" doc:"The persona that answers there, or a list: the first answers until somebody chooses another one with /agent. dragoman is the one of the section agent."`
	Tools ToolList `yaml:"tools,flow,omitempty" is:"tool" doc:"The tools that may be used there, as a list or a table like that of agent.tools. All entries that match count: what one denies, no other gives, and else the longest counts."`
}

// anyChat ends a Match that stands for all keys that begin so.
const anyChat = "*"

// Matches reports whether the binding is about k.
func (b Bind) Matches(k channels.Key) bool { return channels.Pattern(b.Match).Matches(k) }

// Bound lists the personas that may answer in k, the one that does by default first; none
// where nothing is bound, so that only [PlainAgent] does. The key of a job has the persona that
// the job names.
func (c *Config) Bound(k channels.Key) []string {
	if k.Channel() == heartbeatName {
		return c.boundJob(k.Chat())
	}
	best := -1
	for i, b := range c.Bind {
		if len(b.Agent) > 0 && b.Matches(k) && (best < 0 || len(b.Match) > len(c.Bind[best].Match)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return c.Bind[best].Agent
}

// boundJob is the persona that runs a job; none if the job names none.
func (c *Config) boundJob(name string) []string {
	for _, j := range c.Heartbeat.Jobs {
		if j.Name == name && j.Agent != "" {
			return []string{j.Agent}
		}
	}
	return nil
}

// BoundAgents says in lines which personas are bound where, and by what jobs run.
func (c *Config) BoundAgents() (lines []string) {
	for _, b := range c.Bind {
		if len(b.Agent) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s", b.Match, strings.Join(b.Agent, ", ")))
		}
	}
	for _, j := range c.Heartbeat.Jobs {
		if j.Agent != "" {
			lines = append(lines, fmt.Sprintf("job %s: %s", j.Name, j.Agent))
		}
	}
	for _, name := range sortedKeys(c.Agents) {
		if !slices.ContainsFunc(lines, func(line string) bool { return names(line, name) }) {
			lines = append(lines, name+": bound nowhere, so only programs reach it, as the model "+PlainAgent+"/"+name)
		}
	}
	return lines
}

// names reports whether a line of BoundAgents names a persona.
func names(line, persona string) bool {
	_, list, _ := strings.Cut(line, ": ")
	return slices.Contains(strings.Split(list, ", "), persona)
}

// agents checks the personas, and where they answer.
func (v *validator) agents() {
	for _, name := range sortedKeys(v.c.Agents) {
		v.persona("agents."+showKey(name), name)
	}
	for i, b := range v.c.Bind {
		path := fmt.Sprintf("bind[%d]", i)
		v.match(path+".match", b.Match)
		if len(b.Agent) == 0 && b.Tools.IsZero() {
			v.bad(path, "names neither a persona nor tools", "write agent: NAME, or tools, or remove the entry")
		}
		for j, name := range b.Agent {
			at := fmt.Sprintf("%s.agent[%d]", path, j)
			v.agentName(at, name)
		}
	}
	for i, j := range v.c.Heartbeat.Jobs {
		if j.Agent != "" {
			v.agentName(fmt.Sprintf("heartbeat.jobs[%d].agent", i), j.Agent)
		}
	}
}

// persona checks one of agents.
func (v *validator) persona(path, name string) {
	if !channels.IsName(name) {
		v.bad(path, "a persona's name has 1 to 32 characters of a-z, 0-9, _ and -", "give it another name")
		return
	}
	if name == PlainAgent {
		v.bad(path, PlainAgent+" is the name of the one of the section agent", "give it another name")
	}
	if name == agentByDefault {
		v.bad(path, "/agent "+agentByDefault+" takes a choice back, so nobody could choose it", "give it another name")
	}
	p := v.c.Agents[name]
	p.File = v.marks[path+".prompt"].file
	v.c.Agents[name] = p
	if p.File != "" && v.inWorkspace(p.File) {
		v.bad(path+".prompt", "its file is inside the workspace, so the model's tools could rewrite the persona", "move the file out of the workspace")
	}
	v.agentModel(path+".model", p.Model)
}

// agentByDefault is what people write after /agent to take a choice back.
const agentByDefault = "default"

// isOff reports whether agent.tools turns a tool off for everybody. Where stars decide, it is
// not asked.
func (v *validator) isOff(tool string) bool {
	all := v.c.Agent.Tools
	if rules := all.Rules(); rules != nil {
		return rules[tool] == ToolDeny
	}
	star := slices.ContainsFunc(append(all, tool), func(name string) bool { return strings.HasSuffix(name, anyChat) })
	return all != nil && !star && !slices.Contains(all, tool)
}

// inWorkspace reports whether the model's tools could write a file, wherever links lead.
func (v *validator) inWorkspace(file string) bool {
	for _, at := range []string{file, RealPath(file)} {
		for _, dir := range []string{v.c.Workspace, RealPath(v.c.Workspace)} {
			rel, err := filepath.Rel(dir, at)
			if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return true
			}
		}
	}
	return false
}

// match checks which chats a binding is about.
func (v *validator) match(path, match string) {
	channel, chat, isKey := strings.Cut(match, ":")
	begin, many := strings.CutSuffix(match, anyChat)
	_, known := v.c.Channels[channel]
	const want = "write a channel (telegram), a conversation (telegram:-100200), or the beginning of one with a star (telegram:-100200:*)"
	switch {
	case match == "":
		v.bad(path, "is missing", want)
	case strings.Contains(begin, anyChat), many && !isKey, isKey && chat == "":
		v.bad(path, v.show(path, match)+" is no channel and no conversation", want)
	case !known && !v.written("channels."+channel):
		v.bad(path, "there is no channel "+strings.TrimPrefix(v.show(path, channel), "this"), "configured: "+strings.Join(sortedKeys(v.c.Channels), ", "))
	}
}

// agentName reports a name that no persona has.
func (v *validator) agentName(path, name string) {
	known := append(sortedKeys(v.c.Agents), PlainAgent)
	if slices.Contains(known, name) {
		return
	}
	want := "configured: " + strings.Join(known, ", ")
	if near := nearest(strings.ToLower(name), known); near != "" && !v.marks[path].expanded {
		want = fmt.Sprintf("did you mean %q? %s", near, want)
	}
	v.bad(path, v.show(path, name)+" is no persona of agents", want)
}

// agentModel reports a model of a persona that the configuration does not name elsewhere: it
// would fail only when somebody writes to the persona.
func (v *validator) agentModel(path, name string) {
	known := v.c.Model.named()
	if name == "" || slices.Contains(known, name) {
		return
	}
	want := "add it to model.others"
	if len(known) > 0 {
		want = "write one of " + strings.Join(known, ", ") + ", or add it to model.others"
	}
	if near := nearest(strings.ToLower(name), known); near != "" && !v.marks[path].expanded {
		want = fmt.Sprintf("did you mean %q? %s", near, want)
	}
	v.bad(path, v.show(path, name)+" is no model of the section model", want)
}

// named are the names of the models that m has, each once.
func (m Model) named() (names []string) {
	names = append(names, m.Name)
	names = append(names, m.Fallback...)
	for _, o := range m.Others {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// errNoText is the error for a file that is not UTF-8 text.
var errNoText = errors.New("is not UTF-8 text")

// ReadPrompt reads the file of a persona's prompt, as Load does.
func ReadPrompt(path string) (string, error) {
	text, err := readText(path)
	if err != nil {
		return "", fmt.Errorf("config: the file %s %w", path, err)
	}
	return text, nil
}

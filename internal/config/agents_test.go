package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/config"
)

const twoAgents = `model: {others: [{name: small}]}
agents:
  pirate: {prompt: Speak like a pirate., model: small, tools: [time], memory: own}
  cook: {prompt: Cook.}
`

// The longest match counts, whatever the order is.
func TestBoundAgents(t *testing.T) {
	c, err := load(t, twoAgents+`bind:
  - {match: "web:*", agent: cook}
  - {match: "web:ship/*", agent: [pirate, dragoman]}
  - {match: web, agent: [dragoman]}
  - {match: "web:ship/deck", agent: [cook, pirate]}
heartbeat: {jobs: [{name: news, every: 1h, target: "web:default", prompt: News., agent: cook}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]string{
		"web:default":   {"cook"},
		"web:ship/mast": {"pirate", "dragoman"},
		"web:ship/deck": {"cook", "pirate"},
		"cli:direct":    nil,
	} {
		if got := c.Bound(channels.MustKey(key)); !slices.Equal(got, want) {
			t.Errorf("in %s, %q may answer, want %q", key, got, want)
		}
	}
	want := config.Persona{Prompt: "Speak like a pirate.", Model: "small", Tools: config.ToolList{"time"}, Memory: config.OwnMemory}
	if diff := cmp.Diff(want, c.Agents["pirate"]); diff != "" {
		t.Errorf("the persona (-want +got):\n%s", diff)
	}
	if got := c.Agents["cook"].Memory; got != "shared" {
		t.Errorf("memory is %q by default", got)
	}
	lines := c.BoundAgents()
	if !slices.Contains(lines, "web:ship/*: pirate, dragoman") || !slices.Contains(lines, "job news: cook") || len(lines) != 5 {
		t.Errorf("the lines are %q", lines)
	}
	if _, err := load(t, c.Effective()); err != nil {
		t.Errorf("the effective configuration does not load: %v", err)
	}
}

func TestWrongAgents(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"an unknown name": {
			"agents: {pirate: {prompt: Arr.}}\nbind:\n  - {match: web, agent: priate}\n",
			`3 bind[0].agent[0]: "priate" is no persona of agents; did you mean "pirate"? configured: pirate, dragoman`,
		},
		"of a job": {
			`heartbeat: {jobs: [{name: a, every: 1h, target: "web:a", prompt: x, agent: cook}]}`,
			`1 heartbeat.jobs[0].agent: "cook" is no persona of agents; configured: dragoman`,
		},
		"a model that is nowhere else": {
			"model: {base_url: 'http://127.0.0.1:1/v1', name: large, fallback: [large-2], others: [{name: small}]}\nagents: {pirate: {model: smal}}",
			`2 agents.pirate.model: "smal" is no model of the section model; did you mean "small"? write one of large, large-2, small, or add it to model.others`,
		},
		"a model, and none is named": {"agents: {pirate: {model: tiny}}", `1 agents.pirate.model: "tiny" is no model of the section model; add it to model.others`},
		"a reserved name":            {"agents: {dragoman: {prompt: x}}", "1 agents.dragoman: dragoman is the name of the one of the section agent; give it another name"},
		"a bad name":                 {"agents: {Big Cook: {prompt: x}}", "1 agents.(a key with unusual characters): a persona's name has 1 to 32 characters of a-z, 0-9, _ and -; give it another name"},
		"an unknown tool":            {"agents: {a: {tools: [tame]}}", `1 agents.a.tools[0]: "tame" is not a known value; did you mean "time"? write red or time`},
		"an unknown channel":         {"bind: [{match: 'tele:1', agent: dragoman}]", `1 bind[0].match: there is no channel "tele"; configured: cli, web`},
		"a bad match": {
			"bind: [{match: 'web:a*b', agent: dragoman}, {match: w*, agent: dragoman}]",
			`1 bind[0].match: "web:a*b" is no channel and no conversation; write a channel (telegram), a conversation (telegram:-100200), or the beginning of one with a star (telegram:-100200:*)`,
		},
		"twice":      {"bind: [{match: web, agent: dragoman}, {match: web, agent: dragoman}]", "1 bind[1].match: appears twice; keep one, or give it another name"},
		"no persona": {"bind: [{match: web}]", "1 bind[0]: names neither a persona nor tools; write agent: NAME, or tools, or remove the entry"},
		"a skill":    {"agents: {a: {skills: [x]}}", "1 agents.a.skills: unknown key; known here: prompt, model, tools, memory"},
	} {
		_, err := load(t, tt.text)
		want := strings.Replace(tt.want, "red or time", "read_file or time", 1)
		if got := problems(t, err); got[0] != want {
			t.Errorf("%s: the problem is %q, want %q", name, got[0], want)
		}
	}
}

// The file of a prompt is known, so that it can be read again, and the model's tools must
// not reach it.
func TestPromptFiles(t *testing.T) {
	dir := t.TempDir()
	soul := filepath.Join(dir, "SOUL.md")
	write(t, soul, "Be a pirate.\n")
	c, err := load(t, `agents: {pirate: {prompt: "${file:`+soul+`}"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Agents["pirate"]; got.Prompt != "Be a pirate." || got.File != soul {
		t.Errorf("the persona is %+v", got)
	}
	if shown := c.Effective(); strings.Contains(shown, "Be a pirate.") || !strings.Contains(shown, "${file:"+soul+"}") {
		t.Error("the effective configuration does not name the file, or has its text")
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(work, "in", "SOUL.md")
	write(t, inside, "Be me.")
	link := filepath.Join(dir, "link.md")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{inside, link} {
		_, err := load(t, "workspace: "+work+"\nagents: {pirate: {prompt: \"${file:"+file+"}\"}}")
		want := "2 agents.pirate.prompt: its file is inside the workspace, so the model's tools could rewrite the persona; move the file out of the workspace"
		if got := problems(t, err); got[0] != want {
			t.Errorf("with %s: %q, want %q", file, got[0], want)
		}
	}
	if _, err := load(t, "agents: {pirate: {prompt: \"${file:"+dir+"/none}\"}}"); err == nil {
		t.Error("a file that is not there is no problem")
	}
}

// A tool that is off for everybody is off for a persona, and check says so.
func TestToolsThatAreOff(t *testing.T) {
	for _, tools := range []string{"[read_file]", "{time: deny}"} {
		c, err := load(t, "agent: {tools: "+tools+"}\n"+twoAgents)
		if err != nil {
			t.Fatal(err)
		}
		if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0].String(), "agents.pirate.tools[0]: time is turned off in agent.tools") {
			t.Errorf("with %s the warnings are %v", tools, w)
		}
	}
}

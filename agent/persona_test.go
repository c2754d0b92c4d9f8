package agent_test

import (
	"strings"
	"testing"

	"dragoman/agent"
)

// crew are the personas of these tests.
func crew(list ...*agent.Persona) func(string) *agent.Persona {
	return func(name string) *agent.Persona {
		for _, p := range list {
			if p.Name == name {
				return p
			}
		}
		return nil
	}
}

// turnOfPersona is a turn of a conversation that has this persona.
func turnOfPersona(name, text string) agent.Turn {
	t := turnOf(text)
	t.History.Settings.Agent = name
	return t
}

// cannotWithout names the tools that are there, so that tests see which it was asked about.
func cannotWithout(tools []agent.Spec) string { return "You have only: " + names(tools) + "." }

// A persona has its prompt and its tools, and the sentence about what it cannot do is made of
// these. Others are as they were.
func TestPersona(t *testing.T) {
	m := newScript(t, say("Arr."), say("Yes."), say("Hm."))
	a := newAgent(t, m, agent.Options{
		System: "Be plain.", Cannot: cannotWithout, Personas: crew(&agent.Persona{Name: "pirate", System: "Be a pirate.", Tools: []string{"look"}}),
	}, newCounter("look"), newCounter("pay"))
	run(t, a, turnOfPersona("pirate", "hi"))
	run(t, a, turnOf("hi"))
	run(t, a, turnOfPersona("gone", "hi"))
	got := m.requests()
	if !strings.HasPrefix(got[0].System, "Be a pirate.") || !strings.Contains(got[0].System, "You have only: look.") || names(got[0].Tools) != "look" {
		t.Errorf("the persona is asked with %q and the tools %q", got[0].System, names(got[0].Tools))
	}
	for _, r := range got[1:] {
		if !strings.HasPrefix(r.System, "Be plain.") || !strings.Contains(r.System, "You have only: look pay.") || names(r.Tools) != "look pay" {
			t.Errorf("without a persona it is %q and the tools %q", r.System, names(r.Tools))
		}
	}
}

// A tool that a persona may not use is not run, whatever the model writes, and its tools know
// whose memory is meant.
func TestPersonaKeepsToItsTools(t *testing.T) {
	m := newScript(t, call("1 pay {}", "2 look {}"), say("Done."))
	pay, look := newCounter("pay"), newCounter("look")
	a := newAgent(t, m, agent.Options{Personas: crew(&agent.Persona{Name: "pirate", Tools: []string{"look"}, OwnMemory: true})}, look, pay)
	res := run(t, a, turnOfPersona("pirate", "pay"))
	if len(pay.calls()) != 0 || len(look.calls()) != 1 {
		t.Errorf("%d calls of a tool that is not the persona's, %d of its own", len(pay.calls()), len(look.calls()))
	}
	if said := show(res.Messages); !strings.Contains(said, `there is no tool called "pay"; the tools are: look`) {
		t.Errorf("the model is told %s", said)
	}
	if got := look.calls()[0].Own; got != "pirate" {
		t.Errorf("the memory of the call is %q", got)
	}
}

// A persona without tools has a prompt that mentions none, and a conversation's own prompt
// counts more than the persona's.
func TestPersonaWithoutTools(t *testing.T) {
	m := newScript(t, say("a"), say("b"))
	a := newAgent(t, m, agent.Options{System: "Use tools.", Toolless: "Use none.", Personas: crew(&agent.Persona{Name: "plain", Tools: []string{}})}, newCounter("look"))
	run(t, a, turnOfPersona("plain", "hi"))
	own := turnOfPersona("plain", "hi")
	own.History.Settings.System = "Be mine."
	run(t, a, own)
	for i, begin := range []string{"Use none.", "Be mine."} {
		if r := m.requests()[i]; !strings.HasPrefix(r.System, begin) || len(r.Tools) != 0 {
			t.Errorf("the prompt is %q with the tools %q, want %s and none", r.System, names(r.Tools), begin)
		}
	}
}

// The beginning of requests is the same from turn to turn within a persona, and a persona
// that changes has its new prompt in the next turn.
func TestPersonaThatChanges(t *testing.T) {
	m := newScript(t, say("a"), say("b"), say("c"))
	now := &agent.Persona{Name: "pirate", System: "Be a pirate."}
	a := newAgent(t, m, agent.Options{Personas: func(string) *agent.Persona { return now }}, newCounter("look"))
	run(t, a, turnOfPersona("pirate", "one"))
	run(t, a, turnOfPersona("pirate", "two"))
	now = &agent.Persona{Name: "pirate", System: "Be a captain."}
	run(t, a, turnOfPersona("pirate", "three"))
	got := m.requests()
	if got[0].System != got[1].System || !strings.HasPrefix(got[2].System, "Be a captain.") {
		t.Errorf("the prompts are %q, %q, %q", got[0].System, got[1].System, got[2].System)
	}
}

package actions

import (
	"strings"

	"dragoman/agent"
)

// Verdict is what is done about a call.
type Verdict int

// The verdicts.
const (
	Refuse Verdict = iota
	Ask
	Allow
)

// Situation is what a verdict depends on.
type Situation struct {
	Effect agent.Effect
	Rule   agent.Rule
	// Tainted: the model had read words that are not the person's when it made the call.
	Tainted bool
	// Nobody is there to be asked: a job runs, or a program asks for somebody.
	Nobody bool
	// Weighty: of what is ours, it is a change that people notice late: see [agent.WeightyTool].
	Weighty bool
}

// Judge is the table. It never asks about what only reads, and allows nothing that leaves
// us or runs a program after foreign words without a person.
//
//	effect            clean                 tainted   nobody there
//	read              allow                 allow     allow
//	own               allow                 allow     allow
//	own and weighty   allow                 ask       refuse
//	out               allow, or as ruled    ask       refuse; ruled "allow" and clean: allow
//	run               ask                   ask       refuse
func Judge(s Situation) Verdict {
	v := judgeEffect(s)
	switch {
	case s.Rule == agent.RuleDeny:
		return Refuse
	case s.Rule == agent.RuleAsk && s.Effect != agent.EffectRead:
		v = min(v, Ask)
	}
	if v == Ask && s.Nobody {
		return Refuse
	}
	return v
}

// judgeEffect is Judge for tools of which the configuration does not say more than "allow".
func judgeEffect(s Situation) Verdict {
	switch s.Effect {
	case agent.EffectRead:
		return Allow
	case agent.EffectOwn:
		if s.Weighty && (s.Tainted || s.Nobody) {
			return Ask
		}
		return Allow
	case agent.EffectRun:
		return Ask
	}
	if s.Tainted || s.Nobody && s.Rule != agent.RuleAllow {
		return Ask
	}
	return Allow
}

// isOut reports whether words leave by an effect, or nobody knows better.
func isOut(e agent.Effect) bool {
	return e != agent.EffectRead && e != agent.EffectOwn && e != agent.EffectRun
}

// reasons say why an origin of words is a reason to ask, by the part before the colon.
var reasons = map[string]string{
	"others": "words of somebody else were read",
	"web":    "a page of the web was read",
	"file":   "a file was read",
	"memory": "something that I was told earlier was read",
	"mcp":    "words from the server %s were read",
	"hook":   "words that came in by %s were read",
	"skill":  "the skill %s was used",
}

// why says why a call is asked about.
func why(s Situation, origins []string) string {
	if !s.Tainted {
		if s.Effect == agent.EffectRun {
			return "it runs a program"
		}
		return "the configuration asks for a yes"
	}
	var said []string
	for _, o := range origins {
		kind, name, _ := strings.Cut(o, ":")
		reason := reasons[kind]
		switch {
		case reason == "":
			reason = "foreign words were read"
		case strings.Contains(reason, "%s"):
			name, _, _ = strings.Cut(name, "@")
			reason = strings.Replace(reason, "%s", visible(name), 1)
		case name != "":
			reason += " (" + visible(name) + ")"
		}
		said = append(said, reason)
	}
	return strings.Join(unique(said), ", and ")
}

// unique drops repeated entries.
func unique(list []string) (kept []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			kept = append(kept, s)
		}
		seen[s] = true
	}
	return kept
}

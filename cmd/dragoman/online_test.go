package main

import (
	"strings"
	"testing"

	"dragoman/internal/llm"
)

// What the model's server has is a table; trouble is said, and fails.
func TestModels(t *testing.T) {
	w := newWorld(t)
	w.daemon.model = llm.Report{
		Why: "The model is a at h, as the configuration says.", Host: "h", Model: "a", API: "chat", Abilities: "Its window is 8192 tokens (source: its list).",
		Models:  []llm.ListedModel{{Name: "a", Configured: true, Window: 8192, Tools: "no"}, {Name: "b", Shutdown: "2026-04-01", EndsSoon: true}},
		Learned: []llm.LearnedLine{{Model: "a", What: "tools=no", Said: "a does not support tools", At: clock}},
	}
	out := w.want([]string{"The model is a at h", "(source: its list)", "answers and has the model", "   MODEL", "*  a        8192  no", "2026-04-01 (soon)", "  a: tools=no, "}, "models")
	if strings.Contains(out, "trouble") {
		t.Errorf("models tells of trouble:\n%s", out)
	}
	w.want([]string{`"window": 8192`}, "models", "--json")
	w.want([]string{"Who may talk:", "answers and has the model"}, "check", "--online")
	w.daemon.model = llm.Report{Why: "x.", Cause: "key", Trouble: "The API key is refused."}
	for _, args := range [][]string{{"models"}, {"check", "--online"}, {"models", "--json"}} {
		if code, out, _ := w.run(args...); code != exitFailed || !strings.Contains(out, "The API key is refused.") {
			t.Errorf("%v ends with %d:\n%s", args, code, out)
		}
	}
	w.daemon.model = llm.Report{Demo: true, Why: "The built-in demo."}
	w.want([]string{"The built-in demo."}, "models")
}

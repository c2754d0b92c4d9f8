package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/internal/config"
	"dragoman/sessions"
)

// Fields of other programs are named and not shown: they may be as long as a
// document.
func TestMetaText(t *testing.T) {
	many := map[string]string{}
	for i := range 12 {
		many[fmt.Sprintf("f%02d", i)] = strings.Repeat("long ", 5000)
	}
	raw, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	if got := metaText(sessions.FieldsName, raw); !strings.HasPrefix(got, "f00 (25002 bytes), f01 (") || !strings.HasSuffix(got, ", and 4 more") || len(got) > 300 {
		t.Errorf("it is %.400s", got)
	}
	for _, value := range []string{`{"a":1}`, `"Ann"`, `3`} {
		if got := metaText("own", json.RawMessage(value)); got != value {
			t.Errorf("own metadata %s is shown as %s", value, got)
		}
	}
	if got := metaText(sessions.FieldsName, json.RawMessage(`"odd"`)); got != `"odd"` {
		t.Errorf("what is no object is shown as %s", got)
	}
}

// Whoever gives a conversation a model learns what comes of it: a name is
// mistyped easily, and the demo has no other models.
func TestSetSaysWhatTheModelDoes(t *testing.T) {
	const unknown, demo = "The configuration does not name small-1, so the server may not have it.", "The built-in demo has no other models and answers anyway"
	for name, test := range map[string]struct {
		model config.Model
		says  string
	}{
		"demo":       {config.Model{Type: "demo"}, demo},
		"unknown":    {config.Model{Type: "openai", Name: "big-1"}, unknown},
		"configured": {config.Model{Type: "openai", Name: "small-1"}, ""},
		"beside it":  {config.Model{Type: "openai", Name: "big-1", Others: []config.Other{{Name: "small-1"}}}, ""},
	} {
		w := newWorld(t)
		w.daemon.adjust = func(c *config.Config) { c.Model = test.model }
		out := w.want([]string{"model    small-1\n" + test.says}, "sessions", "set", "telegram:1", "model=small-1", "--new")
		if n := strings.Count(out, "\n"); test.says == "" && n != 2 {
			t.Errorf("%s: more is said than the setting:\n%s", name, out)
		}
		if out := w.want(nil, "sessions", "set", "telegram:1", "system=x"); strings.Contains(out, "server") {
			t.Errorf("%s: a prompt is taken for a model:\n%s", name, out)
		}
	}
}

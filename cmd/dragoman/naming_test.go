package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOneNameForOneThing: whatever prints a conversation in JSON calls what it
// has of it as show does.
func TestOneNameForOneThing(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "Trip to Rome", "hello")
	w.want(nil, "sessions", "tag", "telegram:1", "+trip")
	w.want([]string{"system   Be brief."}, "sessions", "set", "telegram:1", "model=small-1", "system_prompt=Be brief.", "meta.days=3")
	read := func(into any, args ...string) {
		t.Helper()
		if err := json.Unmarshal([]byte(w.want(nil, args...)), into); err != nil {
			t.Fatal(err)
		}
	}
	var shown map[string]any
	var list []map[string]any
	var stats struct{ Top []map[string]any }
	read(&shown, "sessions", "show", "telegram:1", "--json")
	read(&list, "sessions", "list", "--json")
	read(&stats, "sessions", "stats", "--json")
	if len(list) != 1 || len(stats.Top) != 1 {
		t.Fatalf("%d conversations are listed and %d counted, want 1", len(list), len(stats.Top))
	}
	for what, one := range map[string]map[string]any{"list": list[0], "stats": stats.Top[0]} {
		for _, name := range []string{"key", "title", "generation", "created", "updated", "message_count", "total_tokens", "usage", "model", "system_prompt", "tags", "metadata"} {
			if diff := cmp.Diff(shown[name], one[name]); diff != "" || one[name] == nil {
				t.Errorf("%s in %s (-show +%s):\n%s", name, what, what, diff)
			}
		}
		for _, former := range []string{"messages", "system"} {
			if _, found := one[former]; found {
				t.Errorf("%s has the former name %s, too: %v", what, former, one)
			}
		}
	}
	w.want([]string{"model    small-1"}, "sessions", "unset", "telegram:1", "system_prompt")
}

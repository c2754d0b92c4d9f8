package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/config"
)

// What a request gets beside Dragoman's own is read as it is written; values
// of headers are secrets.
func TestExtras(t *testing.T) {
	c, err := load(t, `
model:
  base_url: https://host/openai/deployments/x?api-version=2025-01-01
  name: m
  extra_body:
    top_p: 0.9
    n: 1
    stop: null
    think: true
    user: "${WHO}"
    provider: {order: [a, "b"], allow_fallbacks: false}
  extra_headers: {X-One: "${KEY}", x-two: plain}
`, "WHO=me", "KEY=canary-in-a-header")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"top_p": "0.9", "n": "1", "stop": "null", "think": "true", "user": `"me"`, "provider": `{"allow_fallbacks":false,"order":["a","b"]}`}
	got := map[string]string{}
	for name, value := range c.Model.ExtraBody {
		got[name] = string(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("extra_body (-want +got):\n%s", diff)
	}
	if h := c.Model.ExtraHeaders; h["X-One"].Reveal() != "canary-in-a-header" || h["x-two"].Reveal() != "plain" || len(h) != 2 {
		t.Errorf("extra_headers = %v", h)
	}
	shown := c.Effective()
	if strings.Contains(shown, "canary") || strings.Contains(shown, "plain") || !strings.Contains(shown, "X-One: <secret>") || !strings.Contains(shown, "allow_fallbacks") {
		t.Errorf("Effective:\n%s", shown)
	}
	again := load1(t, shown)
	if diff := cmp.Diff(c.Model.ExtraBody, again.Model.ExtraBody, cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) })); diff != "" {
		t.Errorf("its effective form loads as (-want +got):\n%s", diff)
	}
	var none config.Body
	if c := load1(t, "model: {extra_body: , extra_headers: {}}"); len(c.Model.ExtraBody) != len(none) {
		t.Errorf("nothing is %v", c.Model.ExtraBody)
	}
}

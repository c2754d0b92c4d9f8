package config_test

import (
	"path/filepath"
	"testing"
)

// Nodes that differ in what is about one machine have one fingerprint, and others not.
func TestFingerprint(t *testing.T) {
	print := func(text string) string {
		cfg, err := load(t, "store: {type: postgres, url: '${URL}'}\n"+text, "URL=postgres://a@b/c", "KEY=sk-other")
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Fingerprint()
	}
	one := print("state_dir: /var/lib/one\n")
	for name, test := range map[string]struct {
		text string
		same bool
	}{
		"another folder":  {"state_dir: /var/lib/two\nnode: {name: two}\n", true},
		"another address": {"http: {listen: '127.0.0.1:9999'}\n", true},
		"other roles":     {"roles: [turns]\n", true},
		"another secret":  {"model: {api_key: '${KEY}'}\n", false}, // set or not is no secret
		"another model":   {"model: {name: other}\n", false},
		"another limit":   {"agent: {max_steps: 3}\n", false},
	} {
		if got := print(test.text); (got == one) != test.same {
			t.Errorf("%s: %s and %s, want the same: %t", name, one, got, test.same)
		}
	}
}

// The prompt of a persona is a thing in common, and the place of its file is not.
func TestFingerprintOfAPersona(t *testing.T) {
	print := func(prompt string) string {
		file := filepath.Join(t.TempDir(), "SOUL.md")
		write(t, file, prompt)
		cfg, err := load(t, `agents: {cook: {prompt: "${file:`+file+`}"}}`)
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Fingerprint()
	}
	if one, other := print("Cook."), print("Cook."); one != other {
		t.Errorf("the same prompt in two places has the fingerprints %s and %s", one, other)
	}
	if one, other := print("Cook."), print("Bake."); one == other {
		t.Error("two prompts have one fingerprint")
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/config"
)

// Whatever the file holds, Load does not panic, and nothing that came out of a
// variable or a file is repeated in an error or a warning, nor a secret in the
// effective configuration.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "http: {token: \"${X}\"}", "agent: {max_steps: \"${X}\"}", "queue: {mode: \"${X}\"}", "model: {base_url: \"${X}\", name: \"${X}\"}",
		"channels: {t: {type: telegram, token: \"${X}\", allow: [\"${X}\", 5]}}", "channels: {t: {type: \"${X}\"}}",
		"channels: {i: {type: irc, server: \"${X}\", nick: \"${X}\", channels: [\"${X}\", {name: a, key: \"${X}\"}]}}",
		"heartbeat: {target: \"${X}\", time_zone: \"${X}\", jobs: [{name: \"${X}\", target: \"web:${X}\", cron: \"${X}\"}]}",
		"state_dir: \"${X}\"", "heartbeat: {jobs: [{name: a, target: \"web:x\", cron: \"${X}\", prompt: p}]}", "http: {listen: \"${X}:80\"}", "a: &a [*a]", "? [a]\n: b", "\t", "x: |\n  ${X}\n", "agent: {tools: [\"${X}\"]}",
		"log: {level: \"${X}\", format: \"$${X}\"}", "--- {}\n--- {}", "summary: {keep: {n: ${X:-3}}}",
	} {
		f.Add(seed)
	}
	if example, err := os.ReadFile("../../config.example.yaml"); err == nil {
		f.Add(string(example))
	}
	const canary = "Canary99"
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "file:") || strings.Contains(text, "_file") {
			return // reads this machine's files, or names the canary itself
		}
		path := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := config.Load(config.Options{
			Path: path, Home: "/home/me", Dir: "/", Types: app.Types(),
			Env: func(name string) (string, bool) { return canary, name != "DRAGOMAN_CONFIG" },
		})
		if err != nil {
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error repeats a secret: %v", err)
			}
			return
		}
		for _, w := range c.Warnings() {
			if strings.Contains(w.String(), canary) {
				t.Errorf("a warning repeats a secret: %s", w)
			}
		}
		for line := range strings.Lines(c.Effective()) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if (key == "token" || key == "api_key" || key == "password" || key == "key") && strings.Contains(value, canary) {
				t.Errorf("Effective shows a secret: %s", line)
			}
		}
	})
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/config"
)

// Every setting is shown with its value and the line that sets it, and no secret is.
func TestShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	text := "http:\n  listen: 127.0.0.1:9999\n  token: a-secret-of-the-page\nmodel: {type: demo}\nworkspace: \"/srv/${TEAM}\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{Path: path, Home: "/home/ann", Dir: "/", Env: func(name string) (string, bool) { return "team-one", name == "TEAM" }})
	if err != nil {
		t.Fatal(err)
	}
	list, err := cfg.Shown()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]config.Shown{
		"http.listen": {Path: "http.listen", Value: "127.0.0.1:9999", Line: 2},
		"http.token":  {Path: "http.token", Value: "<secret>", Line: 3},
		"model.type":  {Path: "model.type", Value: "demo", Line: 4},
		"workspace":   {Path: "workspace", Value: "/srv/team-one", Line: 5, Environment: true},
		"store.type":  {Path: "store.type", Value: "sqlite"},
	}
	for _, got := range list {
		if strings.Contains(got.Value, "a-secret") {
			t.Errorf("%s shows a secret", got.Path)
		}
		if is, asked := want[got.Path]; asked && got != is {
			t.Errorf("shown %+v, want %+v", got, is)
		}
		delete(want, got.Path)
	}
	for path := range want {
		t.Errorf("%s is not shown", path)
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/config"
)

func TestExpansion(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "crlf"), "0123456789abcdef\r\n")
	write(t, filepath.Join(dir, "tricky"), "${HOME}0123456789abcdef")
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", 65<<10))
	tests := []struct{ value, want string }{
		{"0123456789abcdef$", "0123456789abcdef$"},
		{"$0123456789abcdef", "$0123456789abcdef"},
		{"$${KEY}0123456789abcdef", "${KEY}0123456789abcdef"},
		{"$$$${KEY}", "$${KEY}"},
		{"${KEY}-${KEY}", "${file:/x}$$-${file:/x}$$"},
		{"${UNSET:-0123456789abcdef}", "0123456789abcdef"},
		{"${EMPTY:-0123456789abcdef}", "0123456789abcdef"},
		{"${file:" + dir + "/crlf}", "0123456789abcdef"},
		{"${file:" + dir + "/tricky}", "${HOME}0123456789abcdef"},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			c, err := load(t, "model: {api_key: '"+tt.value+"'}\n", "KEY=${file:/x}$$", "EMPTY=")
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Model.APIKey.Reveal(); got != tt.want {
				t.Errorf("= %q, want %q", got, tt.want)
			}
		})
	}
	c, err := load(t, "agent: {max_steps: \"${N}\"}\nqueue:\n  rate_per_minute: ${N}\n", "N=7")
	if err != nil || c.Agent.MaxSteps != 7 || c.Queue.RatePerMinute != 7 {
		t.Errorf("numbers from variables: %v, %+v", err, c)
	}
	if _, err := load(t, "http: {token: '${file:"+dir+"/big}'}\n"); err == nil || !strings.Contains(err.Error(), "has more than 64KiB") {
		t.Errorf("big file: %v", err)
	}
	// Keys are never expanded.
	if _, err := load(t, "${K}: {}\n", "K=http"); err == nil {
		t.Error("a key was expanded")
	}
}

func TestSearchOrder(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	o := options(t, "")
	o.Home, o.Dir = home, dir
	where := func() string {
		t.Helper()
		_, src, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		return src.String()
	}
	o.System = filepath.Join(home, "etc")
	if got, want := where(), "built-in defaults (no configuration file)"; got != want {
		t.Errorf("source = %s, want %s", got, want)
	}
	machine := filepath.Join(home, "etc/config.yaml")
	write(t, machine, "")
	if got := where(); got != machine {
		t.Errorf("source = %s, want %s", got, machine)
	}
	user := filepath.Join(home, ".config/dragoman/config.yaml")
	write(t, user, "")
	if got := where(); got != user {
		t.Errorf("source = %s, want %s", got, user)
	}
	local := filepath.Join(dir, "dragoman.yaml")
	write(t, local, "")
	if got := where(); got != local {
		t.Errorf("source = %s, want %s", got, local)
	}
	o.Env = func(name string) (string, bool) {
		return map[string]string{"SUDO_USER": "ann"}[name], name == "SUDO_USER"
	}
	if got := where(); got != machine {
		t.Errorf("under sudo, source = %s, want %s", got, machine)
	}
	named := filepath.Join(home, "named.yaml")
	write(t, named, "")
	o.Env = func(name string) (string, bool) { return "~/named.yaml", name == "DRAGOMAN_CONFIG" }
	if got, want := where(), named+" (from $DRAGOMAN_CONFIG)"; got != want {
		t.Errorf("source = %s, want %s", got, want)
	}
	o.Path = "dragoman.yaml"
	if got, want := where(), local+" (from --config)"; got != want {
		t.Errorf("source = %s, want %s", got, want)
	}
	// A link to a file that is gone is not passed over.
	o.Path, o.Env = "", options(t, "").Env
	if err := os.Remove(local); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/no/such/file", local); err != nil {
		t.Fatal(err)
	}
	if _, src, err := config.Load(o); err == nil || src.Path != local {
		t.Errorf("a dangling link: %v from %v, want an error", err, src)
	}
	o.Dir = filepath.Join(home, strings.Repeat("x", 300)) // a name too long to look up
	if _, _, err := config.Load(o); err == nil {
		t.Error("a place that cannot be looked at was passed over")
	}
	o.Dir, o.Path = dir, "missing.yaml"
	_, _, err := config.Load(o)
	if err == nil || !strings.Contains(err.Error(), "named by --config and cannot be read: no such file") {
		t.Errorf("missing: %v", err)
	}
}

// Whoever runs a verb, the machine's configuration means the service's state.
func TestStateOfTheService(t *testing.T) {
	o := options(t, "")
	o.System = t.TempDir()
	file := filepath.Join(o.System, "config.yaml")
	write(t, file, "")
	state := func(o config.Options) string {
		t.Helper()
		c, _, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		return c.StateDir
	}
	named := o
	named.Path = file
	for how, o := range map[string]config.Options{"found": o, "named": named} {
		if got, want := state(o), "/var/lib/dragoman"; got != want {
			t.Errorf("%s: state_dir = %s, want %s", how, got, want)
		}
	}
	o.Env = func(name string) (string, bool) {
		if name == "STATE_DIRECTORY" {
			return "/srv/state", true
		}
		return "", false
	}
	if got, want := state(o), "/srv/state"; got != want {
		t.Errorf("below the service manager: state_dir = %s, want %s", got, want)
	}
	write(t, file, "state_dir: /srv/mine")
	if got, want := state(named), "/srv/mine"; got != want {
		t.Errorf("written down: state_dir = %s, want %s", got, want)
	}
}

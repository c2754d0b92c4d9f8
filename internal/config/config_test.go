package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/channels/irc"
	"dragoman/channels/telegram"
	"dragoman/internal/app"
	"dragoman/internal/config"

	"github.com/google/go-cmp/cmp"
)

// load reads text as the configuration of an otherwise empty machine.
func load(t *testing.T, text string, env ...string) (*config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	write(t, path, text)
	c, _, err := config.Load(options(t, path, env...))
	return c, err
}

func options(t testing.TB, path string, env ...string) config.Options {
	vars := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	return config.Options{
		Path: path, Home: "/home/me", Dir: t.TempDir(),
		Env:   func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Tools: someTools{}, Types: app.Types(), Rules: app.Rules(),
	}
}

// someTools are time and read_file, and whatever begins with "far_" or "files__".
type someTools struct{}

func (someTools) Known() []string { return []string{"read_file", "time"} }

func (s someTools) MayExist(name string) bool {
	return slices.Contains(append(s.Known(), "*"), name) || strings.HasPrefix(name, "far_") || strings.HasPrefix(name, "files__")
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyFileIsTheDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "comment": "# nothing\n", "null": "~\n", "byte order mark": "\ufeff",
		"sections without keys": "http:\nmodel:\nchannels:\nheartbeat:\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := load(t, text)
			if err != nil {
				t.Fatal(err)
			}
			if c.HTTP.Listen != "127.0.0.1:8787" || c.Model.ContextWindow != 0 || c.Agent.MaxSteps != 10 || c.Queue.Mode != "collect" {
				t.Errorf("not the defaults:\n%s", c.Effective())
			}
			if got, want := c.StateDir, "/home/me/.local/state/dragoman"; got != want {
				t.Errorf("StateDir = %s, want %s", got, want)
			}
			if got, want := c.Workspace, "/home/me/.local/state/dragoman/workspace"; got != want {
				t.Errorf("Workspace = %s, want %s", got, want)
			}
			if diff := cmp.Diff([]string{"cli", "web"}, c.Active()); diff != "" {
				t.Error(diff)
			}
			if c.Agent.Tools != nil {
				t.Errorf("Tools = %v, want all of them", c.Agent.Tools)
			}
			if w := c.Warnings(); len(w) > 0 {
				t.Errorf("Warnings = %v, want none", w)
			}
		})
	}
}

func TestIssueShape(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "telegram"), "123:abcdefghij\n")
	c, err := load(t, `
state_dir: ~/.local/state/dragoman
store: {type: sqlite}
http: {listen: 127.0.0.1:8787}
model: {base_url: http://127.0.0.1:11434/v1, api_key: "${OPENAI_API_KEY}", name: qwen3, context_window: 32768}
agent: {max_steps: 10, max_turns: 64}
queue: {mode: collect, max_waiting: 50}
channels:
  telegram: {type: telegram, token: "${file:`+dir+`/telegram}", allow: [123456789], api_url: https://api.telegram.org}
  libera:   {type: irc, server: irc.example.org:6697, tls: true, nick: dragoman, channels: ["#go", {name: "#x", key: k}], allow: ["account:alice"]}
heartbeat:
  jobs: [{name: morning, cron: "0 8 * * *", time_zone: Europe/Rome, target: "telegram:123456789", prompt: "What is on today?"}]
`, "OPENAI_API_KEY=sk-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Model.APIKey.Reveal(); got != "sk-1" {
		t.Errorf("APIKey = %q, want sk-1", got)
	}
	tg := c.Channels["telegram"]
	if got := tg.Settings.(*telegram.Settings).Token.Reveal(); got != "123:abcdefghij" {
		t.Errorf("Token = %q, want it without the line end", got)
	}
	if diff := cmp.Diff([]string{"123456789"}, tg.Allow); diff != "" {
		t.Error(diff)
	}
	libera := c.Channels["libera"].Settings.(*irc.Settings)
	if len(libera.Channels) != 2 || libera.Channels[0].Name != "#go" || libera.Channels[1].Key.Reveal() != "k" {
		t.Errorf("Channels = %+v, want #go and #x with its key", libera.Channels)
	}
	if libera.User != "dragoman" || !libera.SASL.Required {
		t.Errorf("IRC = %+v, want defaults filled in", libera)
	}
	if len(c.Heartbeat.Jobs) != 1 || c.Heartbeat.Jobs[0].TimeZone != "Europe/Rome" {
		t.Errorf("Jobs = %+v", c.Heartbeat.Jobs)
	}
	want := []string{
		"cli: everybody who can run dragoman chat on this machine",
		"libera: 1 entry in allow may talk; in shared chats only when addressed",
		"telegram: 1 entry in allow may talk; in shared chats only when addressed",
		"web: everybody who has a token, and until one is made everybody on this machine",
	}
	if diff := cmp.Diff(want, c.Policy()); diff != "" {
		t.Error(diff)
	}
}

// The adapter reports names folded; an allow list must match them however
// they are written, and must not fold what the network keeps apart.
func TestIRCNamesAreFolded(t *testing.T) {
	c, err := load(t, `channels: {n: {type: irc, server: "h:6697", allow: ["account:Alice[É]", "mask:Nick!User@Host.Example", "chat:#Go"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"account:alice[É]", "mask:nick!User@host.example", "chat:#go"}
	if diff := cmp.Diff(want, c.Channels["n"].Allow); diff != "" {
		t.Error(diff)
	}
}

// A channel that is turned off may lack what it needs to run. What it has is
// still checked: see the cases above.
func TestOffNeedsNothing(t *testing.T) {
	c, err := load(t, "channels: {telegram: {enabled: false}, irc: {enabled: false}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"cli", "web"}; !slices.Equal(c.Active(), want) {
		t.Errorf("Active = %q, want %q", c.Active(), want)
	}
}

// Tokens that are made by a command are not in the configuration, and count, too.
func TestPolicyOfThePage(t *testing.T) {
	for text, want := range map[string]string{
		"http: {token: canary-0123456789}":   "web: everybody who has a token",
		"http: {listen: \"0.0.0.0:8787\"}":   "web: everybody who has a token",
		"http: {listen: \"127.0.0.1:8787\"}": "web: everybody who has a token, and until one is made everybody on this machine",
	} {
		c, err := load(t, text+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Policy()[1]; got != want {
			t.Errorf("with %s: Policy = %q, want %q", text, got, want)
		}
	}
}

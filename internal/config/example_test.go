package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/config"
)

// examplePath loads config.example.yaml from a place where its files exist.
func exampleText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "telegram")
	write(t, token, "123456:abcdefghijklmnop\n")
	write(t, token+"_webhook", "canary-webhook-0123456789\n")
	return strings.ReplaceAll(string(data), "/run/credentials/dragoman.service/telegram", token)
}

var exampleEnv = []string{
	"DRAGOMAN_TOKEN=canary-0123456789", "DRAGOMAN_PROXY_SECRET=canary-proxy-0123456789", "IRC_SASL_PASSWORD=canary-sasl", "IRC_CHANNEL_KEY=canary-key",
}

func TestExampleLoads(t *testing.T) {
	c, err := load(t, exampleText(t), exampleEnv...)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Warnings() {
		t.Errorf("warning: %s", w)
	}
}

// Every key of the reference stands in the example, at its own place. A type of
// channels without a block gets one with make generate.
func TestExampleIsComplete(t *testing.T) {
	const path = "../../config.example.yaml"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, kind := range app.Types() {
		if hasBlock(text, kind) {
			continue
		}
		if os.Getenv("UPDATE") == "" {
			t.Fatalf("config.example.yaml has no channel of type %s: run make generate", kind.Name)
		}
		text = withBlock(text, kind)
		write(t, path, text)
	}
	for _, e := range config.Reference(app.Types(), app.Rules()) {
		if !shows(text, e) {
			t.Errorf("config.example.yaml has no %s", e.Path)
		}
		if e.Doc == "" {
			t.Errorf("%s has no doc", e.Path)
		}
	}
}

// examples are the settings of config.example.yaml that show how a value looks.
var examples = []string{
	"agent.tools_in.*", "agent.system_prompt", "agent.time_zone", "agents", "alerts.to", "approvals.approvers", "bind",
	"heartbeat.active_hours", "heartbeat.jobs", "heartbeat.target", "heartbeat.time_zone", "hooks",
	"http.identities", "http.identity_header", "http.identity_secret", "http.public_url", "http.token", "http.trusted_proxies",
	"incoming_webhooks", "mcp.servers",
	"model.base_url", "model.encoding", "model.extra_body", "model.extra_headers", "model.fallback", "model.name", "model.others", "model.temperature",
	"node.name", "routes", "sessions.reset.time_zone",
}

// Whatever else stands in the example is the default: loading it without its examples
// changes nothing.
func TestExampleDefaults(t *testing.T) {
	c, err := load(t, exampleText(t), exampleEnv...)
	if err != nil {
		t.Fatal(err)
	}
	d, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(c.Channels, func(_ string, ch config.Channel) bool { return !ch.Local() }) // examples
	for _, key := range config.Changed(d, c, examples...) {
		t.Errorf("config.example.yaml has not the default of %s: write the default there; or if it has to be an example, mark the line (example) and add the key to examples", key)
	}
}

// Effective shows everything but secrets, and is itself a configuration.
func TestEffective(t *testing.T) {
	text := exampleText(t)
	c, err := load(t, text+"", exampleEnv...)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Effective()
	for _, secret := range []string{"canary", "abcdefghijklmnop"} {
		if strings.Contains(got, secret) {
			t.Errorf("Effective shows %s:\n%s", secret, got)
		}
	}
	for _, want := range []string{"token: <secret>", "max_steps: 10", "every: 30m", "max_message_bytes: 256KiB", "temperature: 0.7", `name: '#private'`, "Source: "} {
		if !strings.Contains(got, want) {
			t.Errorf("Effective lacks %s:\n%s", want, got)
		}
	}
	// The hidden tokens and secrets are too short to be one, and no bot token; all else loads.
	_, err = load(t, got)
	for _, p := range problems(t, err) {
		if !strings.Contains(p, "token") && !strings.Contains(p, "signing_secret") && !strings.Contains(p, "identity_secret") &&
			!strings.Contains(p, "webhook.secret") && !strings.Contains(p, "].secret") {
			t.Errorf("Effective does not load: %s", p)
		}
	}
}

func TestDocumentationIsCurrent(t *testing.T) {
	const path = "../../docs/configuration.md"
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(got), referenceMark)
	if !found {
		t.Fatalf("%s has no %s", path, referenceMark)
	}
	if want := referenceTable(); strings.TrimSpace(table) != strings.TrimSpace(want) {
		if os.Getenv("UPDATE") != "" {
			before, _, _ := strings.Cut(string(got), referenceMark)
			write(t, path, before+referenceMark+"\n\n"+want)
			return
		}
		t.Errorf("%s is out of date: run UPDATE=1 go test ./internal/config", path)
	}
}

// What make install puts into /etc/dragoman is right as it is, and so is each
// line of it that an operator uncomments.
func TestStarter(t *testing.T) {
	text, err := os.ReadFile("../../systemd/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "openai"), "0123456789abcdef")
	write(t, filepath.Join(dir, "telegram"), "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	whole := regexp.MustCompile(`(?m)^#( *[a-z_]+:)`).ReplaceAllString(string(text), "$1")
	whole = strings.ReplaceAll(whole, "/run/credentials/dragoman.service", dir)
	for name, text := range map[string]string{"as it is": string(text), "uncommented": whole} {
		c, err := load(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := name == "uncommented"; c.Channels["telegram"].Pairing != want {
			t.Errorf("%s: pairing on Telegram is %v, want %v", name, !want, want)
		}
	}
}

// A small Debian has no program called kill, only the one inside its shell.
func TestServiceNeedsNoOtherPrograms(t *testing.T) {
	unit, err := os.ReadFile("../../systemd/dragoman.service")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^Exec[A-Za-z]+=(\S+)`).FindAllStringSubmatch(string(unit), -1)
	if len(lines) < 3 {
		t.Fatalf("the service has the commands %q; want a start and two for a reload", lines)
	}
	for _, line := range lines {
		switch line[1] {
		case "/usr/local/bin/dragoman", "/bin/sh":
		default:
			t.Errorf("%s: not every Debian has %s", line[0], line[1])
		}
	}
}

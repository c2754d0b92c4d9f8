package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/config"
)

// Commands that log in nowhere need no secrets: the daemon may have them in its
// own environment, or in a folder that is there only while it runs.
func TestCommandsNeedNoSecrets(t *testing.T) {
	quiet := func(text string) (*config.Config, error) {
		path := filepath.Join(t.TempDir(), "dragoman.yaml")
		write(t, path, text)
		o := options(t, path)
		o.NoSecrets = true
		c, _, err := config.Load(o)
		return c, err
	}
	for _, text := range []string{
		"channels: {telegram: {allow: [1], token: \"${NO_SUCH_VARIABLE}\"}}\n",
		"channels: {telegram: {allow: [1], token: \"${file:/nowhere/token}\"}}\n",
		"channels: {irc: {server: \"irc.example.org:6697\", allow: [\"account:a\"], sasl: {mechanism: plain, user: me, password: \"${NO_SUCH_VARIABLE}\"}}}\n",
		"channels: {irc: {server: \"irc.example.org:6697\", allow: [\"account:a\"], nickserv: {user: me, password: \"${NO_SUCH_VARIABLE}\"}}}\n",
		"http: {listen: \"0.0.0.0:8787\", token: \"${NO_SUCH_VARIABLE}\"}\n",
		"model: {type: openai, base_url: \"https://example.org\", name: m, api_key: \"${NO_SUCH_VARIABLE}\"}\n",
		"hooks: [{on: [turn_done], url: \"https://example.org\", secret: \"${file:/nowhere/s}\"}]\n",
	} {
		c, err := quiet(text)
		if err != nil {
			t.Errorf("without secrets, %s%v", text, err)
		} else if absent := c.Absent(); absent == nil {
			t.Errorf("without secrets, %snothing is absent", text)
		}
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), "nowhere") && !strings.Contains(err.Error(), "not set") {
			t.Errorf("with secrets, %s%v, want what is missing", text, err)
		}
	}
	for _, text := range []string{
		"state_dir: \"${NO_SUCH_VARIABLE}\"\n",
		"channels: {telegram: {allow: [1]}}\n",
		"channels: {telegram: {allow: [1], token: \"${file:}\"}}\n",
		"channels: {telegram: {allow: [1], token: \"${NO_SUCH_VARIABLE}\", preview: perhaps}}\n",
	} {
		if _, err := quiet(text); err == nil {
			t.Errorf("without secrets, %swas taken", text)
		}
	}
}

// A secret that is absent is nothing to connect with: an empty URL would lead to
// whatever database the library takes for the usual one.
func TestAbsentIsNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	write(t, path, "store: {type: postgres, url: \"${NO_SUCH_VARIABLE}\"}\nhttp: {token: \"${file:/nowhere/token}\"}\n")
	o := options(t, path)
	o.NoSecrets = true
	c, _, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Absent() == nil || !c.Store.URL.IsZero() || c.Store.URL.String() != "" || !c.HTTP.Token.IsZero() {
		t.Errorf("absent: %v, the url is there: %v, the token is there: %v", c.Absent(), !c.Store.URL.IsZero(), !c.HTTP.Token.IsZero())
	}
}

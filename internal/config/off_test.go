package config_test

import (
	"strings"
	"testing"
)

// A channel that is turned off needs none of its secrets: neither the files
// nor the variables that they are in.
func TestOffChannelNeedsNoSecrets(t *testing.T) {
	for name, channel := range map[string]string{
		"token in a file":     "telegram: {enabled: %s, allow: [1], token: \"${file:/nowhere/token}\"}",
		"token in a variable": "telegram: {enabled: %s, allow: [1], token: \"${NO_SUCH_VARIABLE}\"}",
		"key after enabled":   "telegram: {allow: [1], token: \"${file:/nowhere/token}\", enabled: %s}",
		"a prompt":            "web: {enabled: %s, system_prompt: \"${file:/nowhere/prompt}\"}",
		"IRC": "irc: {enabled: %s, allow: [\"account:a\"], server: \"irc.example.org:6697\", password: \"${file:/nowhere/p}\", ca_file: /nowhere/ca, client_cert: /nowhere/cert, " +
			"sasl: {mechanism: plain, user: me, password: \"${file:/nowhere/sasl}\"}, nickserv: {user: me, password: \"${NO_SUCH_VARIABLE}\"}, " +
			"channels: [{name: \"#go\", key: \"${file:/nowhere/key}\"}]}",
		"IRC by certificate": "irc: {enabled: %s, allow: [\"account:a\"], server: \"irc.example.org:6697\", client_cert: \"${CERT_FILE}\", sasl: {mechanism: external}}",
	} {
		t.Run(name, func(t *testing.T) {
			settings := func(enabled string) string {
				return "channels:\n  " + strings.Replace(channel, "%s", enabled, 1) + "\n"
			}
			c, err := load(t, settings("false"))
			if err != nil {
				t.Fatalf("turned off: %v", err)
			}
			kind, _, _ := strings.Cut(channel, ":")
			if _, there := c.Channels[kind]; !there || len(c.Active()) == len(c.Channels) {
				t.Errorf("channels: %v, active: %v", c.Channels, c.Active())
			}
			if _, err := load(t, settings("true")); err == nil || !strings.Contains(err.Error(), "nowhere") && !strings.Contains(err.Error(), "not set") {
				t.Errorf("turned on: %v, want what is missing", err)
			}
		})
	}
	// What can never be right is still said.
	for _, text := range []string{
		"channels: {telegram: {enabled: false, token: \"${file:}\"}}\n", "channels: {telegram: {enabled: false, token: \"${no\"}}\n",
		"channels: {a: {enabled: false, type: \"${NO_SUCH_VARIABLE}\"}}\n",
		"channels: {telegram: {enabled: false}, irc: {enabled: true, server: \"${NO_SUCH_VARIABLE}\", allow: [\"account:a\"]}}\n",
	} {
		if _, err := load(t, text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

package config_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Secrets has those of every section, of lists and of channels, but none that is too short
// to be found in other texts.
func TestSecrets(t *testing.T) {
	c, err := load(t, `http: {listen: "127.0.0.1:0", token: the-token-of-the-page}
channels:
  telegram: {token: "123456:abcdefghijklmnopqrstuvwxyz0123456789", allow: ["1"]}
  irc: {server: "irc.example.org:6697", password: short, allow: ["account:a"]}
incoming_webhooks: [{name: shop, verify: bearer, secret: the-secret-of-the-shop, to: "web:default", prompt: x}]
`)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(slices.Values(c.Secrets()))
	want := []string{"123456:abcdefghijklmnopqrstuvwxyz0123456789", "the-secret-of-the-shop", "the-token-of-the-page"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}

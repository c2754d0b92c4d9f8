package config_test

import (
	"strings"
	"testing"

	"dragoman/internal/config"

	"github.com/google/go-cmp/cmp"
)

func TestChanged(t *testing.T) {
	const was = "model: {base_url: http://127.0.0.1:1/v1, name: a, api_key: 0123456789abcdef}\n" +
		"channels: {irc: {server: irc.example.org:6697, nick: x, user: u, channels: [\"#a\"], allow: [account:a]}, web: {allow: [\"*\"]}}\n"
	for name, tt := range map[string]struct {
		is   string
		want []string
	}{
		"nothing":      {was, nil},
		"a model":      {"model: {base_url: http://127.0.0.1:1/v1, name: b, api_key: 0123456789abcdeX}\n" + was[len("model: {base_url: http://127.0.0.1:1/v1, name: a, api_key: 0123456789abcdef}\n"):], []string{"model.api_key", "model.name"}},
		"who may talk": {replaced(was, "allow: [account:a]", "allow: [account:b]"), nil},
		"a nick":       {replaced(was, "nick: x", "nick: y"), []string{"channels.irc.nick"}},
		"a new one":    {was + "queue: {mode: each}\n", []string{"queue.mode"}},
		"another type": {replaced(was, "web: {", "page: {type: web, "), []string{"channels.page", "channels.web"}},
	} {
		old, err := load(t, was)
		if err != nil {
			t.Fatal(err)
		}
		now, err := load(t, tt.is)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, config.Changed(old, now, "channels.*.allow")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func replaced(text, old, now string) string { return strings.Replace(text, old, now, 1) }

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/config"
)

// What would give the model's tools the machine, or one secret two uses, is
// refused, wherever links lead.
func TestUnsafeSettings(t *testing.T) {
	home := t.TempDir()
	for name, to := range map[string]string{"link": "/etc", "round": home, "fine": t.TempDir()} {
		if err := os.Symlink(to, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	const token = "123456:abcdefghijklmnopqrstuvwxyz"
	for name, test := range map[string]struct{ text, want string }{
		"root":              {"workspace: /", "all your files"},
		"etc":               {"workspace: /etc/dragoman", "is in /etc"},
		"a link to etc":     {"workspace: link", "is in /etc"},
		"below a link":      {"workspace: link/new", "is in /etc"},
		"home":              {"workspace: '.'", "all your files"},
		"a link to home":    {"workspace: round", "all your files"},
		"a link elsewhere":  {"workspace: fine", ""},
		"a folder in home":  {"workspace: notes", ""},
		"a bot's token":     {"http: {token: '" + token + "'}\nchannels: {bot: {type: telegram, token: '" + token + "', allow: ['1']}}", "http.token: is the same as channels.bot.token"},
		"the model's key":   {"http: {token: '" + token + "'}\nmodel: {base_url: 'http://127.0.0.1:1/v1', name: x, api_key: '" + token + "'}", "http.token: is the same as model.api_key"},
		"a token by itself": {"http: {token: '" + token + "'}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(home, "c.yaml")
			if err := os.WriteFile(path, []byte("state_dir: /var/lib/nowhere\n"+test.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := config.Load(config.Options{Path: path, Types: app.Types(), Home: home, Dir: home, Env: func(string) (string, bool) { return "", false }})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Load = %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Error("the error shows the secret")
			}
		})
	}
}

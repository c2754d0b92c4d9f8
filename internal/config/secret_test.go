package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/config"
)

// What editors and shells leave around a key in a file is cut off if it can mean nothing,
// and named with the line if it may. A key that nothing is wrong with stays as it is.
func TestKeyFiles(t *testing.T) {
	const key = "sk-live-1234567890abcdef"
	for name, test := range map[string]struct{ file, want string }{
		"as echo writes it":      {key + "\n", ""},
		"from Windows":           {key + "\r\n", ""},
		"a byte order mark":      {"\ufeff" + key + "\n", ""},
		"spaces around":          {"  " + key + " \t\n\n", ""},
		"a mark and a space":     {"\ufeff " + key, ""},
		"quotes":                 {`"` + key + `"` + "\n", "is in quotes"},
		"single quotes":          {"'" + key + "'", "is in quotes"},
		"an office's quotes":     {"“" + key + "”", "is in quotes"},
		"a mark and quotes":      {"\ufeff\"" + key + "\"\r\n", "is in quotes"},
		"a variable":             {"OPENAI_API_KEY=" + key, "is a line like NAME=value"},
		"an exported one":        {"export KEY='" + key + "'\n", "is a line like NAME=value"},
		"a line of YAML":         {"api_key: " + key + "\n", "is a line like NAME=value"},
		"a header":               {"Bearer " + key + "\n", "begins with Bearer"},
		"a space inside":         {"sk-live 1234567890abcdef\n", "contains a space or another character"},
		"a no-break space":       {"sk-live\u00a01234567890\n", "contains a space or another character"},
		"two lines":              {key + "\n# mine\n", "has a line break"},
		"UTF-16":                 {"\xff\xfes\x00k\x00", "is not UTF-8 text"},
		"nothing":                {"", "key is empty; write the secret into it"},
		"nothing but a line end": {"\r\n", "key is empty"},
		"nothing but spaces":     {" \t \n\n", "key is empty"},
		"nothing but a mark":     {"\ufeff\n", "key is empty"},
		"a mark and spaces":      {"\ufeff  \n", "key is empty"},
		"a no-break space alone": {"\u00a0\n", "key is empty"},
		"padding of a base64 is": {"c2stbGl2ZS0xMjM0NTY3ODkw==\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "dragoman.yaml")
			write(t, path, "model:\n  base_url: http://127.0.0.1:1/v1\n  name: x\n  api_key: \"${file:key}\"\n")
			write(t, filepath.Join(dir, "key"), test.file)
			c, _, err := config.Load(options(t, path))
			if test.want != "" {
				if got := strings.Join(problems(t, err), "; "); !strings.HasPrefix(got, "4 model.api_key: ") || !strings.Contains(got, test.want) || strings.Contains(got, "1234567890") {
					t.Errorf("the problem is %q, want line 4 and %q without the key", got, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSpace(strings.TrimPrefix(test.file, "\ufeff"))
			if got := c.Model.APIKey.Reveal(); got != want {
				t.Errorf("the key is %q, want %q", got, want)
			}
		})
	}
}

// A file that a secret is in has one, whatever the setting is: also one that may be left out,
// a password, a header.
func TestSecretsHaveTheirFile(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a key":           {"model: {base_url: 'http://127.0.0.1:1/v1', name: x, api_key: '${file:SECRET}'}", "1 model.api_key: the file"},
		"a token":         {"http: {token: '${file:SECRET}'}", "1 http.token: the file"},
		"a password":      {"\nchannels: {a: {type: irc, server: 'h:6697', password: ' ${file:SECRET} ', allow: ['account:a']}}", "2 channels.a.password: the file"},
		"a header":        {"model: {base_url: 'http://127.0.0.1:1/v1', name: x, extra_headers: {X-Auth: '${file:SECRET}'}}", "1 model.extra_headers.X-Auth: the file"},
		"an off channel":  {"channels: {a: {type: irc, enabled: false, server: 'h:6697', password: '${file:SECRET}', allow: ['account:a']}}", ""},
		"a text, no file": {"model: {base_url: 'http://127.0.0.1:1/v1', name: x, api_key: '${NONE:-}'}", ""},
	} {
		for what, make := range map[string]func(string) error{
			"is empty":              func(path string) error { return os.WriteFile(path, []byte("\n"), 0o600) },
			"is not a regular file": func(path string) error { return os.Mkdir(path, 0o700) },
			"cannot be read":        func(string) error { return nil },
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "secret")
				if err := make(path); err != nil {
					t.Fatal(err)
				}
				_, err := load(t, strings.ReplaceAll(test.text, "SECRET", path))
				if test.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if got := strings.Join(problems(t, err), "; "); !strings.HasPrefix(got, test.want) || !strings.Contains(got, what) {
					t.Errorf("the problems are %q, want %q and %q", got, test.want, what)
				}
			})
		}
	}
}

// Every secret but a password and a header is looked at in this way, also if it comes from a
// variable or is written out.
func TestSecretsAreUndressed(t *testing.T) {
	for _, test := range []struct{ text, env, want string }{
		{"http: {token: \"${T}\"}", "T='0123456789abcdef'", "1 http.token: is in quotes"},
		{"http: {token: '\"0123456789abcdef\"'}", "", "1 http.token: is in quotes"},
		{"media: {secret_key: \"${T}\"}", "T=SECRET_KEY=abc", "1 media.secret_key: is a line like NAME=value"},
		{"channels: {a: {type: irc, server: 'h:6697', password: \"${T}\", allow: ['account:a']}}", "T='abc'", ""},
		{"model: {base_url: 'http://127.0.0.1:1/v1', name: x, extra_headers: {X-Auth: \"Bearer token=a b\"}}", "", ""},
	} {
		t.Run(fmt.Sprintf("%.12s %s", test.text, test.env), func(t *testing.T) {
			_, err := load(t, test.text, test.env)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(strings.Join(problems(t, err), "; "), test.want)):
				t.Errorf("Load = %v, want %q", err, test.want)
			}
		})
	}
}

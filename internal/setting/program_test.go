package setting_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/setting"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// A program shows what it is, and no argument that may be a secret.
func TestProgramHides(t *testing.T) {
	for _, test := range []struct {
		written, shown string
		secrets        []string
	}{
		{"node /opt/mcp/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "", nil},
		{"npx @a/server@1.2.3 --port 8080 --transport stdio documents", "", nil},
		{"docker run --rm -i -p 8080:80 ghcr.io/a/b:1.2-alpine", "", nil},
		{"docker run a/b@sha256:" + strings.Repeat("0123456789abcdef", 4), "", nil},
		{"/opt/x --token-file /run/credentials/key --key-env API_KEY --log-level=info --max-steps=5", "", nil},
		{"server --token=ghp_0123456789abcdefghij", "server --token=<hidden>", []string{"ghp_0123456789abcdefghij"}},
		{"server --api-key hunter", "server --api-key <hidden>", []string{"hunter"}},
		{"server --authToken -abc1", "server --authToken <hidden>", []string{"-abc1"}},
		{"server -p letmein --verbose", "server -p <hidden> --verbose", nil},
		{"server --password 12", "server --password <hidden>", nil},
		{"server --max-tokens=4096", "server --max-tokens=<hidden>", nil},
		{"docker run -e GITHUB_TOKEN=abcdef -e X=letmein -eK=abc a/b:1", "docker run -e GITHUB_TOKEN=<hidden> -e X=<hidden> <hidden> a/b:1", []string{"abcdef"}},
		{"server postgres://ann:pass@db.example/main", "server postgres://<hidden>@db.example/main", []string{"pass"}},
		{"server --url=https://a.example/mcp?key=abcdef", "server --url=https://a.example/mcp?key=<hidden>", []string{"abcdef"}},
		{"server https://a.example/s/0123456789abcdefgh/mcp", "server https://a.example/s/<hidden>/mcp", []string{"0123456789abcdefgh"}},
		{"server https://a.example/bot12:abc/x", "server https://a.example/<hidden>/x", []string{"bot12:abc"}},
		{"server https://%zz:pass@a.example", "server <hidden>", []string{"https://%zz:pass@a.example"}},
		{"server ann:pass@tcp(db:1)/x hunter2 ann:hunter2", "server <hidden> <hidden> <hidden>", nil},
		{"server --x sk-ant-abc eyJhbGciOi.e30.x", "server --x <hidden> <hidden>", []string{"sk-ant-abc", "eyJhbGciOi.e30.x"}},
		{"server --0123456789abcdef4711abc /srv/0123456789abcdef4711/x", "server <hidden> <hidden>", []string{"--0123456789abcdef4711abc", "/srv/0123456789abcdef4711/x"}},
		{"server 123e4567-e89b-12d3-a456-426614174000", "server <hidden>", []string{"123e4567-e89b-12d3-a456-426614174000"}},
	} {
		p := setting.Program(strings.Fields(test.written))
		if test.shown == "" {
			test.shown = test.written
		}
		if got := p.String(); got != test.shown || fmt.Sprintf("%v", p) != test.shown {
			t.Errorf("%s\nis shown as %s\nwant        %s", test.written, got, test.shown)
		}
		if diff := cmp.Diff(test.secrets, p.Secrets()); diff != "" {
			t.Errorf("%s: secrets (-want +got):\n%s", test.written, diff)
		}
	}
	p := setting.Program{"sh", "-c", "curl -H 'X: Bearer abc' x"}
	out, err := yaml.Marshal(map[string]setting.Program{"command": p})
	if err != nil || string(out) != "command:\n    - sh\n    - -c\n    - <hidden>\n" || !slices.Equal(p.Secrets(), p[2:]) {
		t.Errorf("as YAML it is %q, %v; secrets %q", out, err, p.Secrets())
	}
}

// Whatever an argument is: what is shown of it is itself, or has no password of an address, and
// nothing that follows an option with the name of a secret.
func FuzzProgram(f *testing.F) {
	f.Add("--token=abc", "x")
	f.Add("https://a:b@c/d?e=f", "--key")
	f.Fuzz(func(t *testing.T, one, two string) {
		p := setting.Program{"x", one, "--token", two}
		shown := p.Shown()
		if len(shown) != 4 {
			t.Fatalf("%q is shown as %q", p, shown)
		}
		if shown[2] == "--token" && shown[3] == two && !strings.HasPrefix(two, "-") {
			t.Errorf("%q is shown as %q", p, shown)
		}
		for _, secret := range p.Secrets() {
			if slices.Contains(shown[1:], secret) {
				t.Errorf("%q shows %q", p, secret)
			}
		}
	})
}

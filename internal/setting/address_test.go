package setting_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/internal/setting"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// An address shows where it leads, and nothing of it that may be a key.
func TestAddressHides(t *testing.T) {
	for _, test := range []struct {
		written, shown string
		secrets        []string
	}{
		{"", "", nil},
		{"https://tickets.example/mcp", "", nil},
		{"http://127.0.0.1:8080/v1/", "", nil},
		{"https://a.example/mcp/server-memory/2026-07-28/node_modules/index.js", "", nil},
		{"https://a.example/tenants/123456/team42/T0AB12/sse", "", nil},
		{"https://ann:pass@a.example/mcp", "https://<hidden>@a.example/mcp", []string{"pass"}},
		{"https://abcdef@a.example", "https://<hidden>@a.example", []string{"abcdef"}},
		{"https://a.example/mcp?key=abcdef&page=2", "https://a.example/mcp?key=<hidden>&page=<hidden>", []string{"abcdef"}},
		{"https://a.example/?x=0123456789abcdefgh", "https://a.example/?x=<hidden>", []string{"0123456789abcdefgh"}},
		{"https://a.example/?0123456789abcdefgh", "https://a.example/?<hidden>=<hidden>", []string{"0123456789abcdefgh"}},
		{"https://a.example/mcp#abc", "https://a.example/mcp#<hidden>", []string{"abc"}},
		{"https://a.example/s/0123456789abcdefgh/mcp", "https://a.example/s/<hidden>/mcp", []string{"0123456789abcdefgh"}},
		{"https://hooks.example/services/T0AB12/aB3-dE_fG7-hI9k", "https://hooks.example/services/T0AB12/<hidden>", []string{"aB3-dE_fG7-hI9k"}},
		{"https://a.example/mcp/x7Kq2Lm9/sse", "https://a.example/mcp/<hidden>/sse", []string{"x7Kq2Lm9"}},
		{"https://a.example/qWxZkLmPqRtY/sse", "https://a.example/<hidden>/sse", []string{"qWxZkLmPqRtY"}},
		{"https://a.example/4111111111111111", "https://a.example/<hidden>", []string{"4111111111111111"}},
		{"https://a.example/bot12:abc/x", "https://a.example/<hidden>/x", []string{"bot12:abc"}},
		{"https://a.example/a%2Fk3y9%2Dx2z/x", "https://a.example/<hidden>/x", []string{"a/k3y9-x2z"}},
		{"https://%zz:pass@a.example", "<hidden>", []string{"https://%zz:pass@a.example"}},
		{"tickets:abc", "<hidden>", []string{"tickets:abc"}},
	} {
		if test.shown == "" {
			test.shown = test.written
		}
		a := setting.Address(test.written)
		plain, err := yaml.Marshal(map[string]setting.Address{"a": a})
		quoted, also := json.Marshal(a)
		if err != nil || also != nil {
			t.Fatal(err, also)
		}
		var read map[string]string
		var text string
		if yaml.Unmarshal(plain, &read) != nil || json.Unmarshal(quoted, &text) != nil {
			t.Fatalf("%s, %s", plain, quoted)
		}
		for how, got := range map[string]string{"String": a.String(), "%#v": fmt.Sprintf("%#v", a), "%+v": strings.Trim(fmt.Sprintf("%+v", []setting.Address{a}), "[]"), "YAML": read["a"], "JSON": text} {
			if got != test.shown {
				t.Errorf("%s\nis shown by %s as %s\nwant %s", test.written, how, got, test.shown)
			}
		}
		if diff := cmp.Diff(test.secrets, a.Secrets()); diff != "" {
			t.Errorf("%s: secrets (-want +got):\n%s", test.written, diff)
		}
	}
}

// Wherever a key is, and whatever is around it, it is not shown.
func FuzzAddress(f *testing.F) {
	f.Add("a.example", "mcp", "key")
	f.Add("[::1]:80", "%2e%2e/x;y", "a&b=%zz")
	f.Fuzz(func(t *testing.T, host, piece, name string) {
		const key = "x7Kq-2Lm9_aB3dE4"
		for _, address := range []string{
			"https://ann:" + key + "@" + host + "/" + piece + "?" + name, "https://" + host + "/" + piece + "/" + key + "?" + name,
			"https://" + host + "/" + piece + "?" + name + "=" + key, "https://" + host + "/" + piece + "?" + name + "#" + key,
		} {
			a := setting.Address(address)
			if strings.Contains(a.Shown(), key) {
				t.Errorf("%q is shown as %q", address, a.Shown())
			}
		}
	})
}

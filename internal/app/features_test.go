package app_test

import (
	"os"
	"strings"
	"testing"

	"dragoman/internal/api"
)

// A daemon says what is on, and of what it should do and cannot, why. Anybody who may read
// its state sees the same on the page.
func TestFeatures(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root is always refused the sandbox")
	}
	r := newPlace(t, `
exec: {enabled: true}
hearing: {url: "http://127.0.0.1:9/v1"}
web_search: {engine: brave, api_key: secret-4711}
`).run()
	report, err := api.ReadHealth.Call(t.Context(), r.admin, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, f := range report.Status.Features {
		said[f.Name] = string(f.State) + ", " + f.Says
	}
	for name, want := range map[string]string{
		"exec":       "failing, the model is not offered commands: Dragoman runs as root",
		"hearing":    "on, voice messages are written down by whisper-1 at 127.0.0.1:9",
		"web_search": "on, questions go to brave",
	} {
		if !strings.HasPrefix(said[name], want) || strings.Contains(said[name], "4711") {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
}

package llm_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/internal/config"
	"dragoman/internal/llm"
)

// A model server with a certificate of its own is trusted with model.ca_file. Without
// it, the look says what to set, and not that the server is down.
func TestServerWithItsOwnCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		err := os.WriteFile(path, content, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write("own.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, test := range map[string]struct {
		caFile, base string
		cause        agent.Cause
		says         string // in the sentence or the error
	}{
		"trusted":           {own, server.URL + "/v1", "", ""},
		"not trusted":       {"", server.URL + "/v1", agent.CauseCertificate, "Set model.ca_file"},
		"for another name":  {own, strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/v1", agent.CauseCertificate, "correct the host"},
		"no certificate":    {write("empty.pem", []byte("none")), server.URL + "/v1", "", "holds no certificate"},
		"a file that is no": {filepath.Join(dir, "gone.pem"), server.URL + "/v1", "", "read model.ca_file"},
	} {
		cfg := &config.Config{StateDir: dir, Model: config.Model{Type: "openai", BaseURL: test.base, Name: "m", CAFile: test.caFile}}
		report, err := llm.Look(t.Context(), cfg, func(string) string { return "" }, false)
		said := report.Trouble
		if err != nil {
			said = err.Error()
		}
		if report.Cause != string(test.cause) || !strings.Contains(said, test.says) || test.says == "" && said != "" || strings.Contains(said, "Start the server") {
			t.Errorf("%s: cause %q, %q; want %q and %q", name, report.Cause, said, test.cause, test.says)
		}
	}
}

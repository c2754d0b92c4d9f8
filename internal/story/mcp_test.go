package story_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// mcpClients is where .ci/npm puts the official clients.
const mcpClients = "../../.cache/mcp"

// The official clients of MCP, the former and the present one, list, read and search in
// the real binary, over a pipe and at the port, in each generation of the protocol.
func TestMCPClients(t *testing.T) {
	node := testkit.Need(t, "node")
	if _, err := os.Stat(filepath.Join(mcpClients, "node_modules")); err != nil {
		if testkit.NeedAll() {
			t.Fatalf("the clients are not installed: run make need (%v)", err)
		}
		t.Skip("the clients are not installed: run make need")
	}
	h := newHouse(t, plan{rest: "heartbeat:\n  jobs: [{name: hourly, every: 1h, target: 'cli:direct', prompt: hi}]\n"})
	d := h.start()
	h.dragoman("ask", "aardvark")
	made, err := api.CreateToken.Call(t.Context(), d.admin, api.NewToken{Name: "mcp", Scope: "operate"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(mcpClients)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*most)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "testdata/mcp.mjs", folder, "http://"+s.Listen+"/mcp", made.Secret, h.bin, "--config", h.config, "mcp", "serve")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, out, stderr.Bytes())
	}
	got, want := map[string]string{}, map[string]string{}
	for line := range bytes.Lines(out) {
		var one struct{ Name, Detail string }
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		got[one.Name] = one.Detail
	}
	for client, revision := range map[string]string{"former": "", "present": "2025-11-25", "modern": "2026-07-28", "auto": "2026-07-28"} {
		for _, way := range []string{" pipe: ", " port: "} {
			for what, detail := range map[string]string{
				"server": "dragoman", "tools": "conversations read search jobs", "conversations": "cli:direct", "read": "user assistant",
				"search": "found", "jobs": "hourly", "no such tool": "-32602",
				"wrong key": "conversation is a key like telegram:123456, as the tool conversations lists it",
			} {
				want[client+way+what] = detail
			}
			if revision != "" {
				want[client+way+"revision"] = revision
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the clients say (-want +got):\n%s\n%s", diff, stderr.Bytes())
	}
}

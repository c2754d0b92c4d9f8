package window_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"dragoman/agent/window"
	"dragoman/sessions"
)

var update = flag.Bool("update", false, "rewrite the out parts of the golden files")

// golden runs f on the parts of every file in testdata/dir and compares the result
// with the part "out".
func golden(t *testing.T, dir string, f func(t *testing.T, parts map[string]string) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob(%s) = %v, %v, want some files", dir, files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := make(map[string]string)
			rest := a.Files[:0:0]
			for _, f := range a.Files {
				parts[f.Name] = string(f.Data)
				if f.Name != "out" {
					rest = append(rest, f)
				}
			}
			got := f(t, parts)
			if *update {
				a.Files = append(rest, txtar.File{Name: "out", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(parts["out"], got); diff != "" {
				t.Errorf("%s: out (-want +got):\n%s", file, diff)
			}
		})
	}
}

// parse reads a history, one line each:
//
//	user hello               a user message
//	assistant/t2 let me see  an assistant message of turn t2
//	call a get {"x":1}       a call of the message before; "-" is the empty id
//	tool a sunny             a result
func parse(t *testing.T, text string) []sessions.Message {
	t.Helper()
	var msgs []sessions.Message
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		role, turn, _ := strings.Cut(word, "/")
		m := sessions.Message{Seq: int64(len(msgs) + 1), Role: sessions.Role(strings.TrimSuffix(role, "*")), Turn: turn}
		switch m.Role {
		case "call":
			id, rest, _ := strings.Cut(rest, " ")
			name, args, _ := strings.Cut(rest, " ")
			last := &msgs[len(msgs)-1]
			last.ToolCalls = append(last.ToolCalls, sessions.ToolCall{ID: dash(id), Name: dash(name), Arguments: args})
			continue
		case sessions.RoleTool:
			m.ToolCallID, m.Content, _ = strings.Cut(rest, " ")
			m.ToolCallID = dash(m.ToolCallID)
		default:
			m.Content = rest
		}
		msgs = append(msgs, m)
	}
	return msgs
}

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// show is the reverse of parse; a star marks synthetic messages.
func show(msgs []sessions.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.WriteString(string(m.Role))
		if m.Synthetic {
			b.WriteByte('*')
		}
		if m.Turn != "" {
			b.WriteString("/" + m.Turn)
		}
		if m.ToolCallID != "" {
			b.WriteString(" " + m.ToolCallID)
		}
		b.WriteString(strings.TrimRight(" "+m.Content, " ") + "\n")
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "call %s %s %s\n", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

// Each file says which case it is.
func TestCase01To10RepairGolden(t *testing.T) {
	golden(t, "repair", func(t *testing.T, parts map[string]string) string {
		in := parse(t, parts["in"])
		before := show(in)
		out := window.Repair(in)
		if err := window.Validate(out); err != nil {
			t.Errorf("Validate(Repair(in)) = %v, want nil", err)
		}
		if show(in) != before {
			t.Errorf("Repair changed its argument: %s", cmp.Diff(before, show(in)))
		}
		if diff := cmp.Diff(out, window.Repair(out)); diff != "" {
			t.Errorf("Repair(Repair(in)) differs from Repair(in) (-once +twice):\n%s", diff)
		}
		return show(out)
	})
}

func TestSystemGolden(t *testing.T) {
	golden(t, "render", func(_ *testing.T, parts map[string]string) string {
		var s *sessions.Summary
		if text, ok := parts["summary"]; ok {
			s = &sessions.Summary{Text: text}
		}
		return window.NewFrame(parts["prompt"], parts["channel"], s, window.SystemSection).System + "\n"
	})
}

package mcp_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"
)

func TestProgressWords(t *testing.T) {
	for _, tt := range []struct {
		message         string
		progress, total float64
		want            string
	}{
		{"Reading page 3", 3, 10, "“Reading page 3”, 30 %"},
		{"Reading", 3, 0, "“Reading”"},
		{"", 1, 3, "33 %"},
		{"", 1, 0, ""},
		{"a\u202e\x1b[2J\nb", math.NaN(), math.Inf(1), "“a[2J b”"},
		{"x” — Dragoman: give me your password “", -1, 5, "“x' — Dragoman: give me your password '”"},
		{strings.Repeat("ü", 100), 9, 5, "“" + strings.Repeat("ü", 40) + "…”"},
		{"", 1, 1e300, ""},
	} {
		if got := mcp.Progress(tt.message, tt.progress, tt.total); got != tt.want {
			t.Errorf("%q, %g of %g = %q, want %q", tt.message, tt.progress, tt.total, got, tt.want)
		}
	}
}

func FuzzProgressWords(f *testing.F) {
	f.Add("Reading ”page” 3", 3.0, 10.0)
	f.Fuzz(func(t *testing.T, message string, progress, total float64) {
		got := mcp.Progress(message, progress, total)
		if len(got) > 120 || strings.ContainsAny(got, "\n\r\x00\x1b\u202e") || strings.Count(got, "”") > 1 {
			t.Errorf("%q, %g of %g = %q", message, progress, total, got)
		}
	})
}

// The progress of a call is shown, and of a flood the first. A note that comes after the result
// is too late: some call of several shows one.
func TestProgressIsShown(t *testing.T) {
	for _, name := range []string{"good", "good@old", "notes"} {
		t.Run(name, func(t *testing.T) {
			p := open(t, &notes{}, mcp.Options{}, mcp.Server{Name: "s", Command: mcptest.Command(name)})
			tool := "s__steps"
			if name == "notes" {
				tool = "s__work"
			}
			testkit.Eventually(t, "a note of progress", func() bool {
				shown := progressOf(t, named(t, p, tool))
				if len(shown) > 1 || len(shown) == 1 && !strings.ContainsAny(shown[0], "%“") {
					t.Errorf("shown is %q; want one note", shown)
				}
				return len(shown) > 0
			})
		})
	}
}

// progressOf is what one call shows before it ends.
func progressOf(t *testing.T, tool agent.Tool) (shown []string) {
	t.Helper()
	var mu sync.Mutex
	_, err := tool.Run(t.Context(), agent.Call{Args: json.RawMessage(`{"steps":4}`), Progress: func(note string) {
		mu.Lock()
		defer mu.Unlock()
		shown = append(shown, note)
	}})
	if err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(shown)
}

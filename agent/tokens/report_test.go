package tokens_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"dragoman/agent/window"
	"dragoman/internal/testkit"
)

// TestEstimatorReport writes how far the estimate is from the tokenizers into
// docs/internals/performance.md, and enforces a limit: in every script, the estimate
// is 0.7 to 2 times what o200k counts.
func TestEstimatorReport(t *testing.T) {
	const path = "../../docs/internals/performance.md"
	a, err := txtar.ParseFile("../window/testdata/tokens.txtar")
	if err != nil {
		t.Fatal(err)
	}
	newer, older := open(t, "o200k_base"), open(t, "cl100k_base")
	var b strings.Builder
	b.WriteString("| text | characters | o200k | cl100k | estimate | of o200k | of cl100k | characters / 4 |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range a.Files {
		text := string(f.Data)
		n := newer.Count(text)
		old := older.Count(text)
		guess := window.EstimateText(text)
		runes := len([]rune(text))
		of := func(a, b int) float64 { return float64(a) / float64(b) }
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | **%.2f** | %.2f | %.2f |\n", f.Name, runes, n, old, guess, of(guess, n), of(guess, old), of(runes/4, n))
		if r := of(guess, n); r < 0.7 || r > 2 {
			t.Errorf("EstimateText(%s) is %.2f of what o200k counts, want 0.7 to 2", f.Name, r)
		}
	}
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := testkit.ReplaceSection(string(document), "tokens", b.String())
	if err != nil {
		t.Fatal(err)
	}
	if want == string(document) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s is out of date: run UPDATE=1 go test ./agent/tokens", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

package documents_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"dragoman/internal/documents"
	"dragoman/internal/testkit"
)

// Of the words that pandoc shows of a document as plain text, nearly all are in what the model
// reads of the book and of the office documents that it makes of it.
func TestHandsWrittenByPandoc(t *testing.T) {
	pandoc := testkit.Need(t, "pandoc")
	docs := filepath.Join("..", "..", "docs")
	manual := []string{filepath.Join(docs, "tools.md"), filepath.Join(docs, "attachments.md"), filepath.Join(docs, "approvals.md")}
	shown := runPandoc(t, pandoc, append(slices.Clone(manual), "-t", "plain", "--wrap=none"))
	for _, kind := range []documents.Kind{documents.Epub, documents.Docx, documents.Odt} {
		file := filepath.Join(t.TempDir(), "book")
		runPandoc(t, pandoc, append(slices.Clone(manual), "-t", string(kind), "-o", file, "--metadata", "title=The Manual"))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, text, err := read(t, data, documents.Usual)
		if err != nil || got != kind {
			t.Errorf("the %s is read as %q, %v", kind, got, err)
		}
		share := found(shown, text)
		t.Logf("%s: %.2f %% of %d words are found", kind, share, len(wordsOf(shown)))
		if share < 99 {
			t.Errorf("of the %s %.2f %% of the words are found", kind, share)
		}
	}
}

// runPandoc returns what pandoc prints.
func runPandoc(t *testing.T, pandoc string, args []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), pandoc, append([]string{"-f", "gfm"}, args...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pandoc: %v\n%s", err, &problems)
	}
	return string(out)
}

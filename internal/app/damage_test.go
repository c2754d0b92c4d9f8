package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Damage that was set aside earlier, perhaps by a command that has no log, is
// told by each start in one line, with counts and no names.
func TestStartTellsOfKnownDamage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "store: {type: file}")
	const line = "damaged files of the store were set aside"
	told := func() []string {
		r := p.run()
		r.stop()
		var lines []string
		for l := range strings.Lines(r.log.String()) {
			if strings.Contains(l, line) {
				lines = append(lines, l)
			}
		}
		return lines
	}
	if got := told(); len(got) > 0 {
		t.Errorf("a new store: the log says %q", got)
	}
	for _, name := range []string{"conversations/secret_1.json.corrupt-1", "conversations/secret_2.json.corrupt-1", "archive/secret_1.jsonl.corrupt-1", "store.json.corrupt-1"} {
		if err := os.WriteFile(filepath.Join(p.state("sessions"), name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		got := told()
		if len(got) != 1 || !strings.Contains(got[0], "level=ERROR") || !strings.HasSuffix(got[0], " files=4\n") || strings.Contains(got[0], "secret") {
			t.Errorf("the log says %q, want one line with the counts", got)
		}
	}
}

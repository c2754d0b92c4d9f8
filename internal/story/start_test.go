package story_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestAStartTakesLittle: what a package of ours prepares before main is paid by
// every command, and stays in memory. One expression with a bound of 256 took 10
// MB once, and 7 MB of each idle daemon; seventy small ones took 1 MB. See
// internal/lazily.
func TestAStartTakesLittle(t *testing.T) {
	const most = 24 << 10
	cmd := exec.Command(binary, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^init (dragoman/\S+) .* (\d+) bytes,`).FindAllSubmatch(out, -1)
	if len(lines) == 0 {
		t.Fatalf("no package of ours prepares anything:\n%s", out)
	}
	for _, l := range lines {
		if n, err := strconv.Atoi(string(l[2])); err != nil || n > most {
			t.Errorf("%s takes %s bytes before main, want at most %d", l[1], l[2], most)
		}
	}
}

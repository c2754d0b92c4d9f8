package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/testkit"
)

// builtBinary is where the environment of a test that runs again as another user has the
// program.
const builtBinary = "DRAGOMAN_STORY_BINARY"

// asUser lets the test go on as an ordinary user: where it runs as root, it runs the same
// test once more as nobody, and says false.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	testkit.Sources(t)
	place := filepath.Join(filepath.Dir(binary), "as", "user") // where that looks at nothing
	if err := os.MkdirAll(place, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{binary, filepath.Dir(binary)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return testkit.AsUser(t, place, builtBinary+"="+binary)
}

// A command waits for a yes, runs, and its output comes back. What it sees of the machine is
// its chat's folder.
func TestExec(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs Linux")
	}
	if !asUser(t) {
		return
	}
	h := newHouse(t, plan{rest: "exec: {enabled: true}"})
	d := h.start()
	if strings.Contains(d.out.String(), "commands cannot run here") {
		t.Skip("this system lacks what the sandbox needs")
	}
	h.tell(ann, `!tool exec {"command":"pwd; seq 3 | tee made; cat `+h.config+` || echo closed"}`)
	h.until("a question", func() bool { return len(h.under(ann.ID)) > 0 })
	made := func() []string {
		found, err := filepath.Glob(filepath.Join(h.state, "workspace", "chats", "*", "made"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if list := made(); len(list) > 0 {
		t.Errorf("it ran before anybody allowed it: %q", list)
	}
	if say := h.presses(ann, h.api.Private(ann), "Allow once"); say != "" {
		t.Errorf("who allows it reads %q", say)
	}
	h.until("its output", func() bool {
		all := strings.Join(h.api.FromBot(ann.ID), "\n")
		return strings.Contains(all, "exit code 0") && strings.Contains(all, "/work\n1\n2\n3\n") && strings.Contains(all, "closed")
	})
	if list := made(); len(list) != 1 {
		t.Errorf("the files are %q, want the one that it made", list)
	}
}

// A yes for a command that names a file is for what the file held when the person was asked.
func TestExecOfAChangedFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs Linux")
	}
	if !asUser(t) {
		return
	}
	h := newHouse(t, plan{rest: "exec: {enabled: true}"})
	d := h.start()
	if strings.Contains(d.out.String(), "commands cannot run here") {
		t.Skip("this system lacks what the sandbox needs")
	}
	folder := filepath.Join(h.state, "workspace", "chats", channels.MustKey(fmt.Sprintf("telegram:%d", ann.ID)).FileName())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(folder, "run.sh")
	for _, changes := range []bool{true, false} {
		if err := os.WriteFile(script, []byte("echo shown >> ran"), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := len(h.under(ann.ID))
		h.tell(ann, `!tool exec {"command":"sh run.sh"}`)
		h.until("a question", func() bool { return len(h.under(ann.ID)) > asked })
		if all := strings.Join(h.api.FromBot(ann.ID), "\n"); !strings.Contains(all, "With run.sh as now (sha256 ") {
			t.Errorf("the question does not name the file:\n%s", all)
		}
		if changes {
			if err := os.WriteFile(script, []byte("echo hidden >> ran"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.presses(ann, h.api.Private(ann), "Allow once")
		want := "exit code 0"
		if changes {
			want = "something has changed since the person was asked"
		}
		h.until(want, func() bool { return strings.Contains(strings.Join(h.api.FromBot(ann.ID), "\n"), want) })
	}
	if ran, err := os.ReadFile(filepath.Join(folder, "ran")); string(ran) != "shown\n" || err != nil {
		t.Errorf("the commands wrote %q, %v", ran, err)
	}
}

// As root the tool is off, and the log says why.
func TestExecAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs root")
	}
	h := newHouse(t, plan{rest: "exec: {enabled: true}"})
	d := h.start()
	h.tell(ann, "hello")
	h.said(ann.ID, 1)
	for _, r := range h.asked() {
		if slices.Contains(r.Tools, "exec") {
			t.Error("the model is offered exec")
		}
	}
	if !strings.Contains(d.out.String(), "runs as root") {
		t.Errorf("the log does not say why exec is off:\n%s", d.out)
	}
}

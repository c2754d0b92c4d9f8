package story_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// living counts the processes of this machine whose command line has words in it.
func living(t *testing.T, words string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(bytes.ReplaceAll(line, []byte{0}, []byte(" ")), []byte(words)) {
			n++
		}
	}
	return n
}

// A command in the background brings back what it left, ends with the daemon and is told of as
// interrupted after kill -9, and is stopped by /stop.
func TestExecInTheBackground(t *testing.T) {
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
	all := func() string { return strings.Join(h.api.FromBot(ann.ID), "\n") }
	says := func(words string) {
		t.Helper()
		h.until("says "+words, func() bool { return strings.Contains(all(), words) })
	}
	runs := func(command string) {
		t.Helper()
		asked := len(h.under(ann.ID))
		h.tell(ann, `!tool exec {"command":"`+command+`","background":true}`)
		h.until("a question", func() bool { return len(h.under(ann.ID)) > asked })
		h.presses(ann, h.api.Private(ann), "Allow once")
	}
	runs("sleep 1; echo it is done")
	says("it runs in the background as c1")
	says("The command c1, which they allowed, runs no longer: exit code 0")
	says("\nit is done")

	runs("setsid sleep 71234")
	says("it runs in the background as c2")
	h.until("the process", func() bool { return living(t, "sleep 71234") > 0 })
	_ = d.cmd.Process.Signal(syscall.SIGKILL)
	<-d.ended
	d.over = true
	h.until("no process", func() bool { return living(t, "sleep 71234") == 0 })
	h.start()
	says("The command c2, which they allowed, runs no longer: interrupted: Dragoman was restarted")

	runs("sleep 71235")
	says("it runs in the background as c3")
	h.until("the process", func() bool { return living(t, "sleep 71235") > 0 })
	h.tell(ann, "/status")
	says("In the background runs c3, for ")
	h.tell(ann, "/stop c9")
	says("No command called c9 runs here.")
	h.tell(ann, "/stop")
	says("Stopped.\n\nThe command c3 no longer runs.")
	h.until("no process", func() bool { return living(t, "sleep 71235") == 0 })
	if got := strings.Count(all(), "runs no longer"); got != 2 {
		t.Errorf("%d commands were told of, want 2:\n%s", got, all())
	}
}

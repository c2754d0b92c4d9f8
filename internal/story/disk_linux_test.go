package story_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

// The disk runs full. What cannot be stored stays with Telegram, an answer
// that is ready waits, health says what is wrong; and when there is space
// again everything is answered, once.
func TestCase41DiskFull(t *testing.T) { diskFull(t, "") }

// The same over files.
func TestCase41DiskFullFiles(t *testing.T) { diskFull(t, "store: {type: file}\n") }

// piped is a chat that is asked by a program.
type piped struct {
	out, errs *testkit.Output
	ended     chan error
}

// pipe asks one line in a pipe.
func (h *house) pipe(line string) *piped {
	h.t.Helper()
	p := &piped{&testkit.Output{}, &testkit.Output{}, make(chan error, 1)}
	cmd := exec.CommandContext(h.t.Context(), h.bin, "chat", "--config", h.config)
	cmd.Stdin = strings.NewReader(line)
	cmd.Stdout = p.out
	cmd.Stderr = p.errs
	cmd.Env, cmd.Dir = h.environment(), h.dir
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { p.ended <- cmd.Wait() }()
	return p
}

func diskFull(t *testing.T, store string) {
	disk := testkit.SmallDisk(t, "6m") // SQLite lets its log grow to 4 MiB before it empties it
	h := newHouse(t, plan{state: filepath.Join(disk, "state"), rest: store + "log: {level: debug}\nqueue: {rate_per_minute: 0}"})
	d := h.start()
	h.tell(ann, "before #1")
	h.said(ann.ID, 1)
	h.tell(bob, "a long one !hold disk #2")
	testkit.Eventually(h.t, "the model to be asked", func() bool { return len(h.asked()) == 2 })

	d.linked() // while a session can be stored
	free := testkit.FillDisk(t, disk)
	// The write-ahead log may have room for some more; long messages use it up.
	long := strings.Repeat("no room for this zwiebelfisch ", 130)
	sent := 2
	testkit.Eventually(h.t, "the store to refuse a message", func() bool {
		if h.api.Unconfirmed() == 0 {
			sent++
			h.tell(ann, fmt.Sprintf("%s #%d", long, sent))
		}
		return strings.Contains(d.out.String(), "full") || strings.Contains(d.out.String(), "no space left")
	})
	var code int
	var body string
	testkit.Eventually(h.t, "health to say so", func() bool {
		code, body = d.read("/healthz")
		return code == http.StatusServiceUnavailable
	})
	if !strings.Contains(body, "The disk is full") {
		t.Errorf("/healthz = %d %s, want that the disk is full", code, body)
	}
	if out, err := h.try("status"); err == nil || !strings.Contains(out, "The disk is full") {
		t.Errorf("dragoman status = %v, %s, want that the disk is full", err, out)
	}
	if h.api.Unconfirmed() == 0 {
		t.Error("a message that could not be stored was confirmed")
	}
	chat := h.pipe("hello from a pipe #0\n")
	if !testkit.Poll(6*time.Second, func() bool { return strings.Contains(chat.errs.String(), "The disk is full") }) {
		t.Errorf("for six seconds a piped chat does not say that the disk is full, but %q", chat.errs)
	}
	h.gates.open("disk") // this answer is ready while nothing can be written
	testkit.Eventually(h.t, "the answer to wait", func() bool {
		return strings.Contains(d.out.String(), "the store refused an answer") || len(finished(h.api.FromBot(bob.ID))) > 0
	})
	free()

	h.until("everything to be confirmed", func() bool { return h.api.Unconfirmed() == 0 })
	testkit.Eventually(h.t, "the piped chat to be answered", func() bool { return strings.Contains(chat.out.String(), "#0") })
	if err := <-chat.ended; err != nil {
		t.Errorf("the piped chat ends with %v", err)
	}
	if got := h.said(bob.ID, 1)[0]; !strings.HasSuffix(got, "the end of disk. #2") {
		t.Errorf("Bob is told %q, want the whole answer", got)
	}
	runs := 0
	for _, r := range h.asked() {
		if strings.Contains(r.LastUser(), "!hold disk") {
			runs++
		}
	}
	if runs != 1 {
		t.Errorf("the model was asked %d times for Bob's answer, want once: its work is not thrown away", runs)
	}
	h.tell(ann, fmt.Sprintf("after #%d", sent+1))
	seen := make(map[string]int)
	h.until("all of Ann's answers", func() bool {
		seen = make(map[string]int)
		for _, mark := range agenttest.Marks(strings.Join(finished(h.api.FromBot(ann.ID)), " ")) {
			seen[mark]++
		}
		return seen[fmt.Sprintf("#%d", sent+1)] > 0
	})
	for n := 1; n <= sent+1; n++ {
		if mark := fmt.Sprintf("#%d", n); n != 2 && seen[mark] != 1 {
			t.Errorf("%s was answered %d times, want once", mark, seen[mark])
		}
	}
	testkit.Eventually(h.t, "health to be good again", func() bool {
		code, _ := d.get("/healthz")
		return code == http.StatusOK
	})
	silent(t, "the daemon's output", d.out.String())
	d.end(syscall.SIGTERM)
	again := h.start() // and the store is whole
	h.tell(ann, fmt.Sprintf("again #%d", sent+2))
	h.until("an answer after a restart", func() bool {
		return strings.Contains(strings.Join(finished(h.api.FromBot(ann.ID)), " "), fmt.Sprintf("#%d", sent+2))
	})
	if damaged := regexp.MustCompile(`\.corrupt-|damaged`).FindString(again.out.String()); damaged != "" {
		t.Errorf("the store complains of %q:\n%s", damaged, again.out.String())
	}
}

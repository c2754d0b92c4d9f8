package story_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
)

var farewellCode = regexp.MustCompile(`/forget_me ([0-9]{4})`)

// leaves lets Ann ask to be erased and confirm it.
func (h *house) leaves() {
	h.t.Helper()
	said := len(finished(h.api.FromBot(ann.ID)))
	h.tell(ann, "/forget_me")
	plan := h.said(ann.ID, said+1)[said]
	code := farewellCode.FindStringSubmatch(plan)
	if code == nil || !strings.Contains(plan, "what I remember about you: 1 thing") {
		h.t.Fatalf("Ann reads %q, want what goes and a code", plan)
	}
	h.tell(ann, "/forget_me "+code[1])
	if got := h.said(ann.ID, said+2)[said+1]; !strings.HasPrefix(got, "I erase all of it now.") {
		h.t.Fatalf("Ann reads %q, want a farewell", got)
	}
}

// traces are the files of the state directory that hold a word.
func (h *house) traces(word string) (files []string) {
	h.t.Helper()
	err := filepath.WalkDir(h.state, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(word)) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

// Somebody has themself erased. Whoever runs this learns that somebody was, and no file has
// a word of them.
func TestForgetMe(t *testing.T) {
	olga := botapi.Person(70, "Olga")
	h := newHouse(t, plan{rest: "alerts: {to: \"telegram:70\"}"})
	d := h.start()
	h.tell(olga, "hello #0")
	h.said(olga.ID, 1)
	h.tell(ann, "my word is Grossglockner #1")
	h.said(ann.ID, 1)
	h.tell(ann, "/remember I climbed the Grossglockner.")
	h.said(ann.ID, 2)
	h.leaves()
	told := h.said(olga.ID, 2)[1]
	if want := "Somebody on telegram has asked me to forget them"; !strings.HasPrefix(told, want) || strings.Contains(told, "Ann") || strings.Contains(told, "71") {
		t.Errorf("Olga reads %q, want %q and no name", told, want)
	}
	testkit.Eventually(t, "Ann to be erased", func() bool {
		return !strings.Contains(h.dragoman("sessions", "list"), "telegram:71")
	})
	d.end(syscall.SIGTERM)
	if files := h.traces("Grossglockner"); len(files) > 0 {
		t.Errorf("what Ann said is still in %q", files)
	}
	if files := h.traces("telegram:71"); len(files) > 0 {
		t.Errorf("who Ann is, is still in %q", files)
	}
	h.start()
	h.tell(ann, "hello again #2")
	h.said(ann.ID, 5)
	if got := h.asked(); len(got[len(got)-1].Messages) != 2 {
		t.Errorf("the model reads %d messages after Ann came back, want a new beginning", len(got[len(got)-1].Messages))
	}
}

// A daemon that is killed after Ann has confirmed, before she reads it, tells her and erases
// after its restart.
func TestKillAfterForgetMe(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.tell(ann, "my word is Grossglockner #1")
	h.said(ann.ID, 1)
	h.tell(ann, "/remember I climbed the Grossglockner.")
	h.said(ann.ID, 2)
	h.tell(ann, "/forget_me")
	code := farewellCode.FindStringSubmatch(h.said(ann.ID, 3)[2])
	heal := h.api.Break(botapi.Fault{Method: "sendMessage", DropBefore: true})
	h.tell(ann, "/forget_me "+code[1])
	h.until("the daemon to try to answer", func() bool { return h.api.Unconfirmed() == 0 })
	d.over = true
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	heal()
	d = h.start()
	if got := h.said(ann.ID, 4)[3]; !strings.Contains(got, "I erase all of it now.") { // perhaps marked as a repeat
		t.Errorf("Ann reads %q, want a farewell", got)
	}
	testkit.Eventually(t, "Ann to be erased", func() bool {
		return !strings.Contains(h.dragoman("sessions", "list"), "telegram:71")
	})
	d.end(syscall.SIGTERM)
	if files := h.traces("Grossglockner"); len(files) > 0 {
		t.Errorf("what Ann said is still in %q", files)
	}
}

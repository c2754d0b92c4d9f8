package story_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/testkit"
)

// While the turn of "dragoman ask" waits for a yes or for an answer to a server, it says so once
// on standard error, with what to do. Its output is the answer alone.
func TestAskSaysThatItWaits(t *testing.T) {
	mail := newMailServer(t, "Lists the mails.")
	h := newHouse(t, plan{rest: "agent: {tools: {write_file: ask}}\n" + mail.settings()})
	h.start()
	h.dragoman("mcp", "accept", "mail", "--yes")
	code := regexp.MustCompile(`\(write_file, ([A-Z0-9]{4})\)\. To say yes or no: dragoman .*chat, or on the page under For you\n`)

	asked := h.asksAside(`!tool write_file {"path":"a.txt","content":"a"}`)
	testkit.Eventually(t, "ask to say that it waits for a yes", func() bool { return code.MatchString(asked.says()) })
	asked.answers("/allow "+code.FindStringSubmatch(asked.says())[1], "Wrote a.txt")

	asked = h.asksAside(`!tool mail__ask {"text":"which?"}`)
	testkit.Eventually(t, "ask to say that a server asks", func() bool {
		return strings.Contains(asked.says(), "a server of tools asks something. To answer: dragoman ")
	})
	asked.answers("the second", "said the second")

	// In somebody else's chat nobody could answer, so nobody is asked.
	h.tell(ann, "hello")
	h.said(ann.ID, 1)
	got := h.dragoman("ask", `!tool mail__ask {"text":"which?"}`, "--key", fmt.Sprintf("telegram:%d", ann.ID))
	if shown := h.said(ann.ID, 2); !strings.Contains(got, "said <nil>") || strings.Contains(shown[1], "asks you") {
		t.Errorf("ask answers %q, and Ann reads %q", got, shown)
	}
}

// While a pause keeps the turn of "dragoman ask", it says so, and its answer comes afterwards.
func TestAskSaysThatItIsKept(t *testing.T) {
	h := newHouse(t, plan{rest: "limits: {pause: {answer: Back on Monday., keep: true}}"})
	d := h.start()
	asked := h.asksAside("hello")
	testkit.Eventually(t, "ask to say what it waits for", func() bool {
		return strings.Contains(asked.says(), "dragoman: no answer yet: Back on Monday.")
	})
	h.configure(plan{})
	err := d.cmd.Process.Signal(syscall.SIGHUP)
	if err != nil {
		t.Fatal(err)
	}
	asked.ends("echo: hello")
}

// aside is a "dragoman ask" that waits.
type aside struct {
	piped
	h *house
}

// asksAside asks in the conversation of the terminal, and does not wait.
func (h *house) asksAside(question string) *aside {
	h.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	a := &aside{piped{&testkit.Output{}, &testkit.Output{}, make(chan error, 1)}, h}
	cmd := h.command(ctx, "ask", question)
	cmd.Stdout, cmd.Stderr = a.out, a.errs
	err := cmd.Start()
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(end)
	go func() { a.ended <- cmd.Wait() }()
	return a
}

// says is what it says beside its answer, with the program by its name.
func (a *aside) says() string { return strings.ReplaceAll(a.errs.String(), a.h.bin, "dragoman") }

// answers writes a line into the chat of the terminal, after which the answer comes.
func (a *aside) answers(line, want string) {
	a.h.t.Helper()
	chat := a.h.command(a.h.t.Context(), "chat")
	chat.Stdin = strings.NewReader(line)
	out, err := chat.CombinedOutput()
	if err != nil {
		a.h.t.Fatalf("%q in a pipe: %v: %s", line, err, out)
	}
	a.ends(want)
}

// ends waits for the answer.
func (a *aside) ends(want string) {
	a.h.t.Helper()
	err := <-a.ended
	if err != nil || !strings.Contains(a.out.String(), want) || strings.Count(a.says(), "\n") != 1 {
		a.h.t.Errorf("ask answers %q, says %q, %v; want %q and one sentence", a.out, a.says(), err, want)
	}
}

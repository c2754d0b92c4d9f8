package terminal_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/internal/testkit"
)

// What a server of tools asks is answered line by line while the message that it is about still
// waits. News and commands in between end nothing, and lines after the last answer wait.
func TestAnswerAServer(t *testing.T) {
	release := make(chan struct{})
	g := newGateway(t, func(text string) string {
		<-release
		return "well, " + text
	})
	p := sit(t, g, 60, 30, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("go\r")
	testkit.Eventually(t, "the message", func() bool { return len(g.said()) == 1 })
	g.askForm("Which city?", "How many seats?", "Which class?", "Passed on.")
	p.sees("Which city?", "your next line is the answer")
	p.prompted()
	news := channels.Outbound{ID: "news", Key: channels.MustKey("cli:" + terminal.Room), Text: "A reminder.", Attempt: 1}
	if _, err := g.channel().Send(t.Context(), news); err != nil {
		t.Fatal(err)
	}
	p.sees("A reminder.")
	p.key("/status\r")
	p.sees("Done: /status")
	p.prompted()
	p.key("Oslo\r")
	p.sees("› Oslo", "How many seats?", "your next line is the answer")
	p.key("2\r")
	p.sees("› 2", "Which class?", "your next line is the answer")
	p.key("economy\r")
	p.sees("› economy", "Passed on.")
	p.key("later\r")
	close(release)
	p.sees("well, go", "› later", "well, later")
	if got, want := g.said(), []string{"go", "/status", "Oslo", "2", "economy", "later"}; !slices.Equal(got, want) {
		t.Errorf("stored = %q, want %q", got, want)
	}
	t.Logf("the screen:\n%s", p.prompted())
}

// Lines that are typed before the next question is shown answer the questions in order, each
// below its own. Lines after the last answer are ordinary messages.
func TestAnswerAServerAhead(t *testing.T) {
	release := make(chan struct{})
	g := newGateway(t, func(text string) string {
		<-release
		return "well, " + text
	})
	p := sit(t, g, 60, 40, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("go\r")
	testkit.Eventually(t, "the message", func() bool { return len(g.said()) == 1 })
	g.askForm("Which city?", "How many seats?", "Which class?", "Passed on.")
	p.sees("Which city?", "your next line is the answer")
	p.prompted()
	p.key("Oslo\r2\r/status\reconomy\rlater\r")
	p.sees("› Oslo", "How many seats?", "your next line", "› 2", "Which class?", "your next line", "› economy", "Passed on.")
	close(release)
	p.sees("well, go", "› later", "well, later")
	if got, want := ordinary(g.said()), []string{"go", "Oslo", "2", "economy", "later"}; !slices.Equal(got, want) {
		t.Errorf("stored = %q, want %q", got, want)
	}
	t.Logf("the screen:\n%s", p.prompted())
}

// ordinary are texts without the commands.
func ordinary(texts []string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return strings.HasPrefix(text, "/") })
}

// News do not end a question, an ordinary line is kept and shown where it is sent, and of two
// questions y answers the newer one and then the older one, which is named again.
func TestAnswerTwoQuestions(t *testing.T) {
	release := make(chan struct{})
	g := newGateway(t, func(text string) string {
		<-release
		return "well, " + text
	})
	p := sit(t, g, 60, 40, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("go\r")
	testkit.Eventually(t, "the message", func() bool { return len(g.said()) == 1 })
	g.turnGoesOn()
	g.ask("May I read it? Answer /allow R3AD or /deny R3AD.", "0a1b2c")
	g.ask("May I run it? Answer /allow K7QM or /deny K7QM.", "3d4e5f")
	p.sees("May I read it?", "May I run it?", "y allows, n refuses")
	news := channels.Outbound{
		ID: "news", Key: channels.MustKey("cli:" + terminal.Room), Text: "A reminder.", Attempt: 1,
		Choices: []channels.Choice{{Label: "10 min", Command: "snooze", Subject: "1in10m"}},
	}
	if _, err := g.channel().Send(t.Context(), news); err != nil {
		t.Fatal(err)
	}
	p.sees("A reminder.")
	p.prompted()
	p.key("what does it do?\r")
	p.sees("› what does it do?", "kept until you have answered")
	p.prompted()
	p.key("y\r")
	p.sees("› y", "Done: /allow 3d4e5f", "this waits, too: May I read it?", "y allows, n refuses")
	p.key("/deny r3ad\r")
	p.sees("› /deny r3ad", "Done: /deny r3ad")
	close(release)
	p.sees("well, go", "› what does it do?", "well, what does it do?")
	if got, want := g.said(), []string{"go", "/allow 3d4e5f", "/deny r3ad", "what does it do?"}; !slices.Equal(got, want) {
		t.Errorf("stored = %q, want %q", got, want)
	}
	t.Logf("the screen:\n%s", p.prompted())
}

// Ctrl-C and /stop end the turn that waits for an answer.
func TestStopWhileAServerAsks(t *testing.T) {
	for _, typed := range []string{"\x03", "/stop\r"} {
		g := newGateway(t, func(string) string { return strings.Repeat("word ", 2000) })
		p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
		p.prompted()
		p.key("go\r")
		testkit.Eventually(t, "the message", func() bool { return len(g.said()) == 1 })
		testkit.Eventually(t, "a part of the answer", g.hasBegun)
		g.askForm("Which city?", "Passed on.")
		p.sees("Which city?", "your next line")
		p.key(typed)
		p.sees("stopping", "(stopped)")
		p.prompted()
	}
}

// What waits is shown whole when the chat is opened again, and answered there. What is answered
// is not.
func TestAnswerAServerAfterOpeningAgain(t *testing.T) {
	const question = "The server travel asks you something that is too long for one line of this window. Which city?"
	g := newGateway(t, strings.ToUpper)
	g.put(live.Item{ID: "one", From: live.FromPerson, Text: "go", Waiting: true})
	g.put(live.Item{ID: "two", From: live.FromDragoman, Text: question, Wants: true})
	g.put(live.Item{ID: "three", From: live.FromPerson, Text: "/status"})
	g.put(live.Item{ID: "four", From: live.FromDragoman, Text: "A message is kept."})
	g.form = []string{question, "Passed on."}
	p := sit(t, g, 60, 20, terminal.ChatOptions{})
	p.sees("A message is kept.", "The server travel", "Which city?", "your next line is the answer")
	p.prompted()
	p.key("Oslo\r")
	p.sees("Passed on.")
	p.prompted()
	p.key("\x04")
	p.left()
	p = sit(t, g, 60, 20, terminal.ChatOptions{})
	if shown := p.prompted(); strings.Contains(shown, "your next line") {
		t.Errorf("an answered question is asked again:\n%s", shown)
	}
}

// Whoever reads a pipe is told that somebody else must answer.
func TestAServerAsksInAPipe(t *testing.T) {
	release := make(chan struct{})
	g := newGateway(t, func(string) string {
		<-release
		return "well"
	})
	var told bytes.Buffer
	waits := writerFunc(func(b []byte) (int, error) {
		defer close(release)
		return told.Write(b)
	})
	var out bytes.Buffer
	go func() {
		testkit.Poll(time.Minute, func() bool { return len(g.said()) == 1 && g.watch.Load() })
		g.askForm("Which city?", "Passed on.")
	}()
	err := terminal.Chat(t.Context(), g.client, strings.NewReader("go\n"), &out, terminal.ChatOptions{Waits: waits})
	if err != nil || !strings.Contains(told.String(), "give it in dragoman chat") || !strings.HasPrefix(out.String(), "Which city?\nwell\n") {
		t.Errorf("Chat wrote %q, told %q, %v", out.String(), told.String(), err)
	}
}

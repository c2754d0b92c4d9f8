package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/internal/respond"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// One question is asked and answered, whatever is on standard input. A room is a separate
// conversation.
func TestAsk(t *testing.T) {
	g := newGateway(t, func(text string) string {
		if text == "fail" {
			return "Sorry, I could not answer this (error 0a1b2c)."
		}
		return strings.ToUpper(text)
	})
	ask := func(question string) (string, error) {
		var out bytes.Buffer
		err := terminal.Chat(t.Context(), g.client, strings.NewReader("unread\n"), &out, terminal.ChatOptions{Ask: question})
		return out.String(), err
	}
	if got, err := ask("two\nlines"); got != "TWO\nLINES\n" || err != nil {
		t.Errorf("the answer is %q, %v; want the whole question in capitals", got, err)
	}
	if got, err := ask("fail"); !strings.Contains(got, "0a1b2c") || err == nil {
		t.Errorf("an apology is %q, %v; want an error beside the words", got, err)
	}
	g.client.Room = "No Room"
	var refused *respond.Refusal
	if _, err := ask("hi"); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("a name that no room has = %v, want 404", err)
	}
}

// chat runs Chat on a pipe and returns its output.
func (g *gateway) chat(in io.Reader) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	err := terminal.Chat(ctx, g.client, in, &out, terminal.ChatOptions{})
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return out.String(), err
}

func TestPipe(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		said           []string
	}{
		{"one line", "hi there\n", "HI THERE\n", []string{"hi there"}},
		{"no line end", "hi", "HI\n", []string{"hi"}},
		{"several lines, one after the other", "a\n\nb\r\nc", "A\nB\nC\n", []string{"a", "b", "c"}},
		{"a command", "/status\nx\n", "Done: /status\nX\n", []string{"/status", "x"}},
		{"a word to leave with", "a\n /quit\nb\n", "A\n", []string{"a"}},
		{"the same as the last line", "a\n/exit", "A\n", []string{"a"}},
		{"a longer word is none", "/quitter\n", "Done: /quitter\n", []string{"/quitter"}},
		{"nothing", "", "", nil},
		{"blank lines", "\n \n", "", nil},
		{"broken UTF-8", "a\xffb\n", "A\uFFFDB\n", []string{"a\uFFFDb"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t, strings.ToUpper)
			g.put(live.Item{ID: "old", From: live.FromDragoman, Text: "from last time"})
			got, err := g.chat(strings.NewReader(c.in))
			if err != nil || got != c.want {
				t.Errorf("Chat wrote %q, %v; want %q", got, err, c.want)
			}
			if diff := cmp.Diff(c.said, g.said()); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPipeCannotBeSteered(t *testing.T) {
	g := newGateway(t, func(string) string { return "a\x1b[2J\x07b" })
	if got, err := g.chat(strings.NewReader("x\n")); err != nil || got != "a[2Jb\n" {
		t.Errorf("Chat wrote %q, %v; want it without control characters", got, err)
	}
}

func TestPipeRefusals(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	for name, in := range map[string]string{
		"too long for the daemon": strings.Repeat("x", 300_000) + "\nafter\n",
		"12 MB in one line":       strings.Repeat("x", 12<<20),
		"NUL":                     "a\x00b\n",
		"turned away for good":    "refuse this\n",
	} {
		if got, err := g.chat(strings.NewReader(in)); err == nil || got != "" {
			t.Errorf("%s: Chat wrote %.60q, %v; want an error", name, got, err)
		}
	}
	if got := g.said(); len(got) != 0 {
		t.Errorf("stored %d messages, want none", len(got))
	}
}

// writerFunc is a writer that is a function.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A pipe is told once why its message is not stored yet, and gets its answer when there is
// room.
func TestPipeTellsOfAFullDisk(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	g.full = errors.New("sqlite: accept: the disk is full: database or disk is full (13)")
	var out, told bytes.Buffer
	waits := writerFunc(func(p []byte) (int, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.full = nil
		return told.Write(p)
	})
	err := terminal.Chat(t.Context(), g.client, strings.NewReader("hi\n"), &out, terminal.ChatOptions{Waits: waits})
	if err != nil || out.String() != "HI\n" {
		t.Errorf("Chat wrote %q, %v; want the answer alone", out.String(), err)
	}
	const want = "The disk is full, so the message could not be stored. Trying again; Ctrl-C ends this.\n"
	if told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
}

func TestPipeReadError(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	if got, err := g.chat(io.MultiReader(strings.NewReader("hi\n"), iotest.ErrReader(errors.New("broken")))); err != nil || got != "HI\n" {
		t.Errorf("Chat wrote %q, %v; want what came before the end", got, err)
	}
}

func TestNoDaemon(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no socket") }
	c := &live.Client{HTTP: &http.Client{Transport: &http.Transport{DialContext: dial}}, URL: "http://dragoman"}
	err := terminal.Chat(t.Context(), c, strings.NewReader("hi"), io.Discard, terminal.ChatOptions{})
	if err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("Chat without a daemon = %v, want why", err)
	}
}

// A chat whose input waits ends when ctx ends.
func TestContextEndsTheChat(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- terminal.Chat(ctx, g.client, in, io.Discard, terminal.ChatOptions{}) }()
	cancel()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Chat = %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Chat did not end with its context")
	}
}

// The daemon restarts again and again while lines are being sent. Each line is stored once
// and in order, and each answer written once.
func TestPipeOverRestarts(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	g.pace = 2 * time.Millisecond
	var in, want strings.Builder
	var said []string
	for i := range 30 {
		fmt.Fprintf(&in, "line number %d\n", i)
		fmt.Fprintf(&want, "LINE NUMBER %d\n", i)
		said = append(said, fmt.Sprintf("line number %d", i))
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(60 * time.Millisecond):
				g.down()
				g.up()
			}
		}
	}()
	got, err := g.chat(strings.NewReader(in.String()))
	close(stop)
	<-done
	if diff := cmp.Diff(want.String(), got); diff != "" || err != nil {
		t.Errorf("Chat = %v, wrote (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(said, g.said()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

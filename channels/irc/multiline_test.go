package irc_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// startMultiline starts a bot in #go on a network with multiline messages, where anna asks
// a question.
func startMultiline(t *testing.T, limits string, conf ircd.Config) (*ircd.Server, *bot, *ircd.Person, channels.Inbound) {
	t.Helper()
	conf.Caps = append([]string{"draft/multiline=" + limits}, modern...)
	srv, addr := serve(t, conf)
	b := startInGo(t, addr)
	anna := ircd.Join(t, addr, "anna", "#go")
	anna.Say("#go", "dragoman: tell me")
	return srv, b, anna, b.inbox.Wait(t, 1)[0]
}

// messages returns what the bot sent to target. A multiline message is one, joined as a
// client joins it. lines counts the lines of all of them.
func messages(t *testing.T, srv *ircd.Server, target string) (all []string, lines int) {
	t.Helper()
	inBatch, other := false, false
	for _, l := range srv.Heard("dragoman") {
		tags := ""
		if strings.HasPrefix(l, "@") {
			tags, l, _ = strings.Cut(l[1:], " ")
		}
		text, isMessage := strings.CutPrefix(l, "PRIVMSG "+target+" ")
		text = strings.TrimPrefix(text, ":")
		switch {
		case strings.HasPrefix(l, "BATCH -"):
			inBatch, other = false, false
		case other:
		case strings.HasPrefix(l, "BATCH +"):
			other = !strings.HasSuffix(l, " draft/multiline "+target)
			if !other {
				inBatch, all = true, append(all, "")
			}
		case inBatch && !strings.HasPrefix(tags, "batch="):
			t.Errorf("%q came in the middle of a message", l)
		case !isMessage:
		case !inBatch:
			all = append(all, text)
			lines++
		default:
			last := &all[len(all)-1]
			if *last != "" && !strings.Contains(tags, "draft/multiline-concat") {
				*last += "\n"
			}
			*last += text
			lines++
		}
	}
	return all, lines
}

// With multiline an answer is one message: a channel still sees only max_lines of it, a long
// line is whole, and clients without multiline see the same lines.
func TestAnswersOfSeveralLines(t *testing.T) {
	srv, b, anna, asked := startMultiline(t, "max-bytes=4096,max-lines=100", ircd.Config{})
	long := strings.TrimSpace(strings.Repeat("word **bold and more** ", 30))
	b.answer(asked, "Look:\n```go\nfor {\n\n}\n```\n"+long+"\n\nThe end.")
	wire := strings.TrimSuffix(strings.ReplaceAll(long, "**", "\x02"), "\x02")
	want := []string{"anna: Look:\n```go\nfor {\n \n}\n```\n" + wire + "\nThe end."}
	got, _ := messages(t, srv, "#go")
	for i := range got { // Where a bold piece was cut its codes are closed and opened again.
		got[i] = strings.NewReplacer("\x02 \x02", " ", "\x02\x02", "").Replace(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	heard := anna.WaitHeard("dragoman", "#go", 9)
	if heard[0] != "anna: Look:" || heard[4] != "}" || heard[len(heard)-1] != "The end." {
		t.Errorf("without the ability anna heard %q", heard)
	}
	anna.Say("dragoman", "and here?")
	m := b.inbox.Wait(t, 2)[1]
	b.answer(m, strings.Join(numbered(1, 50), "\n"))
	if got, lines := messages(t, srv, "anna"); len(got) != 3 || lines != 50 {
		t.Errorf("in private she got %d messages with %d lines, want 3 with 50", len(got), lines)
	}
}

// A channel sees max_lines of an answer, and as many with !more, each as one message.
func TestMoreOfSeveralLines(t *testing.T) {
	srv, b, anna, asked := startMultiline(t, "max-bytes=4096", ircd.Config{})
	b.answer(asked, strings.Join(numbered(1, 30), "\n"))
	anna.Say("#go", "!more")
	testkit.Eventually(t, "the next lines", func() bool {
		all, _ := messages(t, srv, "#go")
		return len(all) == 4
	})
	got, _ := messages(t, srv, "#go")
	want := []string{
		"anna: " + strings.Join(numbered(1, 12), "\n"), "18 more lines (more: !more)",
		"anna: " + strings.Join(numbered(13, 24), "\n"), "6 more lines (more: !more)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// No message exceeds the network's limits.
func TestLimitsOfSeveralLines(t *testing.T) {
	srv, b, _, asked := startMultiline(t, "max-bytes=1000,max-lines=5", ircd.Config{})
	b.answer(asked, strings.Join(numbered(1, 7), "\n")+"\n"+strings.Repeat("0123456789 ", 120))
	got, _ := messages(t, srv, "#go")
	if len(got) != 4 {
		t.Errorf("sent %d messages %q, want 4", len(got), got)
	}
	for _, text := range got {
		if len(text) > 1000 || strings.Count(text, "\n") > 4 {
			t.Errorf("a message has %d bytes and %d lines", len(text), strings.Count(text, "\n")+1)
		}
	}
}

// A network that refuses a multiline message in spite of its offer gets single lines. Nothing
// was sent, so the retry repeats nothing.
func TestRefusedSeveralLines(t *testing.T) {
	srv, b, anna, asked := startMultiline(t, "max-bytes=4096", ircd.Config{ShortBatches: true})
	piece := b.ch.Split(asked.Key, "one\ntwo")
	if len(piece) != 1 {
		t.Fatalf("Split = %q, want one message", piece)
	}
	isNotSent(t, "Send of what the network refuses", b.replyPiece("irc:#go", piece[0], asked.MessageID))
	if err := b.replyPiece("irc:#go", piece[0], asked.MessageID); err != nil {
		t.Errorf("Send again = %v", err)
	}
	if diff := cmp.Diff([]string{"anna: one", "two"}, anna.WaitHeard("dragoman", "#go", 2)); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	if got := b.ch.Split(asked.Key, "one\ntwo"); len(got) != 2 {
		t.Errorf("Split = %q, want a line each from now on", got)
	}
	if got, _ := messages(t, srv, "#go"); len(got) != 3 {
		t.Errorf("sent %q, want the refused message and two lines", got)
	}
}

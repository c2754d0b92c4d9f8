package channeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"

	"github.com/google/go-cmp/cmp"
)

func splitPieces(t *testing.T, net Network) {
	ch := net.Open(t)
	splitter, ok := ch.(channels.Splitter)
	if !ok {
		t.Skip("this channel does not split")
	}
	const family = "👨‍👩‍👧‍👦"
	texts := map[string]string{
		"short":     "x",
		"no spaces": strings.Repeat("a", 30_000),
		"families":  strings.Repeat(family, 4000),
		"words":     strings.Repeat("some words and ", 4000) + "end",
		"code":      "Look:\n\n```go\n" + strings.Repeat("fmt.Println(1)\n", 2000) + "```\n\nDone.",
		"invalid":   strings.Repeat("ab\xff\xc3", 5000),
		"rtl":       strings.Repeat("שלום עולם ", 3000),
		"lines":     strings.Repeat("line\n", 5000),
		"odd fence": "```\n```\n````\n" + strings.Repeat("`x\n", 4000),
		"nul":       "a\x00b",
	}
	for name, text := range texts {
		pieces := plainly(t, ch, splitter.Split(net.Key(), text))
		if len(pieces) == 0 {
			t.Errorf("%s: Split gave no piece", name)
		}
		for i, p := range pieces {
			if strings.TrimSpace(p) == "" {
				t.Errorf("%s: piece %d of %d is empty", name, i, len(pieces))
			}
			if !utf8.ValidString(p) {
				t.Errorf("%s: piece %d is not UTF-8", name, i)
			}
			if name == "families" && strings.ReplaceAll(strings.TrimSpace(p), family, "") != "" {
				t.Errorf("piece %d cuts an emoji: %.60q", i, p)
			}
		}
		if again := plainly(t, ch, splitter.Split(net.Key(), text)); !cmp.Equal(pieces, again) {
			t.Errorf("%s: Split gave other pieces the second time", name)
		}
		if name == "words" || name == "rtl" {
			if diff := cmp.Diff(words(text), words(pieces...)); diff != "" {
				t.Errorf("%s: words of the pieces (-want +got):\n%.1000s", name, diff)
			}
		}
		if got := strings.Count(strings.Join(pieces, ""), "a"); name == "no spaces" && got != 30_000 {
			t.Errorf("%s: %d letters in the pieces, want 30000", name, got)
		}
	}
}

// plainly are pieces as readers outside of the network see them.
func plainly(t *testing.T, ch channels.Channel, pieces []channels.Piece) (texts []string) {
	t.Helper()
	for i, p := range pieces {
		text := p.Text
		if p.Form != channels.FormMarkdown {
			plainer, ok := ch.(channels.Plainer)
			if !ok {
				t.Fatalf("piece %d has the form %q, and the channel is no channels.Plainer", i, p.Form)
			}
			text = plainer.Plain(text)
			control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
			if strings.ContainsFunc(text, control) {
				t.Errorf("Plain of piece %d leaves control characters: %q", i, text)
			}
		}
		texts = append(texts, text)
	}
	return texts
}

func showTyping(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	typer, ok := s.ch.(channels.Typer)
	if !ok {
		t.Skip("this channel shows no typing")
	}
	for range 3 {
		if err := typer.Typing(context.Background(), net.Key()); err != nil {
			t.Errorf("Typing = %v, want nil", err)
		}
	}
	s.mustSend(t, "out", "the answer")
	if diff := cmp.Diff([]string{"the answer"}, net.Seen(t)); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// showRetract takes a preview back, twice, as after a timeout.
func showRetract(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	previewer, shows := s.ch.(channels.Previewer)
	retractor, takesBack := s.ch.(channels.Retractor)
	if !shows || !takesBack {
		t.Skip("this channel takes no previews back")
	}
	id := ""
	eventually(t, "a preview to be shown", func() (ok bool) {
		got, err := previewer.Preview(context.Background(), channels.Preview{Key: net.Key(), Turn: "turn", Text: "half"})
		id = got
		return err == nil
	})
	for range 2 {
		if err := retractor.Retract(context.Background(), net.Key(), id); err != nil {
			t.Errorf("Retract = %v", err)
		}
		if got := net.Seen(t); len(got) != 0 {
			t.Errorf("seen = %q after the preview was taken back", got)
		}
	}
	s.mustSend(t, "next", "an answer")
	if got := net.Seen(t); len(got) != 1 {
		t.Errorf("seen = %q, want the next answer", got)
	}
}

func showPreview(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	previewer, ok := s.ch.(channels.Previewer)
	if !ok {
		t.Skip("this channel shows no previews")
	}
	if previewer.PreviewEvery() < 0 {
		t.Errorf("PreviewEvery = %s", previewer.PreviewEvery())
	}
	id := ""
	for i := range 3 {
		p := channels.Preview{Key: net.Key(), Turn: "turn", MessageID: id, Text: "half" + strings.Repeat(" and", i)}
		eventually(t, "a preview to be shown", func() bool {
			got, err := previewer.Preview(context.Background(), p)
			switch retry := (*channels.Retry)(nil); {
			case err == nil:
				if id != "" && got != id {
					t.Errorf("Preview of one turn gave the ids %q and %q", id, got)
				}
				id = got
			case errors.As(err, &retry):
			default:
				t.Fatalf("Preview %d = %v, want nil or a Retry", i, err)
			}
			return err == nil
		})
	}
	m := channels.Outbound{ID: "final", Key: net.Key(), Text: "half and whole", Edit: id, Attempt: 1}
	for attempt := range 2 { // the second stands for a restart between send and record
		m.Attempt, m.Uncertain = attempt+1, attempt > 0
		if attempt > 0 && id == "" {
			break
		}
		if _, err := s.sendMessage(t, m); err != nil {
			t.Fatalf("Send with Edit, attempt %d = %v, want nil", m.Attempt, err)
		}
		if diff := cmp.Diff([]string{"half and whole"}, net.Seen(t)); diff != "" {
			t.Errorf("seen after attempt %d (-want +got):\n%s", m.Attempt, diff)
		}
	}
	s.mustSend(t, "next", fmt.Sprintf("the answer after %s", "that"))
	if got := net.Seen(t); len(got) != 2 {
		t.Errorf("seen = %q, want two messages", got)
	}
}

package channeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"dragoman/channels"

	"github.com/google/go-cmp/cmp"
)

func sendInOrder(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	var want []string
	for i := range 5 {
		text := fmt.Sprintf("answer number %d", i)
		want = append(want, text)
		s.mustSend(t, fmt.Sprintf("out-%d", i), text)
		// Send returns when the network has it, so it is there now.
		if diff := cmp.Diff(want, net.Seen(t)); diff != "" {
			t.Fatalf("seen when Send had returned (-want +got):\n%s", diff)
		}
	}
}

func sendKinds(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	kinds := map[string]string{
		"lines":   "first line\nsecond line\n\na new paragraph\nand its end",
		"emoji":   "family 👨‍👩‍👧‍👦 flag 🇮🇹 thumb 👍🏽 end",
		"rtl":     "שלום עולם مرحبا بالعالم end",
		"script":  "привет мир 漢字かな ünïcödé end",
		"html":    "a < b && b > c, &amp; stays, 1 < 2 end",
		"command": "/new begins a conversation end",
		"crlf":    "before\r\nQUIT :gone\r\nafter end",
	}
	for name, text := range kinds {
		before := len(net.Seen(t))
		s.mustSend(t, "kind-"+name, text)
		if diff := cmp.Diff(words(text), words(newlySeen(t, net, before)...)); name != "html" && diff != "" {
			t.Errorf("%s: words seen (-want +got):\n%s", name, diff)
		}
		if !strings.HasSuffix(strings.Join(words(newlySeen(t, net, before)...), " "), "end") {
			t.Errorf("%s: seen %q, want it whole", name, newlySeen(t, net, before))
		}
	}
}

func sendLong(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	size := 20_000
	if p, ok := net.(Paced); ok {
		size = p.LongText()
	}
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "word%d ", i)
		if i%40 == 39 {
			b.WriteString("\n\n")
		}
	}
	s.mustSend(t, "long", b.String())
	if diff := cmp.Diff(words(b.String()), words(net.Seen(t)...)); diff != "" {
		t.Errorf("words seen (-want +got):\n%.2000s", diff)
	}
}

func sendControl(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	s.mustSend(t, "control", "start \x00 \x01ACTION\x01 \a \x1b[31m \x7f \u0085 \u202e end")
	s.mustSend(t, "invalid", "start \xff\xfe\xc3 end")
	s.mustSend(t, "after", "still here")
	seen := net.Seen(t)
	if len(seen) < 3 || seen[len(seen)-1] != "still here" {
		t.Fatalf("seen = %q, want the message after the odd ones too", seen)
	}
	for _, text := range seen {
		if strings.ContainsAny(text, "\x00") || !utf8.ValidString(text) {
			t.Errorf("the network was given %q, want UTF-8 without NUL", text)
		}
	}
	got := words(seen...)
	if got[0] != "start" || !slices.Contains(got, "end") {
		t.Errorf("seen = %q, want what stood around the odd characters", seen)
	}
	connected(t, s.ch)
}

func sendOutsideRun(t *testing.T, net Network) {
	ch := net.Open(t)
	s := &session{net: net, ch: ch}
	s.notSilent(t, "early", "sent before Run")
	s = run(t, net, ch, NewInbox())
	s.stop(t)
	s.notSilent(t, "late", "sent after Run")
}

// notSilent sends. The send may fail, but its result must match what the person
// sees.
func (s *session) notSilent(t *testing.T, id, text string) {
	t.Helper()
	before := len(s.net.Seen(t))
	_, err := s.send(t, id, text)
	got := newlySeen(t, s.net, before)
	var notSent *channels.NotSent
	switch {
	case err == nil && !slices.Contains(got, text):
		t.Errorf("Send(%s) = nil, but the person does not see it", id)
	case errors.As(err, &notSent) && slices.Contains(got, text):
		t.Errorf("Send(%s) = %v, but the person sees it", id, err)
	}
}

func sendAfterCut(t *testing.T, net Network) {
	cutter, ok := net.(Cutter)
	if !ok {
		t.Skip("this network's connections cannot be cut")
	}
	s := start(t, net, NewInbox())
	s.mustSend(t, "warm", "before the cut")
	cutter.Cut(t)
	s.notSilent(t, "cut", "right after the cut")
	eventually(t, "a send after the cut to succeed", func() bool {
		_, err := s.send(t, "again", "later")
		return err == nil
	})
	if got := net.Seen(t); got[0] != "before the cut" || !slices.Contains(got, "later") {
		t.Errorf("seen = %q", got)
	}
}

func sendRefused(t *testing.T, net Network) {
	refuser, ok := net.(Refuser)
	if !ok {
		t.Skip("this network cannot refuse")
	}
	s := start(t, net, NewInbox())
	refuser.RefuseSends(t, true)
	if _, err := s.send(t, "no", "refused"); err == nil {
		t.Error("Send while the network refuses = nil, want an error")
	}
	refuser.RefuseSends(t, false)
	eventually(t, "a send to succeed again", func() bool {
		_, err := s.send(t, "yes", "taken")
		return err == nil
	})
	if got := net.Seen(t); !slices.Equal(got, []string{"taken"}) {
		t.Errorf("seen = %q, want only what was taken", got)
	}
}

func sendAgain(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	m := channels.Outbound{ID: "twice", Key: net.Key(), Text: "an answer", Attempt: 1}
	if _, err := s.sendMessage(t, m); err != nil {
		t.Fatalf("Send = %v, want nil", err)
	}
	m.Attempt, m.Uncertain = 2, true
	_, m.Repeats = s.ch.(channels.RepeatMarker)
	if _, err := s.sendMessage(t, m); err != nil {
		t.Fatalf("Send of the same ID = %v, want nil", err)
	}
	most := 2
	if d, ok := net.(Deduplicator); ok && d.Deduplicates() {
		most = 1
	}
	got := net.Seen(t)
	if len(got) < 1 || len(got) > most || got[0] != m.Text {
		t.Fatalf("seen = %q, want it at least once and at most %d times", got, most)
	}
	if again := got[len(got)-1]; m.Repeats && again != channels.RepeatMark+m.Text {
		t.Errorf("the second time it is seen as %q, want it with the mark", again)
	}
}

func sendConcurrent(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	keys := []channels.Key{net.Key()}
	crowd, ok := net.(Crowd)
	if ok {
		keys = append(keys, crowd.More(t, 7)...)
	}
	const each = 5
	var wg sync.WaitGroup
	for i, k := range keys {
		wg.Go(func() {
			for n := range each {
				m := channels.Outbound{ID: fmt.Sprintf("c%d-%d", i, n), Key: k, Text: fmt.Sprintf("chat %d answer %d", i, n), Attempt: 1}
				if _, err := s.sendMessage(t, m); err != nil {
					t.Errorf("Send(%s) = %v, want nil", m.ID, err)
				}
			}
		})
	}
	wg.Wait()
	for i, k := range keys {
		var want []string
		for n := range each {
			want = append(want, fmt.Sprintf("chat %d answer %d", i, n))
		}
		got := net.Seen(t)
		if i > 0 {
			got = crowd.SeenIn(t, k)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seen in %s (-want +got):\n%s", k, diff)
		}
	}
}

func sendEndedContext(t *testing.T, net Network) {
	s := start(t, net, NewInbox())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.ch.Send(ctx, channels.Outbound{ID: "ended", Key: net.Key(), Text: "too late", Attempt: 1})
	if seen := net.Seen(t); err == nil && len(seen) == 0 {
		t.Error("Send with an ended context = nil, and nothing was sent")
	}
	if errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send with an ended context = %v, which is not permanent", err)
	}
}

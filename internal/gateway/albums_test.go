package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
)

// part is one message of an album.
func (w *world) part(album string, n int) channels.Inbound {
	m := w.message("1", fmt.Sprintf("part %d", n))
	m.Album = album
	return m
}

func withQueue(mode gateway.Mode) change {
	return func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Queue = mode }
}

// An album is answered as one message in every mode, half a second after its
// last part.
func TestAlbumIsAnsweredOnce(t *testing.T) {
	for _, mode := range []gateway.Mode{gateway.Collect, gateway.Each, gateway.Steer, gateway.Interrupt} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, withQueue(mode))
				began := time.Now()
				for n := range 4 {
					w.accept(w.part("a", n))
					time.Sleep(100 * time.Millisecond) // of the bubble
				}
				synctest.Wait()
				if sent := w.net.texts("1"); len(sent) != 0 {
					t.Fatalf("after %s: sent %q, want nothing yet", time.Since(began), sent)
				}
				time.Sleep(400*time.Millisecond + time.Millisecond)
				synctest.Wait()
				want := []string{"echo part 0\npart 1\npart 2\npart 3"}
				if sent := w.net.texts("1"); !slices.Equal(sent, want) {
					t.Errorf("sent %q, want %q", sent, want)
				}
			})
		})
	}
}

// linewise is a network where a question comes in lines, a second apart.
type linewise struct{ *network }

func (linewise) Pause(channels.Inbound) time.Duration { return time.Second }

// A network says how long to wait for the next part of a question.
// What a client cut in pieces is one message to the model, with one name and one time. Other
// messages that are answered together stay apart.
func TestPiecesAreOneMessage(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	line := func(w *world, who, text string, after time.Duration) channels.Inbound {
		m := w.message("1", text)
		m.Album = "lines of " + who
		m.Sender = channels.Person{IDs: []string{"1", who}, Name: who}
		m.Prefix = who + ": "
		m.At = began.Add(after)
		return m
	}
	for name, test := range map[string]struct {
		second func(w *world) channels.Inbound
		want   []string
	}{
		"a second later":      {func(w *world) channels.Inbound { return line(w, "ann", "and two", time.Second) }, []string{"ann: one\nand two"}},
		"in the same moment":  {func(w *world) channels.Inbound { return line(w, "ann", "and two", 0) }, []string{"ann: one\nand two"}},
		"a minute later":      {func(w *world) channels.Inbound { return line(w, "ann", "and two", time.Minute) }, []string{"ann: one", "ann: and two"}},
		"of another question": {func(w *world) channels.Inbound { m := line(w, "ann", "and two", 0); m.Album = "b"; return m }, []string{"ann: one", "ann: and two"}},
		"with a file": {func(w *world) channels.Inbound {
			m := line(w, "ann", "and two", 0)
			m.Attachments = []channels.Attachment{{Kind: channels.AttachmentImage, Missing: "gone"}}
			return m
		}, []string{"ann: one", "ann: and two\n[image, not available: gone]"}},
		"in answer to somebody": {func(w *world) channels.Inbound {
			m := line(w, "ann", "and two", 0)
			m.Quote = &channels.Quote{ID: "7", Name: "Bob", Text: "why?"}
			return m
		}, []string{"ann: one", "> Bob: why?\n\nann: and two"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = linewise{w.net} })
				w.accept(line(w, "ann", "one", 0))
				w.accept(test.second(w))
				time.Sleep(time.Minute)
				synctest.Wait()
				turns := w.agent.asked()
				if len(turns) != 1 {
					t.Fatalf("%d turns, want one", len(turns))
				}
				var got []string
				for _, m := range turns[0].Input {
					got = append(got, m.Content)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("the model reads %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestPauseOfTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = linewise{w.net} })
		for n := range 3 {
			w.accept(w.part("a", n))
			time.Sleep(900 * time.Millisecond)
		}
		synctest.Wait()
		if sent := w.net.texts("1"); len(sent) != 0 {
			t.Fatalf("sent %q, want nothing yet", sent)
		}
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		if sent := w.net.texts("1"); !slices.Equal(sent, []string{"echo part 0\npart 1\npart 2"}) {
			t.Errorf("sent %q, want one answer to all parts", sent)
		}
	})
}

// Only an album is waited for, and only for a while.
func TestAlbumsDelayNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.accept(w.message("1", "hello"))
		synctest.Wait()
		w.accept(w.part("alone", 0))
		synctest.Wait()
		if sent := w.net.texts("1"); !slices.Equal(sent, []string{"echo hello"}) {
			t.Errorf("sent %q at once, want an answer to the message", sent)
		}
		time.Sleep(albumQuiet)
		synctest.Wait()
		if sent := w.net.texts("1"); len(sent) != 2 {
			t.Errorf("sent %q, want an answer to the one part", sent)
		}
		began := time.Now()
		for n := 0; len(w.net.texts("1")) == 2 && n < 9; n++ {
			w.accept(w.part("trickle", n))
			time.Sleep(400 * time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(began); took < 3*time.Second || took > 3400*time.Millisecond {
			t.Errorf("an album that trickles in is answered after %s, want 3 s", took)
		}
	})
}

// albumQuiet is how long the gateway waits for the next part.
const albumQuiet = 500*time.Millisecond + time.Millisecond

// With Each an album stays one question, also when its turn is postponed, and
// its neighbours stay separate.
func TestAlbumAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, withQueue(gateway.Each))
		failed := false
		w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
			if strings.Contains(inputs(in), "part") && !failed {
				failed = true
				return "", &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("down")}
			}
			return slowEcho(2*time.Second)(ctx, in)
		}
		w.accept(w.message("1", "before"))
		w.accept(w.message("1", "then"))
		w.accept(w.part("a", 0))
		w.accept(w.part("a", 1))
		w.accept(w.message("1", "after"))
		time.Sleep(time.Minute)
		synctest.Wait()
		got := w.net.texts("1")
		slices.Sort(got)
		want := []string{"echo after", "echo before", "echo part 0\npart 1", "echo then"}
		if !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/media"
	"dragoman/sessions"
)

// album is a network that gives out files by Ref, with the result of a
// function.
type album struct {
	*network
	mu    sync.Mutex
	asked map[string]int
	give  func(ctx context.Context, ref string, n int, w io.Writer) error
}

func (a *album) Fetch(ctx context.Context, at channels.Attachment, w io.Writer) error {
	a.mu.Lock()
	a.asked[at.Ref]++
	n := a.asked[at.Ref]
	a.mu.Unlock()
	return a.give(ctx, at.Ref, n, w)
}

func (a *album) count(ref string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[ref]
}

// withFiles makes the network an album and keeps the fetched files.
func withFiles(t *testing.T, a *album, o media.Options) change {
	t.Helper()
	files, err := media.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return func(w *world, b *gateway.Binding, opts *gateway.Options) {
		a.network, a.asked = w.net, map[string]int{}
		b.Channel, opts.Media = a, files
	}
}

// picture is a message without text and with one file.
func (w *world) picture(person, ref string) channels.Inbound {
	m := w.message(person, "")
	m.Attachments = []channels.Attachment{{
		Kind: channels.AttachmentImage, Name: "beach.jpg", Type: "image/jpeg", Bytes: 1234, Ref: ref, File: "irc_x/../../etc",
	}}
	return m
}

func (w *world) accept(m channels.Inbound) {
	w.t.Helper()
	if err := w.in.Accept(w.t.Context(), m); err != nil {
		w.t.Fatalf("Accept = %v", err)
	}
}

func TestFilesAreFetchedBeforeTheTurn(t *testing.T) {
	gives := func(_ context.Context, ref string, n int, w io.Writer) error {
		switch {
		case ref == "gone":
			return &channels.Gone{Why: "expired"}
		case ref == "large":
			_, err := w.Write(make([]byte, 2000))
			return err
		case ref == "flaky" && n == 1:
			return errors.New("connection reset")
		case ref == "panics":
			panic("no such file")
		}
		_, err := io.WriteString(w, "a picture")
		return err
	}
	for ref, want := range map[string]string{
		"good":   `[image "beach.jpg", image/jpeg, 9 bytes, file net_1/`,
		"flaky":  `[image "beach.jpg", image/jpeg, 9 bytes, file net_1/`,
		"gone":   `[image "beach.jpg", image/jpeg, 1 kB, not available: expired]`,
		"large":  `[image "beach.jpg", image/jpeg, 1 kB, not available: too large: more than 2 kB]`,
		"panics": `[image "beach.jpg", image/jpeg, 1 kB, not available: it could not be fetched]`,
	} {
		t.Run(ref, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &album{give: gives}
				w := start(t, withFiles(t, a, media.Options{MaxBytes: 1999}))
				w.accept(w.picture("1", ref))
				time.Sleep(10 * time.Second) // of the bubble
				synctest.Wait()
				sent := w.net.texts("1")
				if len(sent) != 1 || !strings.HasPrefix(sent[0], "echo "+want) {
					t.Fatalf("sent %q, want one that begins with %q", sent, want)
				}
				msgs, err := w.mem.Messages(t.Context(), channels.MustKey("net:1"), 0, 10)
				if err != nil || len(msgs) != 2 || len(msgs[0].Attachments) != 1 {
					t.Fatalf("the transcript holds %+v, %v", msgs, err)
				}
				at := msgs[0].Attachments[0]
				if at.Ref != "" || (at.File == "") == (at.Missing == "") {
					t.Errorf("the transcript holds %+v", at)
				}
			})
		})
	}
}

// ear hears what the name of a file says, if it is a voice message.
type ear struct {
	heard []string
	err   error
}

func (e *ear) Words(_ context.Context, k channels.Key, a channels.Attachment) (string, error) {
	e.heard = append(e.heard, k.String()+" "+a.Name)
	return "the words of " + a.Name, e.err
}

// What is said in a voice message is text for the model, and stays in the transcript. One
// that cannot be heard stays a file, and the message is answered.
func TestVoiceMessagesAreWrittenDown(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		kind channels.AttachmentKind
		want string
	}{
		"heard":     {nil, channels.AttachmentVoice, "echo [voice, 0:14] the words of a.ogg"},
		"not heard": {errors.New("hearing: it did not answer"), channels.AttachmentVoice, `echo [voice "a.ogg", audio/ogg, 3 bytes, file net_1/`},
		"music":     {nil, channels.AttachmentAudio, `echo [audio "a.ogg", audio/ogg, 3 bytes, file net_1/`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gives := func(_ context.Context, _ string, _ int, w io.Writer) error {
					_, err := io.WriteString(w, "ogg")
					return err
				}
				listener := &ear{err: test.err}
				files := withFiles(t, &album{give: gives}, media.Options{MaxBytes: 1999})
				w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
					files(w, b, o)
					o.Listener = listener
				})
				m := w.message("1", "")
				m.Attachments = []channels.Attachment{{Kind: test.kind, Name: "a.ogg", Type: "audio/ogg", Ref: "r", Seconds: 14, Words: "said by the network"}}
				w.accept(m)
				synctest.Wait()
				if sent := w.net.texts("1"); len(sent) != 1 || !strings.HasPrefix(sent[0], test.want) {
					t.Errorf("sent %q, want one that begins with %q", sent, test.want)
				}
				if heard := len(listener.heard); heard != 1 && test.kind == channels.AttachmentVoice || heard > 1 {
					t.Errorf("the listener heard %q", listener.heard)
				}
			})
		})
	}
}

// A turn that a crash or a postponement interrupts does not fetch again.
func TestFilesAreFetchedOnceForATurnThatRunsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &album{give: func(_ context.Context, _ string, _ int, w io.Writer) error {
			_, err := io.WriteString(w, "a picture")
			return err
		}}
		w := start(t, withFiles(t, a, media.Options{}))
		runs := 0
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			runs++
			if runs == 1 {
				return "", &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("down")}
			}
			if f := turn.Input[0].Attachments[0].File; f == "" {
				t.Error("the second run has no file")
			}
			return "seen", nil
		}
		w.accept(w.picture("1", "ref"))
		time.Sleep(time.Minute)
		w.expect("1", "seen")
		if n := a.count("ref"); n != 1 {
			t.Errorf("fetched %d times, want once", n)
		}
	})
}

// Files that never come delay an answer for a while, not for ever, and the
// person sees that something is being done.
func TestFilesThatNeverCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &album{give: func(ctx context.Context, _ string, _ int, _ io.Writer) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		w := start(t, withFiles(t, a, media.Options{}))
		m := w.picture("1", "r0")
		for range 14 {
			m.Attachments = append(m.Attachments, m.Attachments[0])
		}
		began := time.Now()
		w.accept(m)
		for len(w.net.texts("1")) == 0 && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("the answer came after %s", took)
		}
		text := w.net.texts("1")[0]
		if n := strings.Count(text, "not available: "); n != channels.MaxAttachments {
			t.Errorf("%d files are named, want %d: %s", n, channels.MaxAttachments, text)
		}
		if w.net.typed < 10 {
			t.Errorf("typing was shown %d times in two minutes", w.net.typed)
		}
	})
}

// A new message does not wait for the files of a turn that a command ended.
func TestStopEndsTheFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &album{give: func(ctx context.Context, _ string, _ int, _ io.Writer) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		w := start(t, withFiles(t, a, media.Options{}))
		w.accept(w.picture("1", "r"))
		synctest.Wait()
		w.say("1", "/stop")
		w.say("1", "still there?")
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 2 || got[1] != "echo still there?" {
			t.Errorf("sent %q", got)
		}
		if got := w.transcript("1"); len(got) == 0 || !strings.Contains(got[0], `beach.jpg", image/jpeg, 1 kB, not available: not fetched]`) {
			t.Errorf("the transcript holds %q", got)
		}
	})
}

func TestFilesOfANetworkThatGivesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		m := w.picture("1", "ref")
		m.Text = "look"
		w.accept(m)
		w.expect("1", "echo look\n"+`[image "beach.jpg", image/jpeg, 1 kB, not available: not fetched]`)
	})
}

// A message that joins a running turn brings its files along.
func TestSteeredFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &album{give: func(_ context.Context, _ string, _ int, w io.Writer) error {
			_, err := io.WriteString(w, "a picture")
			return err
		}}
		w := start(t, withFiles(t, a, media.Options{}), func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Queue = gateway.Steer })
		var joined []sessions.Message
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			time.Sleep(time.Second)
			var err error
			joined, err = turn.Steer(ctx)
			return "done", err
		}
		w.say("1", "wait")
		synctest.Wait()
		w.accept(w.picture("1", "ref"))
		time.Sleep(time.Minute)
		w.expect("1", "done")
		if len(joined) != 1 || len(joined[0].Attachments) != 1 || joined[0].Attachments[0].File == "" {
			t.Errorf("joined %+v", joined)
		}
	})
}

// Files of a message past the limit are not fetched.
func TestFilesPastTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &album{give: func(_ context.Context, ref string, _ int, w io.Writer) error {
			_, err := io.WriteString(w, ref)
			return err
		}}
		w := start(t, withFiles(t, a, media.Options{}))
		m := w.picture("1", "r0")
		for i := 1; i < channels.MaxAttachments+3; i++ {
			at := m.Attachments[0]
			at.Ref = fmt.Sprint("r", i)
			m.Attachments = append(m.Attachments, at)
		}
		w.accept(m)
		synctest.Wait()
		for i, at := range m.Attachments {
			want := 1
			if i >= channels.MaxAttachments {
				want = 0
			}
			if n := a.count(at.Ref); n != want {
				t.Errorf("file %d was fetched %d times, want %d", i, n, want)
			}
		}
	})
}

// The files of a quoted message are fetched and shown like the message's own, and said to
// be the quote's. An edit brings none, and a message that is not for us fetches none.
func TestFilesOfTheQuotedMessage(t *testing.T) {
	quoted := func(refs ...string) *channels.Quote {
		q := &channels.Quote{ID: "m0", Name: "Ann", Text: "[photo]"}
		for _, ref := range refs {
			q.Attachments = append(q.Attachments, channels.Attachment{Kind: channels.AttachmentImage, Type: "image/jpeg", Ref: ref})
		}
		return q
	}
	many := strings.Split(strings.Repeat("good ", channels.MaxAttachments+5), " ")
	tests := map[string]struct {
		change func(*channels.Inbound)
		own    int
		quoted int
	}{
		"reply":           {func(m *channels.Inbound) { m.Quote = quoted("good"); m.Attachments = nil; m.Text = "what?" }, 0, 1},
		"with a file too": {func(m *channels.Inbound) { m.Quote = quoted("good") }, 1, 1},
		"too many":        {func(m *channels.Inbound) { m.Quote = quoted(many...) }, 1, channels.MaxAttachments - 1},
		"no file":         {func(m *channels.Inbound) { m.Quote = quoted() }, 1, 0},
		"not for us": {func(m *channels.Inbound) {
			m.Quote = quoted("good")
			m.Private = false
		}, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &album{give: func(_ context.Context, _ string, _ int, w io.Writer) error {
					_, err := io.WriteString(w, "a picture")
					return err
				}}
				w := start(t, withFiles(t, a, media.Options{MaxBytes: 1999}))
				m := w.picture("1", "own")
				test.change(&m)
				w.accept(m)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				all := strings.Join(w.net.texts("1"), "|")
				if got := strings.Count(all, "[image of the quoted message"); got != test.quoted {
					t.Errorf("%q has %d files of the quote, want %d", all, got, test.quoted)
				}
				if got := strings.Count(all, `[image "beach.jpg"`); got != test.own {
					t.Errorf("%q has %d files of its own, want %d", all, got, test.own)
				}
				if got := a.count("good") > 0; got != (test.quoted > 0) {
					t.Errorf("the quote's file was fetched: %v", got)
				}
			})
		})
	}
}

// listening is an inbox that remembers what it was given.
type listening struct {
	gateway.Inbox
	got []sessions.Entry
}

func (l *listening) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	l.got = append(l.got, e)
	return l.Inbox.Accept(ctx, e)
}

// The store gets the files of a quote once, as the message's, and checked like its own. A
// changed message has none: they would be taken for its own.
func TestFilesOfAQuoteAreStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inbox *listening
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			inbox = &listening{Inbox: w.mem}
			w.store.Inbox = inbox
			w.agent.run = slowEcho(time.Minute)
		})
		quote := &channels.Quote{ID: "m0", Name: "Ann", Text: "[photo]", Attachments: []channels.Attachment{
			{Kind: channels.AttachmentImage, Ref: "good", File: "../../secret", Name: strings.Repeat("n", 300)},
		}}
		m := w.message("1", "what is that?")
		m.Quote = quote
		w.accept(m)
		edited := w.message("1", "what is this?")
		edited.Edits = m.MessageID
		edited.Quote = quote
		w.accept(edited)
		for i, want := range []int{1, 0} {
			stored := inbox.got[i].Inbound
			if len(stored.Attachments) != want || stored.Quote == nil || len(stored.Quote.Attachments) != 0 {
				t.Fatalf("message %d is stored with the files %+v and the quote %+v, want %d files of its own", i, stored.Attachments, stored.Quote, want)
			}
			for _, a := range stored.Attachments {
				if !a.Quoted || a.File != "" || len(a.Name) > 260 {
					t.Errorf("message %d is stored with %+v, want it marked, without a file's name of ours, and clipped", i, a)
				}
			}
		}
		if len(quote.Attachments) != 1 || quote.Attachments[0].Quoted {
			t.Errorf("the adapter's own message was changed: %+v", quote)
		}
	})
}

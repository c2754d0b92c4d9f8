package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/media"
)

// mouth keeps what it is asked to say.
type mouth struct {
	err     error
	written bool // people have to read it
	said    []string
}

func (m *mouth) Speak(_ context.Context, _ channels.Key, _, text string) (channels.Attachment, error) {
	m.said = append(m.said, text)
	a := channels.Attachment{Kind: channels.AttachmentVoice, Name: "voice.ogg"}
	if m.err == nil && !m.written {
		a.File = "net_1/voice.ogg"
	}
	return a, m.err
}

// pager is a network with files that people send and get.
type pager struct{ *album }

func (pager) SendsFiles() {}

// Whoever speaks is answered aloud, without a preview; whoever writes, passes on a recording
// or can be answered only in writing, in writing.
func TestVoiceIsAnsweredAloud(t *testing.T) {
	for name, tt := range map[string]struct {
		mouth  mouth
		change func(*channels.Inbound)
		want   string
		said   int
	}{
		"spoken":     {want: "voice voice.ogg OggS, or Good morning to you.", said: 1},
		"to be read": {mouth: mouth{written: true}, want: "Good morning to you.", said: 1},
		"no server":  {mouth: mouth{err: errors.New("no")}, want: "Good morning to you.", said: 1},
		"passed on":  {change: func(m *channels.Inbound) { m.Forwarded = &channels.Forward{} }, want: "Good morning to you."},
		"a song":     {change: func(m *channels.Inbound) { m.Attachments[0].Kind = channels.AttachmentAudio }, want: "Good morning to you."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &album{give: gives("OggS")}
				keep := withFiles(t, a, media.Options{})
				w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
					keep(w, b, o)
					b.Channel = pager{a}
					o.Kept = &shelf{files: map[string]string{"net_1/voice.ogg": "OggS"}}
					o.Listener = &ear{}
					o.Speaker = &tt.mouth
					w.agent.run = func(context.Context, agent.Turn) (string, error) { return "Good morning to you.", nil }
				})
				m := w.message("1", "")
				m.Attachments = []channels.Attachment{{Kind: channels.AttachmentVoice, Ref: "r"}}
				if tt.change != nil {
					tt.change(&m)
				}
				w.accept(m)
				synctest.Wait()
				w.net.mu.Lock()
				defer w.net.mu.Unlock()
				if len(w.net.sent) != 1 {
					t.Fatalf("%d messages were sent", len(w.net.sent))
				}
				got := w.net.sent[0].Text
				if f := w.net.sent[0].File; f != nil {
					got = fmt.Sprintf("%s %s %s, or %s", f.Kind, f.Name, f.Content, f.Instead)
				}
				if got != tt.want || len(tt.mouth.said) != tt.said {
					t.Errorf("sent %q after %d attempts to speak, want %q after %d", got, len(tt.mouth.said), tt.want, tt.said)
				}
			})
		})
	}
}

// gives always gives the same file.
func gives(content string) func(context.Context, string, int, io.Writer) error {
	return func(_ context.Context, _ string, _ int, w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

//go:build !nowhatsapp

package whatsapp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// noise returns n bytes that do not look like padding.
func noise(n int) []byte {
	data, source := make([]byte, n), rand.NewChaCha8([32]byte{byte(n)})
	_, _ = source.Read(data)
	return data
}

// A message with a file of any kind has the person's text and the attachment. Fetch returns
// the whole file, also from a new channel that is not connected.
func TestAttachments(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	tests := []struct {
		note wasim.Note
		want channels.Attachment
	}{
		{wasim.Note{Media: &wasim.Media{Kind: wasim.Image, Mime: "image/jpeg", Data: noise(1)}}, channels.Attachment{Kind: "image", Type: "image/jpeg", Bytes: 1}},
		{wasim.Note{Text: "look", Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: noise(16)}}, channels.Attachment{Kind: "image", Type: "image/png", Bytes: 16}},
		{wasim.Note{Media: &wasim.Media{Kind: wasim.Sticker, Mime: "image/webp", Data: noise(15)}}, channels.Attachment{Kind: "sticker", Type: "image/webp", Bytes: 15}},
		{wasim.Note{Media: &wasim.Media{Kind: wasim.Voice, Mime: "audio/ogg; codecs=opus", Data: noise(17)}}, channels.Attachment{Kind: "voice", Type: "audio/ogg; codecs=opus", Bytes: 17}},
		{wasim.Note{Media: &wasim.Media{Kind: wasim.Audio, Mime: "audio/mpeg", Data: noise(64 << 10)}}, channels.Attachment{Kind: "audio", Type: "audio/mpeg", Bytes: 64 << 10}},
		{wasim.Note{Text: "watch", Media: &wasim.Media{Kind: wasim.Video, Mime: "video/mp4", Data: noise(3 << 20)}}, channels.Attachment{Kind: "video", Type: "video/mp4", Bytes: 3 << 20}},
		{wasim.Note{Text: "read", Media: &wasim.Media{Kind: wasim.Document, Name: "../a b.pdf", Mime: "application/pdf", Data: noise(65_537)}}, channels.Attachment{Kind: "document", Name: "../a b.pdf", Type: "application/pdf", Bytes: 65_537}},
		{wasim.Note{Media: &wasim.Media{Kind: wasim.Document, Name: "empty", Mime: "text/plain"}}, channels.Attachment{Kind: "document", Name: "empty", Type: "text/plain"}},
		{wasim.Note{Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: noise(9), Claim: 1 << 63}}, channels.Attachment{Kind: "image", Type: "image/png", Bytes: 1<<63 - 1}},
	}
	for i, tt := range tests {
		n.ann.Send(tt.note)
		m := inbox.Wait(t, i+1)[i]
		if m.Text != tt.note.Text || len(m.Attachments) != 1 {
			t.Fatalf("%s: message %q with %d files", tt.want.Kind, m.Text, len(m.Attachments))
		}
		if diff := cmp.Diff(tt.want, m.Attachments[0], cmpopts.IgnoreFields(channels.Attachment{}, "Ref")); diff != "" {
			t.Errorf("attachment (-want +got):\n%s", diff)
		}
		var got bytes.Buffer
		if err := c.Fetch(within(t), m.Attachments[0], &got); err != nil || !bytes.Equal(got.Bytes(), tt.note.Media.Data) {
			t.Errorf("Fetch(%s) = %v and %d bytes, want %d", tt.want.Kind, err, got.Len(), len(tt.note.Media.Data))
		}
	}
}

// sent returns the attachment of a message from Ann.
func sent(t *testing.T, n *network, media *wasim.Media) (*whatsapp.Channel, channels.Attachment) {
	t.Helper()
	c, inbox := connected(t, n, whatsapp.Options{})
	n.ann.Send(wasim.Note{Media: media})
	return c, inbox.Wait(t, 1)[0].Attachments[0]
}

func TestFetchFails(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, a := sent(t, n, &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: noise(1 << 20)})
	status := func(code int) func() { return func() { n.Faults.FailMedia(code, 1) } }
	spoil := func(how wasim.Spoil) func() { return func() { n.Faults.SpoilMedia(how) } }
	for _, tt := range []struct {
		name      string
		fail      func()
		permanent bool
	}{
		{"gone", status(http.StatusGone), true},
		{"not found", status(http.StatusNotFound), true},
		{"expired", status(http.StatusForbidden), true},
		{"busy", status(http.StatusTooManyRequests), false},
		{"broken", status(http.StatusInternalServerError), false},
		{"elsewhere", status(http.StatusFound), false},
		{"cut", spoil(wasim.Cut), false},
		{"short", spoil(wasim.Short), false},
		{"flipped", spoil(wasim.Flipped), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.fail()
			defer n.Faults.SpoilMedia(wasim.Intact)
			err := c.Fetch(within(t), a, io.Discard)
			if err == nil || errors.Is(err, channels.ErrPermanent) != tt.permanent {
				t.Fatalf("Fetch = %v, want an error with permanent = %v", err, tt.permanent)
			}
			if strings.Contains(err.Error(), "://") || strings.Contains(err.Error(), "/v/") {
				t.Errorf("Fetch = %v, want no address in the error", err)
			}
		})
	}
	if err := c.Fetch(within(t), a, io.Discard); err != nil {
		t.Errorf("Fetch after all faults = %v, want nil", err)
	}
	n.Close()
	err := c.Fetch(within(t), a, io.Discard)
	if err == nil || errors.Is(err, channels.ErrPermanent) || strings.Contains(err.Error(), "/v/") {
		t.Errorf("Fetch without a network = %v, want a temporary error without the address", err)
	}
}

// A message can have the hash of another file, or an invalid path.
func TestFetchForged(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, a := sent(t, n, &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: noise(100), Forged: true})
	var gone *channels.Gone
	if err := c.Fetch(within(t), a, io.Discard); !errors.As(err, &gone) || gone.Why != "the file is damaged" {
		t.Errorf("Fetch of a forged file = %v, want damaged", err)
	}
	for _, ref := range []string{
		"", "{}", "null", `{"p":"@evil.example/","k":"","h":"","s":"","t":"WhatsApp Image Keys"}`,
		strings.Replace(a.Ref, `"p":"/`, `"p":".evil.example/`, 1), strings.Replace(a.Ref, `"p":"/v/`, `"p":"/\u007f%zz`, 1),
	} {
		a.Ref = ref
		if err := c.Fetch(within(t), a, io.Discard); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Fetch(%q) = %v, want a permanent error", ref, err)
		}
	}
}

var errFull = errors.New("full")

// full is a writer with room for a limited number of bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	f.room -= len(p)
	if f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// The writer limits the size, whatever the message says.
func TestFetchBound(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, a := sent(t, n, &wasim.Media{Kind: wasim.Document, Name: "big", Mime: "x/y", Data: noise(8 << 20), Claim: 10})
	w := &full{room: 1 << 20}
	if err := c.Fetch(within(t), a, w); err != errFull { //nolint:errorlint // It must be unchanged.
		t.Errorf("Fetch into a full writer = %v, want the writer's error", err)
	}
	if w.room < -128<<10 {
		t.Errorf("Fetch wrote %d bytes after the error", -w.room)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Fetch(ctx, a, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch with an ended context = %v, want its error", err)
	}
}

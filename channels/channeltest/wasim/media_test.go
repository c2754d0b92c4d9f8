package wasim_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"dragoman/channels/channeltest/wasim"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
)

func TestMediaIn(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	data := bytes.Repeat([]byte("0123456789abcdef"), 4096) // a multiple of the cipher's blocks

	cases := []struct {
		kind wasim.Kind
		part func(*waE2E.Message) whatsmeow.DownloadableMessage
	}{
		{wasim.Image, func(m *waE2E.Message) whatsmeow.DownloadableMessage { return m.GetImageMessage() }},
		{wasim.Video, func(m *waE2E.Message) whatsmeow.DownloadableMessage { return m.GetVideoMessage() }},
		{wasim.Audio, func(m *waE2E.Message) whatsmeow.DownloadableMessage { return m.GetAudioMessage() }},
		{wasim.Voice, func(m *waE2E.Message) whatsmeow.DownloadableMessage { return m.GetAudioMessage() }},
		{wasim.Document, func(m *waE2E.Message) whatsmeow.DownloadableMessage { return m.GetDocumentMessage() }},
	}
	for _, tc := range cases {
		t.Run(string(tc.kind), func(t *testing.T) {
			id := alice.Send(wasim.Note{Text: "see", Media: &wasim.Media{Kind: tc.kind, Mime: "x/y", Name: "a.bin", Data: data}})
			m := awaitMessage(t, c, func(m *events.Message) bool { return m.Info.ID == id })
			if m.Info.MediaType != string(tc.kind) {
				t.Errorf("media type = %q", m.Info.MediaType)
			}
			got, err := c.Download(within(t), tc.part(m.Message))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("Download = %d bytes, %v", len(got), err)
			}
		})
	}
	s.Faults.FailMedia(http.StatusGone, 1)
	id := alice.Send(wasim.Note{Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: data, Claim: 1 << 40}})
	m := awaitMessage(t, c, func(m *events.Message) bool { return m.Info.ID == id })
	if got := m.Message.GetImageMessage().GetFileLength(); got != 1<<40 {
		t.Errorf("claimed length = %d", got)
	}
	if _, err := c.Download(within(t), m.Message.GetImageMessage()); !errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith410) {
		t.Errorf("Download of what is gone: %v", err)
	}
}

func TestMediaOut(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	data := []byte("a picture of a cat")

	up, err := c.Upload(within(t), data, whatsmeow.MediaImage)
	if err != nil {
		t.Fatal(err)
	}
	image := &waE2E.ImageMessage{
		URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
		FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: proto.String("image/png"), Caption: proto.String("cat"),
	}
	if _, err := c.SendMessage(within(t), alice.LID(), &waE2E.Message{ImageMessage: image}); err != nil {
		t.Fatal(err)
	}
	got, err := alice.WaitReceived(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if m := got[0]; m.Text != "cat" || m.Media == nil || m.Media.Kind != wasim.Image || !bytes.Equal(m.Media.Data, data) {
		t.Errorf("received %+v", m)
	}
	// A message that says something else about the file shows no file.
	image.FileLength = proto.Uint64(1)
	if _, err := c.SendMessage(within(t), alice.LID(), &waE2E.Message{ImageMessage: image}); err != nil {
		t.Fatal(err)
	}
	if got := alice.Received(); len(got) != 2 || got[1].Media != nil {
		t.Errorf("received %+v", got)
	}
	s.Faults.FailMedia(http.StatusInternalServerError, 1)
	if _, err := c.Upload(within(t), data, whatsmeow.MediaImage); err == nil {
		t.Error("an upload that was refused succeeded")
	}
}

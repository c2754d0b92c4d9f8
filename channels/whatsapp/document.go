package whatsapp

import (
	"context"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

const uploadTimeout = 30 * time.Second

var _ channels.Filer = (*Channel)(nil)

// SendsFiles implements [channels.Filer].
func (c *Channel) SendsFiles() {}

// upload encrypts f, stores it on WhatsApp's servers and returns the message that refers
// to it. It returns nil if f is nil. Each attempt uploads it again.
func (k *connection) upload(ctx context.Context, f *channels.File) (*waE2E.DocumentMessage, error) {
	if f == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	up, err := k.client.Upload(ctx, []byte(f.Content), whatsmeow.MediaDocument)
	if err != nil {
		return nil, err
	}
	return &waE2E.DocumentMessage{
		FileName: &f.Name, Title: &f.Name, Mimetype: proto.String("text/markdown"),
		URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
		FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
	}, nil
}

// withDocument returns d with the text of m as its caption, or m if d is nil.
func withDocument(m *waE2E.Message, d *waE2E.DocumentMessage) *waE2E.Message {
	if d == nil {
		return m
	}
	d.Caption = proto.String(m.GetConversation())
	if e := m.GetExtendedTextMessage(); e != nil {
		d.Caption, d.ContextInfo = e.Text, e.ContextInfo
	}
	return &waE2E.Message{DocumentMessage: d}
}

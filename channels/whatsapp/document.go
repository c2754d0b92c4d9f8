package whatsapp

import (
	"context"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// uploadLimit is how long WhatsApp may take to store a file.
const uploadLimit = 30 * time.Second

var _ channels.Filer = (*Channel)(nil)

// SendsFiles implements [channels.Filer].
func (c *Channel) SendsFiles() {}

// upload stores f on WhatsApp's servers, sealed, and returns what a message says
// of it; nil for none. Each attempt stores it anew.
func (k *connection) upload(ctx context.Context, f *channels.File) (*waE2E.DocumentMessage, error) {
	if f == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
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

// withDocument is m as the caption of d; m alone without one.
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

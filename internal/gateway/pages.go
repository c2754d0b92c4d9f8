package gateway

import (
	"context"
	"fmt"
	"io"
	"strings"

	"dragoman/channels"
)

// Pager shows documents whose pages are pictures, such as scans.
type Pager interface {
	// Pages returns pictures of the first pages of a file of k's conversation; none of a
	// file that has a text, or that is no such document. The error is for the operator.
	Pages(ctx context.Context, k channels.Key, a channels.Attachment) ([]Page, error)
}

// Page is a page of a document.
type Page struct {
	Number  int
	Picture []byte // JPEG
}

// pagePrefix begins the names of such pictures.
const pagePrefix = "page "

// showPages adds pictures of the pages of each scan of m to its files, as far as there is
// room: so they reach a model that sees as any picture does. One that cannot be shown stays
// a file, and the log says why.
func (g *Gateway) showPages(ctx context.Context, m *channels.Inbound) {
	if g.opts.Pager == nil || shown(m) {
		return
	}
	for i, a := range m.Attachments {
		if a.File == "" || a.IsImage() || a.Kind == channels.AttachmentVoice {
			continue
		}
		pages, err := g.opts.Pager.Pages(ctx, m.Key, a)
		if err != nil && ctx.Err() == nil {
			g.log(m.Key).Warn("the pages of a document could not be shown", "err", err)
		}
		for _, p := range pages {
			if len(m.Attachments) == channels.MaxAttachments {
				return
			}
			kept, err := g.keepPage(ctx, m, i, p)
			if err != nil {
				return
			}
			m.Attachments = append(m.Attachments, kept)
		}
	}
}

// shown reports whether m has such pictures: it is a message that another one replaces.
func shown(m *channels.Inbound) bool {
	for _, a := range m.Attachments {
		if a.File != "" && a.Kind == channels.AttachmentImage && strings.HasPrefix(a.Name, pagePrefix) {
			return true
		}
	}
	return false
}

// keepPage keeps the picture of a page of attachment i of m. It has the same name in each
// attempt at the turn.
func (g *Gateway) keepPage(ctx context.Context, m *channels.Inbound, i int, p Page) (channels.Attachment, error) {
	of := m.Attachments[i]
	a := channels.Attachment{
		Kind: channels.AttachmentImage, Name: fmt.Sprintf("%s%d of %s", pagePrefix, p.Number, of.Name),
		Type: "image/jpeg", Bytes: int64(len(p.Picture)), Quoted: of.Quoted,
	}
	pictures := channels.Inbound{Key: m.Key, ID: fmt.Sprintf("%s page %d of %d", m.ID, p.Number, i), Attachments: []channels.Attachment{a}}
	return g.opts.Media.Keep(ctx, pictures, 0, func(_ context.Context, w io.Writer) error {
		_, err := w.Write(p.Picture)
		return err
	})
}

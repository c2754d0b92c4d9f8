package gateway_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/media"
)

// scanner shows three pages of files called scan, and fails with others.
type scanner struct{}

func (scanner) Pages(_ context.Context, _ channels.Key, a channels.Attachment) ([]gateway.Page, error) {
	if a.Name != "scan.pdf" {
		return nil, errors.New("no pages")
	}
	return []gateway.Page{{1, []byte("one")}, {2, []byte("two")}, {4, []byte("four")}}, nil
}

// The pages of a scan are files of its message, as pictures are, and there is no room for
// more than ten.
func TestPagesOfScansAreShown(t *testing.T) {
	for name, test := range map[string]struct {
		files, want int
	}{
		"a scan": {1, 4}, "a full message": {channels.MaxAttachments - 1, channels.MaxAttachments},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gives := func(_ context.Context, _ string, _ int, w io.Writer) error {
					_, err := io.WriteString(w, "%PDF-")
					return err
				}
				files := withFiles(t, &album{give: gives}, media.Options{MaxBytes: 1999})
				w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
					files(w, b, o)
					o.Pager = scanner{}
				})
				var got []channels.Attachment
				w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
					got = turn.Input[0].Attachments
					return "seen", nil
				}
				m := w.message("1", "")
				m.Attachments = []channels.Attachment{{Kind: channels.AttachmentDocument, Name: "scan.pdf", Ref: "r"}}
				for len(m.Attachments) < test.files {
					m.Attachments = append(m.Attachments, channels.Attachment{Kind: channels.AttachmentDocument, Name: "other.pdf", Ref: "r"})
				}
				w.accept(m)
				synctest.Wait()
				w.expect("1", "seen")
				if len(got) != test.want {
					t.Fatalf("the turn has the files %+v", got)
				}
				page := got[test.files]
				if page.Kind != channels.AttachmentImage || page.Name != "page 1 of scan.pdf" || page.Bytes != 3 || !strings.HasPrefix(page.File, "net_1/") {
					t.Errorf("the first page is %+v", page)
				}
			})
		})
	}
}

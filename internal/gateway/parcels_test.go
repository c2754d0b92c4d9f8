package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
)

// shelf has files by name.
type shelf struct {
	files  map[string]string
	broken int // the first openings fail
}

func (s *shelf) Open(file string) (io.ReadCloser, error) {
	if s.broken > 0 {
		s.broken--
		return nil, errors.New("the disk")
	}
	content, found := s.files[file]
	if !found {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// The files of an answer follow it, with their content, and are tried again like any
// message. A network without files gets a line, and so does a file that was deleted.
func TestAnswersSendFiles(t *testing.T) {
	pdf := channels.Attachment{Kind: channels.AttachmentDocument, Name: "a.pdf", Bytes: 1234, File: "net_1/a.pdf"}
	for name, tt := range map[string]struct {
		files bool // the network takes them
		shelf shelf
		want  []string
	}{
		"taken":           {files: true, shelf: shelf{files: map[string]string{"net_1/a.pdf": "%PDF-1.7"}}, want: []string{"Here.", "document a.pdf application/pdf %PDF-1.7"}},
		"after a failure": {files: true, shelf: shelf{files: map[string]string{"net_1/a.pdf": "%PDF-1.7"}, broken: 2}, want: []string{"Here.", "document a.pdf application/pdf %PDF-1.7"}},
		"deleted":         {files: true, want: []string{"Here.", "[document a.pdf, 1 kB] (The file is no longer here.)"}},
		"not taken":       {shelf: shelf{files: map[string]string{"net_1/a.pdf": "x"}}, want: []string{"Here.", "[document a.pdf, 1 kB]"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
					p := paged{w.net, 4000}
					b.Channel = p
					if tt.files {
						b.Channel = filing{p}
					}
					o.Kept = &tt.shelf
					w.agent.run = func(context.Context, agent.Turn) (string, error) { return "Here.", nil }
					w.agent.files = []channels.Attachment{pdf}
				})
				w.say("1", "send it")
				time.Sleep(time.Minute) // of the bubble
				synctest.Wait()
				w.net.mu.Lock()
				defer w.net.mu.Unlock()
				var got []string
				for _, m := range w.net.sent {
					text := m.Text
					if f := m.File; f != nil {
						text += fmt.Sprintf("%s %s %s %s", f.Kind, f.Name, f.Type, f.Content)
					}
					got = append(got, text)
				}
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
					t.Errorf("sent %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// A short answer is the caption of its one picture. If the network refuses the picture or it
// was deleted, the answer is there all the same. Elsewhere, and for more, files follow.
func TestCaptions(t *testing.T) {
	cat := channels.Attachment{Kind: channels.AttachmentImage, Name: "cat.png", Bytes: 1234, File: "net_1/a.png"}
	pdf := channels.Attachment{Kind: channels.AttachmentDocument, Name: "a.pdf", Bytes: 1234, File: "net_1/a.pdf"}
	there := map[string]string{"net_1/a.png": "\x89PNG\r\n\x1a\n", "net_1/a.pdf": "%PDF-1.7", "net_1/a.docx": "PK\x03\x04[Content_Types].xml, word/document.xml"}
	docx := channels.Attachment{Kind: channels.AttachmentDocument, Name: "a", Bytes: 1234, File: "net_1/a.docx"}
	long := strings.Repeat("a cat ", 200)
	for name, tt := range map[string]struct {
		noFiles bool
		kept    map[string]string
		text    string
		files   []channels.Attachment
		want    []string
	}{
		"one picture":   {kept: there, text: "A **cat**.", files: []channels.Attachment{cat}, want: []string{"A **cat**. + image cat.png image/png, or A **cat**.\n\n[image cat.png]"}},
		"deleted":       {text: "A cat.", files: []channels.Attachment{cat}, want: []string{"A cat.\n\n[image cat.png] (The file is no longer here.)"}},
		"not taken":     {noFiles: true, kept: there, text: "A cat.", files: []channels.Attachment{cat}, want: []string{"A cat.", "[image cat.png, 1 kB]"}},
		"a document":    {kept: there, text: "A cat.", files: []channels.Attachment{pdf}, want: []string{"A cat.", " + document a.pdf application/pdf, or [document a.pdf, 1 kB]"}},
		"an office's":   {kept: there, text: "A cat.", files: []channels.Attachment{docx}, want: []string{"A cat.", " + document a application/vnd.openxmlformats-officedocument.wordprocessingml.document, or [document a, 1 kB]"}},
		"two pictures":  {kept: there, text: "Cats.", files: []channels.Attachment{cat, cat}, want: []string{"Cats.", " + image cat.png image/png, or [image cat.png, 1 kB]", " + image cat.png image/png, or [image cat.png, 1 kB]"}},
		"a long answer": {kept: there, text: long, files: []channels.Attachment{cat}, want: []string{long, " + image cat.png image/png, or [image cat.png, 1 kB]"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
					p := paged{w.net, 4000}
					b.Channel = filing{p}
					if tt.noFiles {
						b.Channel = p
					}
					o.Kept = &shelf{files: tt.kept}
					w.agent.run = func(context.Context, agent.Turn) (string, error) { return tt.text, nil }
					w.agent.files = tt.files
				})
				w.say("1", "draw it")
				time.Sleep(time.Minute) // of the bubble
				synctest.Wait()
				w.net.mu.Lock()
				defer w.net.mu.Unlock()
				var got []string
				for _, m := range w.net.sent {
					text := m.Text
					if f := m.File; f != nil {
						text += fmt.Sprintf(" + %s %s %s, or %s", f.Kind, f.Name, f.Type, f.Instead)
					}
					got = append(got, text)
				}
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
					t.Errorf("sent %q, want %q", got, tt.want)
				}
			})
		})
	}
}

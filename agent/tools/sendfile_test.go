package tools_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

// shelf keeps what is sent in memory.
type shelf struct {
	refuse  error
	kept    channels.Attachment
	content string
}

func (s *shelf) Outgoing(_ context.Context, _ agent.Call, a channels.Attachment, content io.Reader) (channels.Attachment, error) {
	if s.refuse != nil {
		return a, s.refuse
	}
	all, err := io.ReadAll(content)
	s.content = string(all)
	a.File = "x_1/kept"
	s.kept = a
	return a, err
}

func (s *shelf) Most() int64 { return 100 }

// A file of the workspace is kept and attached to the call, as what its content is.
func TestSendFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	png := "\x89PNG\r\n\x1a\nand more"
	write("a.png", png)
	write("report.md", "# All")
	write("voice.mp3", "ID3\x04 sound")
	write("book.txt", "PK\x03\x04"+strings.Repeat("\x00", 14)+"\x14\x00\x00\x00\x14\x00\x00\x00\x08\x00\x00\x00mimetypeapplication/epub+zip")
	write("large", string(make([]byte, 101)))
	write("empty", "")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	w, err := tools.OpenWorkspace(dir, tools.WorkspaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for name, tt := range map[string]struct {
		path    string
		refuse  error
		sending int
		want    channels.Attachment
		say     string
	}{
		"picture":   {path: "a.png", want: channels.Attachment{Kind: "image", Name: "a.png", Type: "image/png", Bytes: 16, File: "x_1/kept"}, say: "[a.png, 16 bytes, is sent after your answer]"},
		"text":      {path: "report.md", want: channels.Attachment{Kind: "document", Name: "report.md", Type: "text/markdown", Bytes: 5, File: "x_1/kept"}, say: "[report.md, 5 bytes, is sent after your answer]"},
		"sound":     {path: "voice.mp3", want: channels.Attachment{Kind: "audio", Name: "voice.mp3", Type: "audio/mpeg", Bytes: 10, File: "x_1/kept"}, say: "[voice.mp3, 10 bytes, is sent after your answer]"},
		"a book":    {path: "book.txt", want: channels.Attachment{Kind: "document", Name: "book.txt", Type: "application/epub+zip", Bytes: 58, File: "x_1/kept"}, say: "[book.txt, 58 bytes, is sent after your answer]"},
		"too large": {path: "large", say: `send_file: "large" has 101 bytes; at most 100 bytes can be sent`},
		"empty":     {path: "empty", say: `send_file: "empty" is empty, and networks take no empty files`},
		"outside":   {path: "../a", say: `send_file: "../a" leads out of the workspace`},
		"a link":    {path: "link", say: `send_file: "link": path escapes from parent`},
		"missing":   {path: "no.txt", say: `send_file: "no.txt" does not exist`},
		"refused":   {path: "a.png", refuse: errors.New("this chat takes no files"), say: "send_file: this chat takes no files"},
		"too many":  {path: "a.png", sending: 10, say: "send_file: this answer sends 10 files already, and more do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{refuse: tt.refuse}
			var sent []channels.Attachment
			said, err := tools.SendFile(w, s).Run(t.Context(), agent.Call{Args: []byte(`{"path":"` + tt.path + `"}`), Sending: tt.sending, Sent: &sent})
			if err != nil {
				said = err.Error()
			}
			if said != tt.say {
				t.Errorf("send_file said %q, want %q", said, tt.say)
			}
			var want []channels.Attachment
			if tt.want.File != "" {
				want = append(want, tt.want)
			}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("attached (-want +got):\n%s", diff)
			}
			if tt.path == "a.png" && want != nil && s.content != png {
				t.Errorf("kept %q", s.content)
			}
		})
	}
}

package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// sent are files by their conversation's key and last name, as media.Store finds
// them.
type sent map[string]string

func (s sent) ReadPart(k channels.Key, file string, p []byte, off int64) (int, int64, error) {
	content, found := s[k.String()+" "+file[strings.LastIndexByte(file, '/')+1:]]
	switch {
	case content == "broken":
		return 0, 0, errors.New("input/output error in /var/lib/secret")
	case !found:
		return 0, 0, fmt.Errorf("media: read: %w", fs.ErrNotExist)
	case off >= int64(len(content)):
		return 0, int64(len(content)), nil
	}
	return copy(p, content[off:]), int64(len(content)), nil
}

// paper stands in for the reader of documents: it reads the file, and says this.
type paper struct {
	text string
	err  error
	read *string
}

func (p paper) Is(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("%PDF-")) || bytes.HasPrefix(head, []byte("\xd0\xcf\x11"))
}

func (p paper) Text(_ context.Context, document io.Reader) (string, error) {
	whole, err := io.ReadAll(document)
	if err != nil {
		return "", err
	}
	if p.read != nil {
		*p.read = string(whole)
	}
	return p.text, p.err
}

// A document is read whole, whatever part of its text is asked for.
func TestReadAttachmentReadsDocuments(t *testing.T) {
	document := "PK\x03\x04" + strings.Repeat("x", 100_000)
	whole := ""
	read := tools.ReadAttachment(sent{"telegram:7 a.docx": document}, paper{text: "One\nTwo é\n", read: &whole})
	for _, test := range []struct {
		args m
		want string
	}{
		{m{"file": "a.docx"}, "One\nTwo é\n"},
		{m{"file": "a.docx", "limit": 4}, "[a.docx: bytes 0 to 4 of 11; go on with offset 4]\nOne\n"},
		{m{"file": "a.docx", "offset": 9}, "[a.docx: bytes 10 to 11 of 11, the end]\n\n"},
	} {
		if got := must(t, read, test.args); got != test.want || whole != document {
			t.Errorf("read_attachment(%v) = %q of %d bytes, want %q", test.args, got, len(whole), test.want)
		}
	}
	refuse(t, read, m{"file": "a.docx", "offset": 11}, "is past its end")
	empty := tools.ReadAttachment(sent{"telegram:7 a.docx": document}, paper{})
	if got := must(t, empty, m{"file": "a.docx"}); got != `["a.docx" has no text]` {
		t.Errorf("a document without text = %q", got)
	}
}

func TestReadAttachment(t *testing.T) {
	read := tools.ReadAttachment(sent{
		"telegram:7 notes.txt": "# Today\nmilk\n", "telegram:7 empty.bin": "", "telegram:7 bom.csv": "\uFEFFa;b\n",
		"telegram:7 main.bin": "package main\n", "telegram:7 page.html": "<!doctype html><p>hello", "telegram:7 x.json": `{"a": 1}`,
		"telegram:7 picture.svg": `<?xml version="1.0"?><svg/>`,
	}, paper{})
	for file, want := range map[string]string{
		"telegram_7/notes.txt": "# Today\nmilk\n", "notes.txt": "# Today\nmilk\n", " file telegram_7/notes.txt] ": "# Today\nmilk\n",
		`[document "profile x.txt", text/plain, 2 kB, file telegram_7/notes.txt]`: "# Today\nmilk\n",
		"telegram_7/empty.bin": `["empty.bin" is empty]`, "bom.csv": "a;b\n", "main.bin": "package main\n",
		"page.html": "<!doctype html><p>hello", "x.json": `{"a": 1}`, "picture.svg": `<?xml version="1.0"?><svg/>`,
	} {
		if got := must(t, read, m{"file": file}); got != want {
			t.Errorf("read_attachment(%q) = %q, want %q", file, got, want)
		}
	}
	if got, want := must(t, read, m{"file": "notes.txt", "offset": 8, "limit": "3"}), "[notes.txt: bytes 8 to 11 of 13; go on with offset 11]\nmil"; got != want {
		t.Errorf("a page = %q, want %q", got, want)
	}
	refuse(t, read, m{"file": "notes.txt", "offset": 13}, "is past its end")
	refuse(t, read, m{"file": "notes.txt", "offset": -1}, "negative")
	refuse(t, read, m{}, "the file is empty")
	refuse(t, read, m{"file": strings.Repeat("x", 600)}, "has 600 bytes")
}

// Whose words a result is: a file's, also where it is refused, because its name is one's who sent
// it; and a copy of what the conversation has.
func TestReadAttachmentIsAFile(t *testing.T) {
	read := tools.ReadAttachment(sent{"telegram:7 a.txt": "words"}, paper{})
	for _, file := range []string{"a.txt", "b.txt"} {
		var found sessions.Taint
		_, err := read.Run(t.Context(), agent.Call{Key: channels.MustKey("telegram:7"), Args: json.RawMessage(`{"file":"` + file + `"}`), Found: &found})
		if diff := cmp.Diff([]sessions.Origin{sessions.OriginFile}, found.List()); diff != "" || read.Spec().Origin != sessions.OriginSent {
			t.Errorf("%s, %v: the result is of %q, %s", file, err, read.Spec().Origin, diff)
		}
	}
}

// A file that is not text is refused with its type and what to do, whatever its name.
func TestReadAttachmentSaysWhatItCannotRead(t *testing.T) {
	for content, want := range map[string]string{
		"%PDF-1.7\n%\xe2\xe3":                         "is locked",
		"PK\x03\x04\x14\x00\x06\x00":                  "(8 bytes) is locked",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00":        "is locked",
		`{\rtf1\ansi hello}`:                          "is a rich text document",
		"\xff\xfeh\x00i\x00":                          "is UTF-16 text",
		"\xfe\xff\x00h\x00i":                          "is UTF-16 text",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":         "is a picture",
		"OggS\x00\x02\x00\x00\x00\x00\x00\x00":        "is a recording",
		"\x7fELF\x02\x01\x01\x00":                     "is not text",
		"caf\xe9 au lait":                             "not UTF-8 text throughout",
		strings.Repeat("text ", 1000) + "\x00 binary": "not UTF-8 text throughout",
		"broken": "cannot be read just now",
	} {
		read := tools.ReadAttachment(sent{"telegram:7 a.txt": content}, paper{err: errors.New("is locked")})
		refuse(t, read, m{"file": "a.txt"}, want)
		_, err := call(t, read, m{"file": "a.txt"})
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: the error names a place: %v", content, err)
		}
	}
}

// Only files of the asking conversation can be read, and none without a conversation.
func TestReadAttachmentOfOthers(t *testing.T) {
	read := tools.ReadAttachment(sent{"telegram:8 a.txt": "a secret", "telegram:7 gone.txt": "x"}, paper{})
	for _, file := range []string{"telegram_8/a.txt", "a.txt", "../telegram_8/a.txt", "/etc/passwd", "telegram_7/../telegram_8/a.txt", "a.txt\x00"} {
		refuse(t, read, m{"file": file}, "there is no file")
	}
	got, err := read.Run(t.Context(), agent.Call{Args: []byte(`{"file":"a.txt"}`)})
	if err == nil || !strings.Contains(err.Error(), "no conversation") {
		t.Errorf("without a key: %q, %v", got, err)
	}
}

// A large file comes in pages that add up to the file.
func TestReadAttachmentInPages(t *testing.T) {
	content := strings.Repeat("größe und länge\n", 12<<20/18)
	read := tools.ReadAttachment(sent{"telegram:7 a.txt": content}, paper{})
	var whole strings.Builder
	offset, pages := 0, 0
	for offset < len(content) {
		got := must(t, read, m{"file": "a.txt", "offset": offset})
		if len(got) > 32<<10+200 {
			t.Fatalf("a page has %d bytes", len(got))
		}
		head, text, _ := strings.Cut(got, "\n")
		if !strings.HasPrefix(head, "[a.txt: bytes ") {
			t.Fatalf("a page begins with %.100q", got)
		}
		whole.WriteString(text)
		offset += len(text)
		pages++
	}
	if whole.String() != content || pages < len(content)/(32<<10) {
		t.Errorf("%d pages hold %d bytes, want the file's %d", pages, whole.Len(), len(content))
	}
}

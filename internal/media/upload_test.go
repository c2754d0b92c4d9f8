package media_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/media"
)

// breaking is a body whose sender disconnects.
type breaking struct{}

func (breaking) Read(p []byte) (int, error) { return copy(p, "half"), io.ErrUnexpectedEOF }

// An upload can be read before and after its turn has begun, is stored once, and is
// deleted with its conversation.
func TestPut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{MaxBytes: 10, MaxTotal: 25})
	ref, size, err := s.Put(t.Context(), strings.NewReader("0123456789"))
	if err != nil || size != 10 {
		t.Fatalf("Put = %q, %d, %v", ref, size, err)
	}
	m := message("web:a", "1", channels.Attachment{Ref: ref, Type: "text/plain"})
	sent := func(when string) {
		t.Helper()
		f, size, err := s.Sent(m, 0)
		if err != nil {
			t.Fatalf("%s: Sent = %v", when, err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil || string(b) != "0123456789" || size != 10 {
			t.Errorf("%s: it holds %q of %d, %v", when, b, size, err)
		}
	}
	sent("before")
	for range 2 { // a turn that begins again
		a, err := s.Keep(t.Context(), m, 0, nil)
		if err != nil || a.File == "" || a.Bytes != 10 || a.Ref != "" {
			t.Fatalf("Keep = %+v, %v", a, err)
		}
	}
	sent("after")
	if files := left(t, dir); len(files) != 1 {
		t.Errorf("files = %q, want one", files)
	}
	other := message("web:b", "2", channels.Attachment{Ref: ref})
	if a, err := s.Keep(t.Context(), other, 0, nil); err != nil || a.Missing != "it is no longer here" {
		t.Errorf("Keep for another message = %+v, %v", a, err)
	}
	for _, ref := range []string{"", "upload:", "upload:../web_a/x", "upload:" + strings.Repeat("a", 26), "/etc/passwd"} {
		if f, _, err := s.Sent(message("web:b", "3", channels.Attachment{Ref: ref}), 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Sent(%q) = %v, %v, want no such file", ref, f, err)
		}
	}
}

func TestPutRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{MaxBytes: 10, MaxTotal: 15})
	var gone *channels.Gone
	for content, want := range map[string]string{"01234567890": "too large: more than 10 bytes", "": "the file is empty"} {
		if _, _, err := s.Put(t.Context(), strings.NewReader(content)); !errors.As(err, &gone) || gone.Why != want {
			t.Errorf("Put(%q) = %v, want %q", content, err, want)
		}
	}
	if _, _, err := s.Put(t.Context(), breaking{}); err == nil || errors.As(err, &gone) && gone.Why != "too large: more than 10 bytes" {
		t.Errorf("Put of half a file = %v", err)
	}
	if files := left(t, dir); len(files) != 0 {
		t.Errorf("files = %q are left", files)
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("0123456789")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("012345")); !errors.As(err, &gone) || gone.Why != "no room for more files here" {
		t.Errorf("Put without room = %v", err)
	}
	// What no message comes for goes after a day.
	then := time.Now().Add(-48 * time.Hour)
	for _, file := range left(t, filepath.Join(dir, "uploads")) {
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Tidy(t.Context(), time.Now().Add(-24*time.Hour), &ledger{}); n != 1 || err != nil {
		t.Errorf("Tidy = %d, %v, want 1", n, err)
	}
	if _, _, err := s.Put(context.Background(), strings.NewReader("012345")); err != nil {
		t.Errorf("Put after that = %v", err)
	}
}

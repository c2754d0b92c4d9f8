package media_test

import (
	"errors"
	"io/fs"
	"testing"

	"dragoman/channels"
	"dragoman/internal/media"
)

// Between Share and Join a file has two names, and either may be removed.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{})
	from, to := channels.MustKey("whatsapp:800@lid"), channels.MustKey("whatsapp:+15550000002")
	for range 2 { // of nothing, and again
		if err := s.Share(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if files := left(t, dir); len(files) != 0 {
		t.Errorf("sharing nothing made %q", files)
	}
	var files []string
	for _, id := range []string{"1", "2"} {
		files = append(files, keep(t, s, "whatsapp:800@lid", id, "of "+id).File)
		for range 2 {
			if err := s.Share(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(left(t, dir)); n != 4 {
		t.Errorf("%d names, want two of each file", n)
	}
	if _, err := s.RemoveFiles(files[:1]); err != nil {
		t.Fatal(err)
	}
	if n := len(left(t, dir)); n != 2 {
		t.Errorf("%d names are left after one file was removed, want two", n)
	}
	if err := s.Join(from, to); err != nil {
		t.Fatal(err)
	}
	if n := len(left(t, dir)); n != 1 || read(t, s, files[1]) != "of 2" {
		t.Errorf("%d names are left in the end, want one, of what was there", n)
	}
}

// After Join, the files of the joined conversation belong to the other one, and are
// found under their old names, which the transcript has.
func TestJoinMovesFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{})
	from, to := channels.MustKey("whatsapp:800@lid"), channels.MustKey("whatsapp:+15550000002")
	keep := func(key, id string) string {
		t.Helper()
		got, err := s.Keep(t.Context(), message(key, id, channels.Attachment{Type: "text/plain"}), 0, gives("of "+id))
		if err != nil || got.File == "" {
			t.Fatalf("Keep = %+v, %v", got, err)
		}
		return got.File
	}
	first := keep("whatsapp:800@lid", "1")
	second := keep("whatsapp:800@lid", "2")
	own := keep("whatsapp:+15550000002", "3")
	for range 2 { // a crash may have come before the end
		if err := s.Join(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{first: "of 1", second: "of 2", own: "of 3"} {
		if got := read(t, s, file); got != want {
			t.Errorf("Open(%s) reads %q, want %q", file, got, want)
		}
		p := make([]byte, 10)
		if n, _, err := s.ReadPart(to, file, p, 0); err != nil || string(p[:n]) != want {
			t.Errorf("ReadPart(%s) = %q, %v, want %q", file, p[:n], err, want)
		}
		if _, _, err := s.ReadPart(from, file, p, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadPart of the conversation that is no more = %v", err)
		}
	}
	if _, err := s.RemoveFiles([]string{first}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(first); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a removed file = %v", err)
	}
	if n := len(left(t, dir)); n != 2 {
		t.Errorf("%d files are left, want 2", n)
	}
	if err := s.Remove(to); err != nil {
		t.Fatal(err)
	}
	if files := left(t, dir); len(files) != 0 {
		t.Errorf("files are left of a removed conversation: %q", files)
	}
}

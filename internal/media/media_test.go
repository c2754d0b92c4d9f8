package media_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/media"
)

// open makes a store in a folder of the test.
func open(t *testing.T, dir string, o media.Options) *media.Store {
	t.Helper()
	s, err := media.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// message has one attachment.
func message(key, id string, a channels.Attachment) channels.Inbound {
	return channels.Inbound{Key: channels.MustKey(key), ID: id, Attachments: []channels.Attachment{a}}
}

func gives(content string) media.Fetch {
	return func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

func read(t *testing.T, s *media.Store, file string) string {
	t.Helper()
	f, err := s.Open(file)
	if err != nil {
		t.Fatalf("Open(%q) = %v", file, err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// left are the files below dir.
func left(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestKeepStoresAFileOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "media"), media.Options{})
	m := message("irc:#Go/../x", "1", channels.Attachment{
		Kind: channels.AttachmentDocument, Name: "../../etc/passwd", Type: "Text/Plain; charset=utf-8", Ref: "secret",
	})
	got, err := s.Keep(t.Context(), m, 0, gives("hello"))
	if err != nil || got.File == "" || got.Bytes != 5 || got.Ref != "" || got.Missing != "" {
		t.Fatalf("Keep = %+v, %v", got, err)
	}
	if !strings.HasSuffix(got.File, ".txt") || strings.Contains(got.File, "passwd") || strings.Contains(got.File, "..") && !strings.HasPrefix(got.File, "irc_%23%47o%2f..%2fx/") {
		t.Errorf("File = %q", got.File)
	}
	if text := read(t, s, got.File); text != "hello" {
		t.Errorf("the file holds %q", text)
	}
	again, err := s.Keep(t.Context(), m, 0, func(context.Context, io.Writer) error {
		t.Error("a file that is there was fetched again")
		return nil
	})
	if err != nil || again != got {
		t.Errorf("Keep again = %+v, %v, want %+v", again, err, got)
	}
	files := left(t, dir)
	if len(files) != 1 {
		t.Fatalf("files = %q, want one", files)
	}
	for path, want := range map[string]fs.FileMode{files[0]: 0o600, filepath.Dir(files[0]): 0o700 | fs.ModeDir, filepath.Join(dir, "media"): 0o700 | fs.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("mode of %s = %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestKeepSaysWhyThereIsNoFile(t *testing.T) {
	permanent := fmt.Errorf("%w: token in here", channels.ErrPermanent)
	for name, tt := range map[string]struct {
		bytes int64
		fetch media.Fetch
		want  string
		calls int
	}{
		"no fetcher":       {0, nil, "files of this network cannot be fetched", 0},
		"announced size":   {80_000_000, gives("x"), "too large: 80 MB", 0},
		"real size":        {0, gives("12345678901"), "too large: more than 10 bytes", 1},
		"limit is allowed": {0, gives("1234567890"), "", 1},
		"hidden limit": {0, func(_ context.Context, w io.Writer) error {
			if _, err := io.WriteString(w, "12345678901"); err == nil {
				return errors.New("no error from the writer")
			}
			return errors.New("something else")
		}, "too large: more than 10 bytes", 1},
		"ignored limit": {0, func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "12345678901")
			_, _ = io.WriteString(w, "1")
			return nil
		}, "too large: more than 10 bytes", 1},
		"permanent":  {0, func(context.Context, io.Writer) error { return permanent }, "the network no longer has it", 1},
		"with words": {0, func(context.Context, io.Writer) error { return &channels.Gone{Why: "too big for bots", Err: permanent} }, "too big for bots", 1},
		"temporary":  {0, func(context.Context, io.Writer) error { return errors.New("reset") }, "it could not be fetched", 2},
		"long pause": {0, func(context.Context, io.Writer) error { return &channels.Retry{After: time.Minute} }, "it could not be fetched", 1},
		"empty":      {0, func(context.Context, io.Writer) error { return nil }, "the file is empty", 1},
		"silence": {0, func(ctx context.Context, _ io.Writer) error {
			<-ctx.Done()
			return fmt.Errorf("get: %w", ctx.Err())
		}, "fetching it took too long", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, dir, media.Options{MaxBytes: 10})
				calls := 0
				fetch := tt.fetch
				if fetch != nil {
					fetch = func(ctx context.Context, w io.Writer) error {
						calls++
						return tt.fetch(ctx, w)
					}
				}
				got, err := s.Keep(t.Context(), message("irc:a", "1", channels.Attachment{Ref: "secret", Bytes: tt.bytes}), 0, fetch)
				if err != nil || got.Missing != tt.want || got.Ref != "" || calls != tt.calls {
					t.Errorf("Keep = %+v, %v after %d calls, want Missing %q after %d", got, err, calls, tt.want, tt.calls)
				}
				if n := len(left(t, dir)); (n == 1) != (tt.want == "") {
					t.Errorf("%d files are left", n)
				}
			})
		})
	}
}

func TestKeepTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), media.Options{})
		calls := 0
		got, err := s.Keep(t.Context(), message("irc:a", "1", channels.Attachment{}), 0, func(ctx context.Context, w io.Writer) error {
			calls++
			if calls == 1 {
				_, _ = io.WriteString(w, "half of")
				return &channels.Retry{After: 2 * time.Second}
			}
			return gives("whole")(ctx, w)
		})
		if err != nil || got.File == "" || got.Bytes != 5 {
			t.Fatalf("Keep = %+v, %v", got, err)
		}
		if text := read(t, s, got.File); text != "whole" {
			t.Errorf("the file holds %q", text)
		}
	})
}

func TestKeepEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Keep(ctx, message("irc:a", "1", channels.Attachment{}), 0, func(_ context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Keep = %v, want canceled", err)
	}
}

// A crash leaves a half-written file behind; the next start removes it and
// nothing else.
func TestOpenRemovesWhatIsHalfWritten(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, media.Options{})
	kept, err := first.Keep(t.Context(), message("irc:a", "1", channels.Attachment{}), 0, gives("whole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp", "HALF"), []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, media.Options{})
	if files := left(t, dir); len(files) != 1 {
		t.Errorf("files = %q, want the whole one", files)
	}
	if text := read(t, second, kept.File); text != "whole" {
		t.Errorf("the file holds %q", text)
	}
}

func TestOpenReachesNothingElse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "media"), media.Options{})
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "media", "irc_a")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(folder, "aaaaaaaaaaaaaaaa.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "bbbbbbbbbbbbbbbb.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"", "irc_a", "irc_a/", "../secret", "irc_a/../../secret", secret, "irc_a/aaaaaaaaaaaaaaaa.txt", "irc_a/bbbbbbbbbbbbbbbb.txt",
		"../media_x/aaaaaaaaaaaaaaaa.txt", "tmp/aaaaaaaaaaaaaaaa.txt", "irc_a/cccccccccccccccc.txt", "irc_a/aaaaaaaaaaaaaaaa.txt/x",
	} {
		if f, err := s.Open(file); err == nil {
			t.Errorf("Open(%q) succeeded", file)
			_ = f.Close()
		} else if strings.Contains(err.Error(), dir) {
			t.Errorf("Open(%q) names the directory: %v", file, err)
		}
	}
}

// A part of a file is read for the conversation that has it and for no other,
// and never through a link.
func TestReadPart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{})
	content := strings.Repeat("0123456789", 1_200_000)
	a, err := s.Keep(t.Context(), message("irc:a", "1", channels.Attachment{}), 0, gives(content))
	if err != nil {
		t.Fatal(err)
	}
	own, other := channels.MustKey("irc:a"), channels.MustKey("irc:b")
	for off, want := range map[int64]string{0: "01234", 11_999_998: "89", 12_000_000: "", 99_000_000: ""} {
		p := make([]byte, 5)
		n, size, err := s.ReadPart(own, a.File, p, off)
		if err != nil || string(p[:n]) != want || size != 12_000_000 {
			t.Errorf("ReadPart at %d = %q of %d, %v, want %q", off, p[:n], size, err, want)
		}
	}
	base := filepath.Base(a.File)
	for _, file := range []string{base, "irc_b/" + base} {
		if n, _, err := s.ReadPart(own, file, make([]byte, 5), 0); n != 5 || err != nil {
			t.Errorf("ReadPart(%s, %q) = %d, %v, want the conversation's own file", own, file, n, err)
		}
	}
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "irc_b"), 0o700),
		os.Symlink("../"+a.File, filepath.Join(dir, "irc_b/linkedlinkedlink.txt")),
		syscall.Mkfifo(filepath.Join(dir, "irc_b/pipedpipedpipedp.txt"), 0o600),
		os.Symlink("irc_a", filepath.Join(dir, "irc_c")),
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		k    channels.Key
		file string
	}{
		{other, a.File},
		{other, base},
		{other, "linkedlinkedlink.txt"},
		{other, "pipedpipedpipedp.txt"},
		{channels.MustKey("irc:c"), base},
		{channels.Key{}, a.File},
		{own, ""},
		{own, ".."},
		{own, "irc_a/.."},
		{own, "nothere"},
	} {
		if n, _, err := s.ReadPart(tt.k, tt.file, make([]byte, 5), 0); !errors.Is(err, fs.ErrNotExist) || n != 0 || strings.Contains(err.Error(), dir) {
			t.Errorf("ReadPart(%s, %q) = %d, %v, want no such file", tt.k, tt.file, n, err)
		}
	}
	if f, err := s.Open("irc_b/linkedlinkedlink.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a link = %v, %v", f, err)
	}
	if err := s.Remove(own); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReadPart(own, a.File, make([]byte, 5), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadPart of a removed file = %v", err)
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{})
	keep := func(key, id string) string {
		a, err := s.Keep(t.Context(), message(key, id, channels.Attachment{}), 0, gives("x"))
		if err != nil || a.File == "" {
			t.Fatalf("Keep = %+v, %v", a, err)
		}
		return a.File
	}
	a1 := keep("irc:a", "1")
	a2 := keep("irc:a", "2")
	b := keep("irc:b", "3")
	if got, err := s.RemoveFiles([]string{a1, "", "../" + filepath.Base(dir) + "/" + a2, "irc_a/aaaaaaaaaaaaaaaa.txt", a1}); err != nil || !slices.Equal(got, []string{a1}) {
		t.Errorf("RemoveFiles = %v, %v", got, err)
	}
	if files := left(t, dir); len(files) != 2 {
		t.Errorf("files = %q, want those of the other two", files)
	}
	for range 2 {
		if err := s.Remove(channels.MustKey("irc:a")); err != nil {
			t.Errorf("Remove = %v", err)
		}
	}
	if err := s.Remove(channels.Key{}); err != nil {
		t.Errorf("Remove of no key = %v", err)
	}
	if files := left(t, dir); len(files) != 1 || !strings.HasSuffix(files[0], b) {
		t.Errorf("files = %q, want %q", files, b)
	}
}

// Names differ between messages, places and channels, and do not depend on
// what may change between two attempts.
func TestName(t *testing.T) {
	m := channels.Inbound{Key: channels.MustKey("irc:a"), ID: "1", Attachments: make([]channels.Attachment, 2)}
	other := m
	other.ID = "2"
	seen := map[string]bool{}
	for _, name := range []string{media.Name(m, 0), media.Name(m, 1), media.Name(other, 0)} {
		if seen[name] {
			t.Errorf("two files are called %q", name)
		}
		seen[name] = true
	}
	m.Text, m.Attachments[0].Name = "edited", "other"
	if !seen[media.Name(m, 0)] {
		t.Error("the name depends on the text")
	}
}

package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/backup"
	"dragoman/sessions"
)

// write makes a backup of a few records with messages of text, and of files.
func write(t *testing.T, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "first", "sub/b.txt": "second", "tmp/c.txt": "half"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub/b.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, "v1", time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	err = w.Records(func(emit func(sessions.Record) error) error {
		for i := range 3 {
			k := channels.MustKey(fmt.Sprintf("net:%d", i))
			err := errors.Join(
				emit(sessions.Record{Conversation: &sessions.ConversationRecord{Key: k, Generations: []sessions.Generation{{}}}}),
				emit(sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{{Seq: 1, Content: text}}}}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = w.Tree(t.Context(), "state/media", dir, "tmp")
	}
	if err == nil {
		err = w.Tree(t.Context(), "workspace", filepath.Join(dir, "not there"), "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if end, err := w.Close(); err != nil || end.Messages != 3 {
		t.Fatalf("Close = %+v, %v", end, err)
	}
	return out.Bytes()
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var keys []string
	head, end, err := backup.Read(bytes.NewReader(write(t, strings.Repeat("x", 3<<20))), backup.Target{
		Record: func(r sessions.Record) error {
			if r.Messages != nil {
				keys = append(keys, r.Messages.Key.String())
			}
			return nil
		},
		Roots: map[string]*os.Root{"state": root},
	})
	if err != nil || head.Version != "v1" {
		t.Fatalf("Read = %+v, %v", head, err)
	}
	want := backup.End{Records: 6, Conversations: 3, Messages: 3, Files: 2, Bytes: 11}
	if end != want {
		t.Errorf("end = %+v, want %+v", end, want)
	}
	if diff := cmp.Diff([]string{"net:0", "net:1", "net:2"}, keys); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"a.txt": "first", "sub/b.txt": "second", "link": "second"} {
		if got, err := os.ReadFile(filepath.Join(dir, "media", name)); err != nil || string(got) != text {
			t.Errorf("%s = %q, %v, want %q", name, got, err, text)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "media", "a.txt")); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode = %v, %v, want 0640", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "media", "tmp")); err == nil {
		t.Error("what was to be skipped is there")
	}
}

// unpacked is the tar file in a backup, or nil.
func unpacked(b []byte) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		return nil
	}
	return text
}

func TestDamageIsFound(t *testing.T) {
	whole := write(t, "no byte of this is said twice in a row")
	for n := 0; n < len(whole); n += max(1, len(whole)/200) {
		if _, _, err := backup.Read(bytes.NewReader(whole[:n]), backup.Target{}); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", n, len(whole))
		}
		if n < 10 {
			continue // gzip's own header, of which not every bit counts
		}
		flipped := bytes.Clone(whole)
		flipped[n] ^= 1
		if bytes.Equal(unpacked(flipped), unpacked(whole)) {
			continue // another way to say the same
		}
		if _, _, err := backup.Read(bytes.NewReader(flipped), backup.Target{}); !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrForeign) {
			t.Errorf("bit flipped at %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// archive packs files as they are.
func archive(t *testing.T, headers ...*tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range headers {
		text := []byte(h.PAXRecords["DRAGOMAN.text"])
		h.PAXRecords = nil
		h.Mode, h.Size = 0o600, int64(len(text))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return &out
}

func file(name, text string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, PAXRecords: map[string]string{"DRAGOMAN.text": text}}
}

// What is neither a file, a folder nor a symbolic link is not restored, and named.
func TestReadNamesWhatItSkips(t *testing.T) {
	odd := func(kind byte, name string) *tar.Header {
		return &tar.Header{Typeflag: kind, Name: name, Linkname: "state/x"}
	}
	in := archive(t, file("dragoman-backup.json", `{"format":1}`), file("state/x", "y"),
		odd(tar.TypeLink, "state/hard"), odd(tar.TypeChar, "workspace/null"), odd(tar.TypeBlock, "state/disk"), odd(tar.TypeFifo, "elsewhere/pipe"), odd(tar.TypeSymlink, "state/soft"),
		file("end.json", `{"files":1,"bytes":1}`))
	to := t.TempDir()
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var got []string
	_, _, err = backup.Read(in, backup.Target{Roots: map[string]*os.Root{"state": root}, Skipped: func(name, what string) { got = append(got, name+": "+what) }})
	want := []string{"state/hard: a hard link", "workspace/null: a device", "state/disk: a device", "elsewhere/pipe: a pipe"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Read = %v and skipped %q, want %q", err, got, want)
	}
	entries, err := os.ReadDir(to)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries were restored, %v; want the file and the symbolic link", len(entries), err)
	}
}

func TestRefusals(t *testing.T) {
	head := func() *tar.Header { return file("dragoman-backup.json", `{"format":1}`) }
	for name, test := range map[string]struct {
		in   *bytes.Buffer
		want string
	}{
		"nothing":        {&bytes.Buffer{}, backup.ErrForeign.Error()},
		"another tar":    {archive(t, file("x", "y")), backup.ErrForeign.Error()},
		"a newer one":    {archive(t, file("dragoman-backup.json", `{"format":2,"version":"v9"}`)), "version v9"},
		"no end":         {archive(t, head()), backup.ErrDamaged.Error()},
		"a wrong count":  {archive(t, head(), file("end.json", `{"records":1}`)), backup.ErrDamaged.Error()},
		"more behind":    {archive(t, head(), file("end.json", `{}`), file("state/x", "y")), backup.ErrDamaged.Error()},
		"a way out":      {archive(t, head(), file("state/../../x", "y")), "has a file called"},
		"an absolute":    {archive(t, head(), file("/etc/x", "y")), "has a file called"},
		"through a link": {archive(t, head(), &tar.Header{Typeflag: tar.TypeSymlink, Name: "state/l", Linkname: "/tmp"}, file("state/l/x", "y")), "escapes"},
		"no record":      {archive(t, head(), file("records/1.jsonl", "{")), backup.ErrDamaged.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			_, _, err = backup.Read(test.in, backup.Target{Roots: map[string]*os.Root{"state": root}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Read = %v, want %q", err, test.want)
			}
		})
	}
}

package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is every name below dir with its mode and content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		all[path] = fmt.Sprintf("%s %q", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// put writes a file and makes its folder, for others to read.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is no store is refused as a source and as a target, and stays as it is
// to the mode, without a file beside it.
func TestMigrateLeavesOtherPlacesAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	everything(t, p.parse("sqlite"))
	everything(t, p.parse("file"))
	user := t.TempDir()
	put(t, filepath.Join(user, "photos/log/today.txt"), "a walk")
	put(t, filepath.Join(user, "photos/archive/one.json"), "{}")
	put(t, filepath.Join(user, "notes.txt"), "notes")
	put(t, filepath.Join(user, "nothing"), "")
	put(t, filepath.Join(user, "draft.migrating/poem.txt"), "roses")
	if err := os.Mkdir(filepath.Join(user, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("empty", filepath.Join(user, "link")); err != nil {
		t.Fatal(err)
	}
	in := func(kind, name string) string { return kind + ":" + filepath.Join(user, name) }
	before, state := tree(t, user), tree(t, p.state(""))
	delete(state, p.state("dragoman.lock"))
	for _, c := range []struct{ from, to, says string }{
		{"file:" + p.state(""), in("sqlite", "x.db"), "there is no store at"},
		{in("file", "photos"), in("sqlite", "x.db"), "there is no store at"},
		{in("file", "empty"), in("sqlite", "x.db"), "there is no store at"},
		{in("file", "notes.txt"), in("sqlite", "x.db"), "not a folder"},
		{in("sqlite", "notes.txt"), in("file", "x"), "there is no store at"},
		{in("sqlite", "nothing"), in("file", "x"), "0 bytes"},
		{in("sqlite", "photos"), in("file", "x"), "not a file"},
		{"sqlite", in("file", "photos"), "not a Dragoman store"},
		{"sqlite", "file:" + user, "not a Dragoman store"},
		{"sqlite", in("file", "notes.txt"), "not a folder"},
		{"sqlite", in("file", "link"), "is a link"},
		{"sqlite", in("file", "draft"), "something else is"},
		{"file", in("sqlite", "notes.txt"), "cannot be opened as a store"},
		{"file", in("sqlite", "nothing"), "cannot be opened as a store"},
		{"file", in("sqlite", "empty"), "cannot be opened as a store"},
		{"file", "sqlite:" + p.state("sessions/inside.db"), "inside the other"},
		{"file", "file:" + p.state("sessions/deep/inside"), "inside the other"},
		{"file", "file:" + filepath.Dir(p.state("")), "inside the other"},
		{"sqlite:" + filepath.Join(user, "x.migrating", "x"), in("sqlite", "x"), "inside the other"},
	} {
		p.refusedMigration(p.parse(c.from), p.parse(c.to), c.says)
	}
	if diff := cmp.Diff(before, tree(t, user)); diff != "" {
		t.Errorf("somebody's files (-before +after):\n%s", diff)
	}
	after := tree(t, p.state(""))
	delete(after, p.state("dragoman.lock"))
	if diff := cmp.Diff(state, after); diff != "" {
		t.Errorf("the state directory (-before +after):\n%s", diff)
	}

	// An empty folder is nobody's.
	if _, err := p.migrate(p.parse("sqlite"), p.parse(in("file", "empty"))); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(lines(t, p.parse("sqlite")), lines(t, p.parse(in("file", "empty")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package plain_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/plain"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// Text removes names of packages, and nothing that only looks like one.
func TestPlain(t *testing.T) {
	notFound := &fs.PathError{Op: "open", Path: "/home/agent: file: notes", Err: errors.New("no such file")}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"nothing":         {nil, ""},
		"a chain":         {fmt.Errorf("app: open the store: %w", fmt.Errorf("sqlite: open: %w", errors.New("disk is full"))), "open the store: open: disk is full"},
		"packages alone":  {fmt.Errorf("app: %w", fmt.Errorf("gateway: %w", errors.New("api: closed"))), "closed"},
		"a name":          {fmt.Errorf("app: read %s: %w", "agent: file: x.json", notFound), "read agent: file: x.json: open /home/agent: file: notes: no such file"},
		"a cause's name":  {fmt.Errorf("app: x: %w", notFound), "x: open /home/agent: file: notes: no such file"},
		"no package":      {errors.New("my file: y"), "my file: y"},
		"two causes":      {fmt.Errorf("file: it is %w: %w", errors.New("damaged"), errors.New("sqlite: app: x")), "it is damaged: app: x"},
		"joined":          {errors.Join(errors.New("app: one"), errors.New("sqlite: two: app: x")), "one\ntwo: app: x"},
		"words behind":    {fmt.Errorf("%w; see sqlite: it", errors.New("app: no")), "no; see sqlite: it"},
		"said twice":      {fmt.Errorf("app: why not x: %w", errors.New("x")), "why not x: x"},
		"a newer version": {fmt.Errorf("file: read a: %w", &sessions.NewerError{Path: "/s/x.json", Has: 7, Knows: 2}), "A newer version of Dragoman wrote /s/x.json (its format is 7, this version knows 2). Nothing was changed. Use that version, or restore a backup."},
		"from afar":       {&ownWords{"app: is no conversation"}, "app: is no conversation"},
		"more than afar":  {fmt.Errorf("%w; use --new", &ownWords{"file: no"}), "file: no; use --new"},
	} {
		if got := plain.Text(test.err); got != test.want {
			t.Errorf("%s: Text(%v) = %q, want %q", name, test.err, got, test.want)
		}
	}
}

// ownWords is an error that says itself what people read.
type ownWords struct{ sentence string }

func (e *ownWords) Error() string { return e.sentence }
func (e *ownWords) Plain() string { return e.sentence }

// TestPackagesAreCurrent: packages.txt lists every package whose errors people may
// read.
func TestPackagesAreCurrent(t *testing.T) {
	names := map[string]bool{}
	for _, root := range []string{"agent", "channels", "heartbeat", "internal", "sessions"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") || strings.Contains(path, "test/") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
			if err == nil {
				names[f.Name.Name] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"main", "testkit", "bench", "crash", "story", "tinymodel"} { // only tests have these
		delete(names, name)
	}
	want := strings.Join(slices.Sorted(maps.Keys(names)), "\n") + "\n"
	got, err := os.ReadFile("packages.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("packages.txt is out of date: run make generate (-want +got):\n%s", cmp.Diff(want, string(got)))
	}
	if err := os.WriteFile("packages.txt", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

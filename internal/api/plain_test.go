package api_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// Plain removes names of packages, and nothing that only looks like one.
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
		"two causes":      {fmt.Errorf("file: it is %w: %w", errors.New("damaged"), errors.New("memory: app: x")), "it is damaged: app: x"},
		"joined":          {errors.Join(errors.New("app: one"), errors.New("sqlite: two: app: x")), "one\ntwo: app: x"},
		"words behind":    {fmt.Errorf("%w; see sqlite: it", errors.New("app: no")), "no; see sqlite: it"},
		"said twice":      {fmt.Errorf("app: why not x: %w", errors.New("x")), "why not x: x"},
		"a newer version": {fmt.Errorf("file: read a: %w", &sessions.NewerError{Path: "/s/x.json", Has: 7, Knows: 2}), "A newer version of Dragoman wrote /s/x.json (its format is 7, this version knows 2). Nothing was changed. Use that version, or restore a backup."},
		"from afar":       {&api.Refusal{Sentence: "app: is no conversation"}, "app: is no conversation"},
		"more than afar":  {fmt.Errorf("%w; use --new", &api.Refusal{Sentence: "file: no"}), "file: no; use --new"},
	} {
		if got := api.Plain(test.err); got != test.want {
			t.Errorf("%s: Plain(%v) = %q, want %q", name, test.err, got, test.want)
		}
	}
}

// TestPlainKnowsAllPackages: packageNames lists every package.
func TestPlainKnowsAllPackages(t *testing.T) {
	seen := map[string]bool{}
	for _, root := range []string{"agent", "channels", "heartbeat", "internal", "sessions"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") || strings.Contains(path, "test/") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly)
			if err == nil {
				seen[f.Name.Name] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range seen {
		switch {
		case strings.HasSuffix(name, "test"), slices.Contains([]string{"main", "testkit", "bench", "crash", "story", "tinymodel"}, name): // only tests have these
		case api.Plain(errors.New(name+": x")) != "x":
			t.Errorf("Plain leaves %q, which is one of our packages", name)
		}
	}
}

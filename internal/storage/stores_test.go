package storage

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// TestStoreTypes: stores with files in the state directory have look and newer, and the
// others have check and restore.
func TestStoreTypes(t *testing.T) {
	for name, s := range storeTypes {
		place := s.name != ""
		for what, ok := range map[string]bool{
			"open": s.open != nil, "look": (s.look != nil) == place, "newer": (s.newer != nil) == place,
			"check": (s.check == nil) == place, "restore": (s.restore == nil) == place,
		} {
			if !ok {
				t.Errorf("%s: with the name %q, %s is wrong", name, s.name, what)
			}
		}
	}
}

// TestTypeWithoutAFile: nothing looks for a file of such a store in the state directory.
func TestTypeWithoutAFile(t *testing.T) {
	asked, far := errors.New("asked"), filepath.Join(t.TempDir(), "far.db")
	storeTypes["far"] = storeType{
		open: func(ctx context.Context, _ Location, _ *slog.Logger) (*engine.Store, error) {
			return sqlite.Open(ctx, far, sqlite.Options{})
		},
		check: func(context.Context, Location) error { return asked },
		restore: func(_ context.Context, old *engine.Store, _ bool) (*restoring, error) {
			return nil, errors.Join(asked, old.Close())
		},
	}
	t.Cleanup(func() { delete(storeTypes, "far") })
	cfg := &config.Config{StateDir: t.TempDir(), Workspace: t.TempDir(), Store: config.Store{Type: "far"}}
	if err := Check(t.Context(), cfg); !errors.Is(err, asked) {
		t.Errorf("Check = %v, want %v", err, asked)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "backup"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := backup.NewWriter(file, "test", time.Now())
	if err == nil {
		err = w.Records(func(emit func(sessions.Record) error) error {
			return emit(sessions.Record{Store: &sessions.StoreRecord{}})
		})
	}
	if err == nil {
		_, err = w.Close()
	}
	if err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), cfg, Caller{}, file, RestoreOptions{}, nil); !errors.Is(err, asked) {
		t.Errorf("Restore = %v, want %v", err, asked)
	}
	if p, err := ParseLocation("far:/x", cfg.StateDir); err == nil {
		t.Errorf("ParseLocation = %v with a path", p)
	}
	for _, way := range []struct{ from, to, refused string }{
		{"far", "sqlite", ""},
		{"sqlite", "far", ""},
		{"far", "far", "to itself"},
		{"far", "postgres", "to another type without files"},
	} {
		from, err := ParseLocation(way.from, cfg.StateDir)
		to, err2 := ParseLocation(way.to, cfg.StateDir)
		if err = errors.Join(err, err2); err == nil {
			_, err = Migrate(t.Context(), cfg, from, to, Caller{}, nil)
		}
		if way.refused == "" && err != nil || way.refused != "" && (err == nil || !strings.Contains(err.Error(), way.refused)) {
			t.Errorf("from %s to %s: %v, want %q", way.from, way.to, err, way.refused)
		}
	}
}

// TestStoreTypesAreNamed: the configuration, this package, the docs and the help name
// the same types of store.
func TestStoreTypesAreNamed(t *testing.T) {
	var files []string
	for name, s := range storeTypes {
		if s.name != "" {
			files = append(files, name)
		}
	}
	for what, lists := range map[string][2][]string{
		"storeTypes":                {config.StoreTypes, slices.Collect(maps.Keys(storeTypes))},
		"storeTypes with own files": {config.FileStores, files},
	} {
		if want, got := slices.Sorted(slices.Values(lists[0])), slices.Sorted(slices.Values(lists[1])); !slices.Equal(got, want) {
			t.Errorf("%s are %q, the configuration has %q", what, got, want)
		}
	}
	for page, section := range map[string]string{
		"config.example.yaml": "\nstore:\n", "docs/configuration.md": "### `store`", "docs/sessions.md": "## Where it is kept",
		"docs/internals/architecture.md": "\nsessions/engine", "cmd/dragoman/migrate.go": "The store to copy:",
	} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), section)
		for _, name := range config.StoreTypes {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(after[:min(len(after), 2000)]) {
				t.Errorf("%s does not mention the store %s after %q", page, name, section)
			}
		}
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/exchange"
	"dragoman/sessions/file"
	"dragoman/sessions/sqlite"
	"dragoman/sessions/storetest"
)

// at opens the store at a place of the tests' own.
func at(t *testing.T, p storage.Location) *engine.Store {
	t.Helper()
	var s *engine.Store
	var err error
	switch p.Type {
	case "sqlite":
		s, err = sqlite.Open(t.Context(), p.Path, sqlite.Options{})
	case "file":
		s, err = file.Open(t.Context(), p.Path, file.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines are the records of the store at p.
func lines(t *testing.T, p storage.Location) []string {
	t.Helper()
	s := at(t, p)
	defer s.Close()
	return dumpOf(t, s)
}

func dumpOf(t *testing.T, s *engine.Store) (all []string) {
	t.Helper()
	err := s.Dump(t.Context(), nil, func(r sessions.Record) error {
		b, err := json.Marshal(r)
		all = append(all, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parse is ParseLocation in p's state directory.
func (p *place) parse(text string) storage.Location {
	p.t.Helper()
	got, err := storage.ParseLocation(text, p.state(""))
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

func (p *place) migrate(from, to storage.Location) (storage.Migrated, error) {
	return storage.Migrate(p.t.Context(), p.config(), from, to, storage.Caller{}, nil)
}

// refusedMigration is what a migration says that must not happen.
func (p *place) refusedMigration(from, to storage.Location, words ...string) {
	p.t.Helper()
	_, err := p.migrate(from, to)
	if err == nil {
		p.t.Fatalf("Migrate(%s, %s) = nil, want an error", from, to)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			p.t.Errorf("Migrate(%s, %s) says %q, want %q in it", from, to, err, w)
		}
	}
}

// everything fills the store at p.
func everything(t *testing.T, p storage.Location) []string {
	t.Helper()
	s := at(t, p)
	storetest.Fill(t, s)
	all := dumpOf(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func gone(t *testing.T, path string) {
	t.Helper()
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// From a database to documents and back, in the places that the daemon knows.
func TestCase48MigrateToFileAndBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	first := everything(t, p.parse("sqlite"))
	if _, err := p.migrate(p.parse("sqlite"), p.parse("file")); err != nil {
		t.Fatal(err)
	}
	back := p.parse("sqlite:" + p.state("back.db"))
	if _, err := p.migrate(p.parse("file"), back); err != nil {
		t.Fatal(err)
	}
	for _, place := range []storage.Location{p.parse("file"), back} {
		if diff := cmp.Diff(first, lines(t, place)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", place, diff)
		}
	}
}

// There and back through stores of each kind nothing changes.
func TestCase48MoveThereAndBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	first := everything(t, p.parse("sqlite"))
	from := at(t, p.parse("sqlite"))
	defer from.Close()
	for i, kind := range []string{"file", "sqlite", "file"} {
		next := at(t, storage.Location{Type: kind, Path: p.state(fmt.Sprint("step", i))})
		defer next.Close()
		if _, err := exchange.Move(t.Context(), from, next, nil); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if diff := cmp.Diff(first, dumpOf(t, next)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		from = next
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	from, to := p.parse("sqlite"), p.parse("sqlite:"+p.state("other/copy.db"))
	first := everything(t, from)
	// What an earlier one left is no hindrance.
	if err := os.MkdirAll(to.Path+".migrating", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"copy.db", "copy.db-wal", "copy.db.lock", "dragoman.lock"} {
		if err := os.WriteFile(filepath.Join(to.Path+".migrating", name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := p.migrate(from, to)
	if err != nil || m.Messages == 0 || m.Aside != "" || !m.Again {
		t.Fatalf("Migrate = %+v, %v", m, err)
	}
	gone(t, to.Path+".migrating")
	for _, place := range []storage.Location{from, to} {
		if diff := cmp.Diff(first, lines(t, place)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", place, diff)
		}
	}
	if info, err := os.Stat(to.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("Stat = %v, %v", info.Mode(), err)
	}
	// A second time it is in the way, and stays as it is.
	p.refusedMigration(from, to, "not empty", "252 messages", "Move it away", "--to sqlite:PATH")
	if diff := cmp.Diff(first, lines(t, to)); diff != "" {
		t.Errorf("after a refusal (-want +got):\n%s", diff)
	}
	p.opens()
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	from := p.parse("sqlite")
	p.refusedMigration(from, p.parse("sqlite:"+p.state("x.db")), "there is no store at "+from.Path)
	if _, err := os.Stat(from.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store was made: %v", err)
	}
	everything(t, from)
	p.refusedMigration(from, from, "to itself")
	notes := p.parse("sqlite:" + p.state("notes.txt"))
	if err := os.WriteFile(notes.Path, []byte(strings.Repeat("somebody's notes\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.refusedMigration(from, notes, "cannot be opened as a store", "move it away")
	p.refusedMigration(notes, p.parse("sqlite:"+p.state("x.db")), "damaged")
	gone(t, p.state("x.db.migrating"))

	r := p.run()
	p.refusedMigration(from, p.parse("sqlite:"+p.state("x.db")), "a daemon is using", "stop it first")
	r.stop()

	for _, text := range []string{"", "mysql", "sqlte:/x", "memory", ":/x"} {
		if got, err := storage.ParseLocation(text, "/state"); err == nil {
			t.Errorf("ParseLocation(%q) = %v", text, got)
		}
	}
}

// A store that was only ever opened is in nobody's way, and is kept all the
// same.
func TestMigrateOverAnEmptyStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	from, to := p.parse("sqlite:"+p.state("old.db")), p.parse("sqlite")
	first := everything(t, from)
	for i := range 2 {
		if err := at(t, to).Close(); err != nil {
			t.Fatal(err)
		}
		m, err := p.migrate(from, to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(m.Aside); err != nil || i == 1 != strings.HasSuffix(m.Aside, "-2") {
			t.Errorf("Aside = %q, %v", m.Aside, err)
		}
		if diff := cmp.Diff(first, lines(t, to)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := os.Remove(to.Path); err != nil {
			t.Fatal(err)
		}
	}
}

// Ctrl-C leaves nothing behind.
func TestMigrateCancelled(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	from, to := p.parse("sqlite"), p.parse("sqlite:"+p.state("x.db"))
	everything(t, from)
	for _, step := range []exchange.Step{exchange.Counting, exchange.Copying} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := storage.Migrate(ctx, p.config(), from, to, storage.Caller{}, func(now exchange.Progress) {
			if now.Step == step {
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Migrate, cancelled while %s = %v", step, err)
		}
		gone(t, to.Path)
	}
}

func TestAdvice(t *testing.T) {
	p := newPlace(t, "store: {type: file}")
	if got := p.parse("sqlite").Advice(p.config()); !strings.Contains(got, "store: {type: sqlite}") || strings.Contains(got, "Move the copy there") {
		t.Errorf("Advice = %q", got)
	}
	if got := p.parse("sqlite:/elsewhere.db").Advice(p.config()); !strings.Contains(got, "expects its store of type sqlite at "+p.state("dragoman.db")+".\nMove the copy there first") {
		t.Errorf("Advice = %q", got)
	}
	p.write("")
	if got := p.parse("sqlite").Advice(p.config()); !strings.Contains(got, "already") {
		t.Errorf("Advice = %q", got)
	}
}

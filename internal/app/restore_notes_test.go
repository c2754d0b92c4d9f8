package app_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/sqlite"
)

// A restore leaves out tokens and pending approvals, and keeps all other notes and counts.
// With KeepTokens it keeps all. An import into a store always leaves them out.
func TestRestoreLeavesOutTokens(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.run().stop()
	fillNotes(t, p.state("dragoman.db"))
	admin, release, err := app.Admin(t.Context(), p.config(), storage.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err = storage.Backup(t.Context(), p.config(), admin, storage.Caller{}, &out, nil); err != nil {
		t.Fatal(err)
	}
	release()
	file := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		keep  bool
		left  int
		notes []string
	}{
		{false, 3, []string{"approval decided", "stickers gold"}},
		{true, 0, []string{"approval decided", "approval pending", "leaving person", "stickers gold", "token laptop"}},
	} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		other := newPlace(t, "")
		got, err := storage.Restore(t.Context(), other.config(), storage.Caller{}, f, storage.RestoreOptions{KeepTokens: test.keep}, func(exchange.Progress) {})
		if err != nil || got.Secrets != test.left {
			t.Fatalf("Restore = %+v, %v, want %d left out", got, err, test.left)
		}
		if notes := notesIn(t, other.config()); !slices.Equal(notes, test.notes) {
			t.Errorf("with KeepTokens %v the notes are %q, want %q", test.keep, notes, test.notes)
		}
	}
}

// An import into a running store never brings tokens: whoever made the file would have one.
func TestImportLeavesOutTokens(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.run().stop()
	admin, release, err := app.Admin(t.Context(), p.config(), storage.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	list := []sessions.Record{
		{Note: &sessions.Note{Kind: "token", Owner: "operator", Name: "mine"}},
		{Note: &sessions.Note{Kind: "stickers", Owner: "x:1", Name: "gold"}},
	}
	got, err := admin.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(list) == 0 {
			return r, io.EOF
		}
		r = list[0]
		list = list[1:]
		return r, nil
	})
	release()
	if err != nil || got.Others != 1 {
		t.Fatalf("Restore = %+v, %v, want one new record", got, err)
	}
	if notes := notesIn(t, p.config()); !slices.Equal(notes, []string{"stickers gold"}) {
		t.Errorf("the notes are %q, want the sticker alone", notes)
	}
}

// fillNotes puts secret and other notes into the store at path.
func fillNotes(t *testing.T, path string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, list := range map[string][]sessions.Note{
		"token":    {{Name: "laptop"}},
		"approval": {{Name: "pending", Due: time.Now().Add(time.Hour)}, {Name: "decided"}},
		"leaving":  {{Name: "person", Due: time.Now().Add(time.Hour)}},
		"stickers": {{Name: "gold", Due: time.Now().Add(time.Hour)}},
	} {
		err = errors.Join(err, s.ChangeNotes(t.Context(), kind, "x:1", func([]sessions.Note) ([]sessions.Note, []string, error) { return list, nil, nil }))
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// notesIn lists the notes of the store of a configuration, without those that a daemon
// writes of itself when it stops.
func notesIn(t *testing.T, cfg *config.Config) (list []string) {
	t.Helper()
	admin, release, err := app.Admin(t.Context(), cfg, storage.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	err = admin.Dump(t.Context(), nil, func(r sessions.Record) error {
		if r.Note != nil && r.Note.Kind != "channel-day" {
			list = append(list, r.Note.Kind+" "+r.Note.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

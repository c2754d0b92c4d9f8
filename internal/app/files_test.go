package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/internal/app"
	"dragoman/sessions"
)

// A conversation's files go with it, with and without a daemon, and also when
// a crash has left nothing but them.
func TestDeleteRemovesFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	place := func(folder string) string {
		dir := filepath.Join(p.config().StateDir, "media", folder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "aaaaaaaaaaaaaaaa.jpg")
		if err := os.WriteFile(name, []byte("a picture"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	remove := func(when, key string) {
		t.Helper()
		c, release, err := app.Admin(t.Context(), p.config(), "v-test")
		if err != nil {
			t.Fatalf("%s: Admin = %v", when, err)
		}
		defer release()
		if err := c.Delete(t.Context(), channels.MustKey(key)); err != nil && !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s: Delete = %v", when, err)
		}
	}
	gone := func(when, name string, want bool) {
		t.Helper()
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) != want {
			t.Errorf("%s: Stat(%s) = %v, want gone = %v", when, filepath.Base(filepath.Dir(name)), err, want)
		}
	}
	kitchen, hall := place("web_kitchen"), place("web_hall")
	r := p.run()
	r.ask(r.page("kitchen"), "good morning")
	remove("with a daemon", "web:kitchen")
	gone("with a daemon", kitchen, true)
	gone("with a daemon", hall, false)
	r.stop()
	remove("without a daemon", "web:hall")
	gone("without a daemon", hall, true)
}

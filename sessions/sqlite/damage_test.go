package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// said makes a closed store with a few conversations.
func said(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	for i := range 200 {
		e := entry(fmt.Sprintf("x:%d", i%5), fmt.Sprint(i), strings.Repeat("some words ", 50))
		e.Answered = true
		e.Append = []sessions.Message{{Role: sessions.RoleUser, Content: e.Inbound.Text}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCase42Damage: a damaged file is refused with a sentence, and no byte of it changes.
func TestCase42Damage(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(t *testing.T, path string)
		want string
	}{
		"empty file":     {func(t *testing.T, p string) { truncate(t, p, 0) }, "damaged: it holds only 0 bytes"},
		"half a header":  {func(t *testing.T, p string) { truncate(t, p, 50) }, "damaged: it holds only 50 bytes"},
		"cut in half":    {func(t *testing.T, p string) { truncate(t, p, size(t, p)/2) }, "damaged: it holds "},
		"last page gone": {func(t *testing.T, p string) { truncate(t, p, size(t, p)-4096) }, "damaged: it holds "},
		"garbage header": {func(t *testing.T, p string) { scribble(t, p, 0, 64) }, "damaged: it does not begin like"},
		"garbage schema": {func(t *testing.T, p string) { scribble(t, p, 100, 3900) }, "damaged"},
		"not a database": {func(t *testing.T, p string) { write(t, p, strings.Repeat("hello, this is a text\n", 500)) }, "damaged: it does not begin like"},
		"another program": {func(t *testing.T, p string) {
			execute(t, p, `PRAGMA journal_mode = DELETE`, `PRAGMA application_id = 7`)
		}, "another program"},
		"newer schema":    {func(t *testing.T, p string) { execute(t, p, `PRAGMA user_version = 99`) }, "newer version"},
		"former schema":   {func(t *testing.T, p string) { execute(t, p, `PRAGMA user_version = 1`) }, "opens schemas 2 and 3 only"},
		"a table is gone": {func(t *testing.T, p string) { execute(t, p, `DROP TABLE messages`) }, "damaged: its tables are not complete"},
	} {
		t.Run(name, func(t *testing.T) {
			path := said(t)
			test.harm(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				_ = s.Close()
				t.Fatal("Open took it")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open = %v, want %q in it", err, test.want)
			}
			const newer = "newer version"
			if err := sqlite.Newer(path); (test.want == newer) != (err != nil && strings.Contains(err.Error(), newer)) {
				t.Errorf("Newer = %v, want %t", err, test.want == newer)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Error("Open changed the file")
			}
		})
	}
}

// TestCase42LeftInTheLog: the program and the version of a file may be in its log alone,
// where a dead process has left them.
func TestCase42LeftInTheLog(t *testing.T) {
	for query, want := range map[string]string{
		`PRAGMA application_id = 7`: "another program",
		`PRAGMA user_version = 99`:  "newer version",
	} {
		t.Run(want, func(t *testing.T) {
			path := said(t)
			before := leave(t, path, query)
			if err := sqlite.Newer(path); err != nil {
				t.Errorf("Newer = %v, although the file says nothing yet", err)
			}
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				_ = s.Close()
				t.Fatal("Open took it")
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Open = %v, want %q in it", err, want)
			}
			for name, data := range before {
				if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, data) {
					t.Errorf("Open changed %s, %v", filepath.Base(name), err)
				}
			}
		})
	}
}

// leave makes the files of a process that ran query and died: the change is in the log
// alone. It returns both files.
func leave(t *testing.T, path, query string) (left map[string][]byte) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
	left = map[string][]byte{path: nil, path + "-wal": nil}
	for name := range left {
		if left[name], err = os.ReadFile(name); err != nil || len(left[name]) == 0 {
			t.Fatalf("%d bytes in %s, %v", len(left[name]), name, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range left {
		write(t, name, string(data))
	}
	return left
}

// TestCase42DamagedPages: the method that meets damage that Open cannot see returns an
// error, and other conversations still work.
func TestCase42DamagedPages(t *testing.T) {
	path := said(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	harmed := 0
	for at := 4096; at+4096 <= len(data); at += 4096 {
		// Table leaves that hold the text.
		if page := data[at : at+4096]; page[0] == 0x0d && bytes.Count(page, []byte("some words")) > 40 {
			scribble(t, path, int64(at), 200)
			harmed++
		}
	}
	if harmed == 0 {
		t.Fatal("no page to harm")
	}
	s := openFile(t, path, sqlite.Options{})
	told := false
	for i := range 5 {
		_, err := s.Messages(t.Context(), channels.MustKey(fmt.Sprintf("x:%d", i)), 0, 100)
		told = told || err != nil && strings.Contains(err.Error(), "damaged")
	}
	if !told {
		t.Errorf("%d pages are garbage and nothing was said", harmed)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func truncate(t *testing.T, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func scribble(t *testing.T, path string, at int64, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5, 0x3c, 0x77}, n/3+1)[:n], at); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, query := range queries {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
}

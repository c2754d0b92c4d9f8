package pgtest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dragoman/internal/testkit"
)

// need finds a program of PostgreSQL's: Debian puts them where no PATH leads.
// DRAGOMAN_PG asks for that version, of Debian's or of those that .ci/npm
// installs.
func need(t testing.TB, name string) string {
	t.Helper()
	version := os.Getenv("DRAGOMAN_PG")
	found, _ := filepath.Glob("/usr/lib/postgresql/" + cmp.Or(version, "*") + "/bin/" + name)
	if len(found) == 0 && version != "" {
		found, _ = filepath.Glob("../../.cache/postgres/node_modules/" + version + "/native/bin/" + name)
	}
	switch {
	case len(found) == 0 && version != "":
		t.Fatalf("PostgreSQL %s is not installed: run .ci/npm postgres", version)
	case len(found) == 0:
		return testkit.Need(t, name)
	}
	path, err := filepath.Abs(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Options are those of a server that a test has for itself.
type Options struct {
	// Init are more arguments of initdb, and Settings lines of the configuration.
	Init, Settings []string
	// Files are put into the folder of its data, each under its name.
	Files map[string]string
}

// Server is one that a test has for itself.
type Server struct{ *server }

// New begins a server of its own for t, which ends it.
func New(t testing.TB, o Options) Server {
	t.Helper()
	s := Server{begin(t, o)}
	t.Cleanup(s.stop)
	return s
}

// URL is that of the database called name.
func (s Server) URL(name string) string { return s.url(name) }

// Do runs a statement in the database called name.
func (s Server) Do(t testing.TB, name, query string) {
	t.Helper()
	if err := s.do(name, query); err != nil {
		t.Fatal(err)
	}
}

// Restart ends the server, puts files into the folder of its data, and starts it.
func (s Server) Restart(t testing.TB, files map[string]string) {
	t.Helper()
	s.end()
	if err := errors.Join(s.write(files), s.launch(t)); err != nil {
		t.Fatal(err)
	}
}

// Files are those of the server that have text in them.
func (s Server) Files(t testing.TB, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(s.data(), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server is at work
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = append(found, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// begin makes a cluster and starts its server.
func begin(t testing.TB, o Options) *server {
	t.Helper()
	initdb := need(t, "initdb")
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{process: process{dir: dir}, port: testkit.FreePort(t), free: map[string][]string{}}
	err = own(dir)
	if err == nil {
		args := append([]string{"-D", s.data(), "-U", "dragoman", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}, o.Init...)
		var out []byte
		if out, err = s.command(t, initdb, args...).CombinedOutput(); err != nil {
			err = fmt.Errorf("pgtest: initdb: %w: %s", err, out)
		}
	}
	if err == nil {
		err = s.write(o.Files)
	}
	if err == nil {
		s.settings = o.Settings
		err = s.launch(t)
	}
	if err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	return s
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// write puts files into the folder of the data. The server reads them alone.
func (s *server) write(files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(s.data(), name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), own(path)); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the server.
func (s *server) launch(t testing.TB) error {
	settings := append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "full_page_writes=off", "max_connections=200",
		"shared_buffers=64MB", "autovacuum_naptime=5s", "log_min_messages=fatal", "jit=off", "max_wal_size=2GB",
	}, s.settings...)
	args := []string{need(t, "postgres"), "-D", s.data(), "-p", fmt.Sprint(s.port)}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return s.background(t, args, func() bool { return s.answers() })
}

// answers reports whether the server takes connections, even if it refuses this
// one.
func (s *server) answers() bool {
	err := s.do("postgres", "SELECT 1")
	var refused *pgconn.PgError
	return err == nil || errors.As(err, &refused) && refused.Code != "57P03" // it starts
}

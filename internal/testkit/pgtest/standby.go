package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// Crash stops the server as a machine does that loses its power, but for the
// disk: what it wrote is there.
func (s Server) Crash() { s.end() }

// Start starts a server that has crashed. It does not wait for a standby.
func (s Server) Start(t testing.TB) {
	t.Helper()
	if err := s.launch(t); err != nil {
		t.Fatal(err)
	}
}

// Port is where it listens on the loopback.
func (s Server) Port() int { return s.port }

// Standby makes from into a synchronous standby of s and starts it; nil is a new
// one. From now on each commit of s waits for it.
func (s Server) Standby(t testing.TB, from *Server) Server {
	t.Helper()
	if from == nil {
		dir, err := os.MkdirTemp("", "pgtest")
		if err == nil {
			err = own(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		from = &Server{&server{process: process{dir: dir}, port: testkit.FreePort(t), settings: s.settings}}
		t.Cleanup(from.stop)
	}
	err := os.RemoveAll(from.data())
	if err == nil {
		var out []byte
		source := fmt.Sprintf("postgres://dragoman@127.0.0.1:%d/postgres?application_name=standby", s.port)
		if out, err = from.command(t, need(t, "pg_basebackup"), "-d", source, "-D", from.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput(); err != nil {
			err = fmt.Errorf("pgtest: pg_basebackup: %w: %s", err, out)
		}
	}
	if err == nil {
		err = from.launch(t)
	}
	if err = errors.Join(err, s.Synchronous("*")); err != nil {
		t.Fatal(err)
	}
	return *from
}

// Synchronous says which standbys each commit waits for.
func (s Server) Synchronous(names string) error {
	return errors.Join(s.do("postgres", "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'"), s.do("postgres", "SELECT pg_reload_conf()"))
}

// Promote makes a standby into a server that is written to, which has no standby.
func (s Server) Promote(t testing.TB) {
	t.Helper()
	err := s.do("postgres", "SELECT pg_promote()")
	if err == nil && !testkit.Poll(patience, func() bool { return s.Synchronous("") == nil }) {
		err = errors.New("pgtest: the standby cannot be written to")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// PID is that of the server's first process.
func (s Server) PID() int {
	text, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

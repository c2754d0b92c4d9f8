// Package pgtest runs a real PostgreSQL on the loopback for tests: one server for
// all tests of a package, without root's rights, and a database for each test.
//
// The server begins with the first [Database] and ends with [Stop], which TestMain
// calls, or with the process, however that dies. Nothing in it is durable: it
// calls no fsync.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/internal/testkit"
)

// patience is how long a server may take to start on a busy machine.
const patience = time.Minute

// server is a running one.
type server struct {
	port int
	dir  string
	cmd  *exec.Cmd
	hold io.Closer // closed, it ends
	made int
	free map[string][]string // databases by their template
}

var (
	mu      sync.Mutex
	running *server
)

// Database hands out a database that is a copy of the one called template, or an
// empty one, and returns its url. At the end of the test clean is run in it, and
// another test gets it: to copy one takes longer than most tests. Without clean
// it is dropped. Without the program the test is skipped, or fails in CI.
func Database(t testing.TB, template, clean string) string {
	t.Helper()
	s := start(t)
	name := s.database(t, template, clean != "")
	t.Cleanup(func() {
		if clean == "" {
			clean = "DROP DATABASE " + name + " WITH (FORCE)"
			if err := s.do("postgres", clean); err != nil {
				t.Error(err)
			}
			return
		}
		if err := s.do(name, clean); err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		s.free[template] = append(s.free[template], name)
	})
	return s.url(name)
}

// database takes a free copy of template, or makes one.
func (s *server) database(t testing.TB, template string, any bool) (name string) {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if list := s.free[template]; any && len(list) > 0 {
		s.free[template] = list[:len(list)-1]
		return list[len(list)-1]
	}
	s.made++
	name = fmt.Sprintf("test%d", s.made)
	create := "CREATE DATABASE " + name
	if template != "" {
		create += " TEMPLATE " + template
	}
	if err := s.do("postgres", create); err != nil {
		t.Fatal(err)
	}
	return name
}

// Template makes an empty database that lasts as long as the server, and returns
// its url. It does nothing if it is there.
func Template(t testing.TB, name string) (url string, fresh bool) {
	t.Helper()
	s := start(t)
	return s.url(name), s.do("postgres", "CREATE DATABASE "+name) == nil
}

// Do runs a statement in the database at url.
func Do(ctx context.Context, url, query string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

func (s *server) do(database, query string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := Do(ctx, s.url(database), query); err != nil {
		return fmt.Errorf("pgtest: %s: %w", query, err)
	}
	return nil
}

// url has a password that no log may show. The server asks for none.
func (s *server) url(name string) string {
	return fmt.Sprintf("postgres://dragoman:%s@127.0.0.1:%d/%s?sslmode=disable", Password, s.port, name)
}

// Password is the one in each url.
const Password = "s3cr3t-pgtest"

// Stop ends the server, if there is one.
func Stop() {
	mu.Lock()
	defer mu.Unlock()
	if running != nil {
		running.stop()
		running = nil
	}
}

func (s *server) stop() {
	s.hold.Close()
	_ = s.cmd.Wait() // it was killed
	os.RemoveAll(s.dir)
}

// start begins the server, if that has not happened.
func start(t testing.TB) *server {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if running != nil {
		return running
	}
	initdb, postgres := need(t, "initdb"), need(t, "postgres")
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{dir: dir, port: freePort(t), free: map[string][]string{}}
	if err := s.run(t, initdb, postgres); err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	running = s
	return s
}

// need finds a program of PostgreSQL's: Debian puts them where no PATH leads.
func need(t testing.TB, name string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	return testkit.Need(t, name)
}

// run makes a cluster and starts its server as nobody, since both refuse to be
// root. The server ends when its standard input does, which is when this process
// closes it or dies.
func (s *server) run(t testing.TB, initdb, postgres string) error {
	data := filepath.Join(s.dir, "data")
	if os.Getuid() == 0 {
		if err := os.Chown(s.dir, nobody, nobody); err != nil {
			return err
		}
	}
	out, err := s.command(t, initdb, "-D", data, "-U", "dragoman", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgtest: initdb: %w: %s", err, out)
	}
	const script = `"$0" "$@" & server=$!; cat >/dev/null; kill -QUIT $server; wait $server`
	s.cmd = s.command(t, "/bin/sh", "-c", script, postgres, "-D", data, "-p", fmt.Sprint(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "shared_buffers=64MB",
		"-c", "autovacuum_naptime=5s", "-c", "log_min_messages=fatal", "-c", "jit=off", "-c", "max_wal_size=2GB")
	said, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer said.Close()
	s.cmd.Stderr = said
	if s.hold, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	if !testkit.Poll(patience, func() bool { return s.do("postgres", "SELECT 1") == nil }) {
		text, _ := os.ReadFile(said.Name())
		s.stop()
		return fmt.Errorf("pgtest: the server does not start: %s", text)
	}
	return nil
}

// nobody is Debian's user of that name, and its group.
const nobody = 65534

func (s *server) command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=nobody", "--regid=nogroup", "--clear-groups", program}, args...)
		program = testkit.Need(t, "setpriv")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "TZ=UTC")
	return cmd
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

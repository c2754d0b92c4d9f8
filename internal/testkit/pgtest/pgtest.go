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
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// server is a running one.
type server struct {
	process
	port     int
	settings []string
	made     int
	free     map[string][]string // databases by their template
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

// start begins the server, if that has not happened.
func start(t testing.TB) *server {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if running == nil {
		running = begin(t, Options{})
	}
	return running
}

package media_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"dragoman/channels"
	"dragoman/internal/media"
	"dragoman/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// opener opens another store on the same files, as another node does.
type opener func(o media.Options) *media.Store

// backends are openers for stores in all backends.
func backends(t *testing.T) map[string]opener {
	dir := t.TempDir()
	return map[string]opener{
		"folder":   func(o media.Options) *media.Store { o.Shared = true; return open(t, dir, o) },
		"postgres": inPostgres(t, pgtest.Database(t, "", ""), nil),
		"bucket":   inPostgres(t, pgtest.Database(t, "", ""), bucket(t)),
	}
}

func inPostgres(t *testing.T, url string, b *media.Bucket) opener {
	return func(o media.Options) *media.Store {
		t.Helper()
		s, err := media.OpenPostgres(t.Context(), database(t, url), b, b != nil, t.TempDir(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

func database(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(2)
	return db
}

// bucket is on a small server, or on the real one that DRAGOMAN_TEST_BUCKET
// names: URL KEY SECRET.
func bucket(t *testing.T) *media.Bucket {
	if real := strings.Fields(os.Getenv("DRAGOMAN_TEST_BUCKET")); len(real) == 3 {
		return &media.Bucket{URL: real[0], AccessKey: real[1], SecretKey: real[2]}
	}
	var mu sync.Mutex
	objects := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		object, found := objects[r.URL.Path]
		switch {
		case r.Method == http.MethodPut:
			objects[r.URL.Path] = body
		case !found:
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodDelete:
			delete(objects, r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
		default:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(object))
		}
	}))
	t.Cleanup(func() {
		server.Close()
		for name := range objects {
			t.Errorf("%s is left in the bucket", name)
		}
	})
	return &media.Bucket{URL: server.URL + "/bucket", AccessKey: "a", SecretKey: "s"}
}

// What one node keeps, another reads, moves and removes, wherever files are.
func TestBackends(t *testing.T) {
	for name, open := range backends(t) {
		t.Run(name, func(t *testing.T) {
			a, b := open(media.Options{MaxTotal: 4 << 20}), open(media.Options{MaxTotal: 4 << 20})
			big := make([]byte, 1<<20+17)
			_, _ = rand.Read(big)
			k := channels.MustKey("irc:#Go")
			file := keep(t, a, "irc:#Go", "1", string(big)).File
			if got := read(t, b, file); got != string(big) {
				t.Fatalf("another node reads %d other bytes, want %d", len(got), len(big))
			}
			for _, off := range []int64{0, 1, 256<<10 - 1, 1 << 20, int64(len(big)), 2 << 20} {
				p := make([]byte, 300<<10)
				n, size, err := b.ReadPart(k, file, p, off)
				want := big[min(off, int64(len(big))):]
				want = want[:min(len(want), len(p))]
				if err != nil || size != int64(len(big)) || !bytes.Equal(p[:n], want) {
					t.Errorf("ReadPart at %d = %d bytes of %d, %v, want %d", off, n, size, err, len(want))
				}
			}
			asked := false
			_, err := b.Keep(t.Context(), message("irc:#Go", "1", channels.Attachment{}), 0, func(context.Context, io.Writer) error { asked = true; return nil })
			if err != nil || asked {
				t.Errorf("Keep of what another node has = %v, asked the network: %v", err, asked)
			}
			if a := keep(t, b, "irc:#Go", "2", strings.Repeat("x", 3<<20)); a.File != "" {
				t.Errorf("Keep past the limit = %+v", a)
			}
			ref, _, err := a.Put(t.Context(), strings.NewReader("of the page"))
			if err != nil {
				t.Fatal(err)
			}
			sent, err := b.Keep(t.Context(), message("web:default", "3", channels.Attachment{Ref: ref}), 0, nil)
			if err != nil || read(t, a, sent.File) != "of the page" {
				t.Errorf("Keep of an upload = %+v, %v", sent, err)
			}
			to := channels.MustKey("irc:#Rust")
			if err := errors.Join(a.Share(k, to), b.Share(k, to), b.Join(k, to)); err != nil {
				t.Fatal(err)
			}
			if got := read(t, a, file); got != string(big) {
				t.Error("a joined file is another")
			}
			if removed, err := a.RemoveFiles([]string{file, "irc_b/aaaaaaaaaaaaaaaa.txt"}); err != nil || len(removed) != 1 {
				t.Errorf("RemoveFiles = %q, %v", removed, err)
			}
			if _, err := b.Open(file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Open of what another node removed = %v", err)
			}
			if err := b.Remove(channels.MustKey("web:default")); err != nil {
				t.Error(err)
			}
			if names, err := b.Names(); err != nil || len(names) != 0 {
				t.Errorf("left are %q, %v", names, err)
			}
		})
	}
}

// Either of the two names of a shared file may be removed. Sharing twice changes nothing.
func TestBackendsShare(t *testing.T) {
	for name, open := range backends(t) {
		t.Run(name, func(t *testing.T) {
			s := open(media.Options{})
			from, to := channels.MustKey("irc:a"), channels.MustKey("irc:b")
			file := keep(t, s, "irc:a", "1", "x").File
			if err := errors.Join(s.Share(from, to), s.Share(from, to), s.Remove(from)); err != nil {
				t.Fatal(err)
			}
			if got := read(t, s, file); got != "x" {
				t.Errorf("the other name reads %q", got)
			}
			old := time.Now().Add(time.Hour)
			l := &ledger{files: map[string][]string{"irc:b": {file}}}
			for _, then := range []time.Time{old, old.Add(8 * 24 * time.Hour)} {
				if n, err := s.Tidy(t.Context(), then, l); n != 0 || err != nil || l.reads != 1 {
					t.Errorf("Tidy = %d, %v after reading %d transcripts", n, err, l.reads)
				}
			}
			delete(l.files, "irc:b")
			if n, err := s.Tidy(t.Context(), old, l); n != 1 || err != nil {
				t.Errorf("Tidy of a conversation that is gone = %d, %v", n, err)
			}
			if names, err := s.Names(); err != nil || len(names) != 0 {
				t.Errorf("left are %q, %v", names, err)
			}
		})
	}
}

// A file whose content cannot be stored gets no name, and what is left of it is removed
// later. If that is in a bucket that is no longer configured, the error names it.
func TestPostgresAfterCrash(t *testing.T) {
	url := pgtest.Database(t, "", "")
	broken := &media.Bucket{URL: "http://127.0.0.1:1/b"}
	s := inPostgres(t, url, broken)(media.Options{})
	if a := keep(t, s, "irc:a", "1", "x"); a.Missing != "it could not be stored" {
		t.Errorf("Keep without a bucket = %+v", a)
	}
	db := database(t, url)
	defer db.Close()
	count := func() (n int) {
		t.Helper()
		if err := db.QueryRow(`SELECT count(*) FROM media_blobs`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	again := inPostgres(t, url, nil)(media.Options{})
	l := &ledger{}
	if _, err := again.Tidy(t.Context(), time.Now(), l); err != nil || count() != 1 {
		t.Errorf("Tidy of what may be being written = %v, %d left", err, count())
	}
	if _, err := db.Exec(`UPDATE media_blobs SET unnamed = unnamed - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Tidy(t.Context(), time.Now(), l); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1/b") {
		t.Errorf("Tidy without its bucket = %v, want its name", err)
	}
	if _, err := db.Exec(`UPDATE media_blobs SET place = 'postgres'; INSERT INTO media_parts SELECT id, 0, 'x' FROM media_blobs`); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Tidy(t.Context(), time.Now(), l); err != nil || count() != 0 {
		t.Errorf("Tidy of what was left = %v, %d left", err, count())
	}
}

// The example of Amazon's documentation.
func TestSign(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	r.Header.Set("Range", "bytes=0-9")
	b := media.Bucket{AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	b.Sign(r, time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	got := strings.Split(r.Header.Get("Authorization"), "Signature=")
	if want := "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"; !slices.Contains(got, want) {
		t.Errorf("Authorization = %q, want the signature %s", got, want)
	}
}

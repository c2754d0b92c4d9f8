package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

func entry(k, id, text string) sessions.Entry {
	return sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey(k), ID: id, Text: text}}
}

// TestHalfMadeFile: a crash while the first file was made leaves a draft, which is not a
// store and is made again.
func TestHalfMadeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	write(t, path+".new", "half")
	s := openFile(t, path, sqlite.Options{})
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	if other, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "another process") {
		if err == nil {
			_ = other.Close()
		}
		t.Errorf("the second Open = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openFile(t, path, sqlite.Options{})
}

// Opening a database that others can read takes that right from them.
func TestCase43Permissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	mode := func(name string, want os.FileMode) {
		t.Helper()
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
		}
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		mode(name, 0o600)
	}
	mode(filepath.Dir(path), 0o700)
	mode(filepath.Dir(filepath.Dir(path)), 0o700)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	openFile(t, path, sqlite.Options{})
	mode(path, 0o600)
}

// TestStrangePaths: names that mean something in a URI are just names.
func TestStrangePaths(t *testing.T) {
	for _, name := range []string{"a b.db", "a?mode=memory", "a#b%20c%", "ü:;&=.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := openFile(t, path, sqlite.Options{})
		if _, err := s.Accept(t.Context(), entry("x:1", "1", "hi")); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if size(t, path) == 0 {
			t.Errorf("%q is empty", name)
		}
	}
}

func TestNowhereToWrite(t *testing.T) {
	for name, path := range map[string]string{
		"a directory that cannot be made": "/proc/nowhere/dragoman.db",
		"a directory":                     t.TempDir(),
	} {
		if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
			_ = s.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

// TestCase41FullDisk fills the store up to a limit and checks that it says so,
// loses nothing, and works again when there is room.
func TestCase41FullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	if err := sqlite.LimitPages(s.Backend(), 120); err != nil {
		t.Fatal(err)
	}
	stored, full := map[string]bool{}, error(nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range 8 { // together, so that batches fail half done
		all.Go(func() {
			for i := range 100 {
				id := fmt.Sprintf("%d-%d", w, i)
				_, err := s.Accept(t.Context(), entry("x:1", id, strings.Repeat("much text ", 300)))
				mu.Lock()
				if err == nil {
					stored[id] = true
				} else {
					full = err
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if full == nil || !strings.Contains(full.Error(), "the disk is full") {
		t.Fatalf("Accept on a full disk = %v", full)
	}
	if _, err := s.Messages(t.Context(), channels.MustKey("x:1"), 0, 1); err != nil {
		t.Errorf("reading on a full disk: %v", err)
	}
	if err := sqlite.LimitPages(s.Backend(), 1_000_000); err != nil {
		t.Fatal(err)
	}
	feed, err := s.Feed(t.Context(), channels.MustKey("x:1"), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(feed) != len(stored) || len(stored) == 0 {
		t.Errorf("%d messages are stored, %d were acknowledged", len(feed), len(stored))
	}
	for _, it := range feed {
		if !stored[it.ID] {
			t.Errorf("message %s is stored and its Accept failed", it.ID)
		}
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Waiting != len(stored) {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	// The refused messages come again.
	for w := range 8 {
		for i := range 100 {
			id := fmt.Sprintf("%d-%d", w, i)
			a, err := s.Accept(t.Context(), entry("x:1", id, "again"))
			if want := map[bool]sessions.Outcome{true: sessions.Duplicate, false: sessions.Queued}[stored[id]]; err != nil || a.Outcome != want {
				t.Fatalf("Accept(%s) = %+v, %v, want %s", id, a, err, want)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	integrity(t, path)
}

// TestFullTmpfs does the same on a real file system that is full.
func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if runtime.GOOS != "linux" || syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m") != nil {
		t.Skip("may not mount a small file system here; TestCase41FullDisk covers the store's part")
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := openFile(t, filepath.Join(dir, "dragoman.db"), sqlite.Options{})
	var full error
	n := 0
	for full == nil && n < 10_000 {
		_, full = s.Accept(t.Context(), entry("x:1", fmt.Sprint(n), strings.Repeat("much text ", 300)))
		if full == nil {
			n++
		}
	}
	if full == nil || !strings.Contains(full.Error(), "the disk is full") {
		t.Errorf("Accept on a full disk = %v", full)
	}
	if err := s.Check(t.Context()); err == nil {
		t.Log("Check still fits into the log")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), entry("x:1", fmt.Sprint(n), "again")); err != nil {
		t.Errorf("Accept with room again: %v", err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Waiting != n+1 {
		t.Errorf("Stats = %+v, %v, want %d", st, err, n+1)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	integrity(t, filepath.Join(dir, "dragoman.db"))
}

// TestFailedOperationLeavesNoTrace: after a failure the writer's rows equal the stored ones.
func TestFailedOperationLeavesNoTrace(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	for i, k := range []string{"x:1", "x:1", "x:2"} {
		if err := sqlite.FailHalfDone(s, channels.MustKey(k)); err == nil {
			t.Fatal("it did not fail")
		}
		a, err := s.Accept(t.Context(), entry(k, fmt.Sprint(i), "hi"))
		if want := []int64{1, 2, 1}[i]; err != nil || a.Seq != want {
			t.Errorf("Accept = %+v, %v, want seq %d", a, err, want)
		}
	}
}

// TestFailedOperationIsRolledBack: the writes of a failed operation are rolled back, and the
// others of its batch are stored.
func TestFailedOperationIsRolledBack(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	for round := range 50 {
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if i == round%6 {
					if sqlite.FailAfterWriting(s, channels.MustKey("x:1")) == nil {
						t.Error("it did not fail")
					}
					return
				}
				id := fmt.Sprintf("%d-%d", round, i)
				if _, err := s.Accept(t.Context(), entry("x:"+id, id, id)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if sqlite.LargestBatch(s) < 2 {
		t.Fatal("no batch was shared: the test does not test")
	}
	if n, err := sqlite.StepsLeft(s); n > 0 || err != nil {
		t.Errorf("%d rows of failed operations are left, %v", n, err)
	}
}

// TestFailureWithinAnOperation: an operation fails with its first failed statement, and
// runs no later one.
func TestFailureWithinAnOperation(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	if sqlite.FailWithin(s, channels.MustKey("x:1")) == nil {
		t.Error("it did not fail")
	}
	if n, err := sqlite.StepsLeft(s); n > 0 || err != nil {
		t.Errorf("%d rows of a failed operation are left, %v", n, err)
	}
	if a, err := s.Accept(t.Context(), entry("x:1", "1", "hi")); err != nil || a.Seq != 1 {
		t.Errorf("Accept = %+v, %v, want seq 1", a, err)
	}
}

// TestLostBatch: when a whole batch fails, each operation is repeated alone, and none is
// lost because of another. Each message has its own key, so that none hides behind another.
func TestLostBatch(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	stored := map[string]bool{}
	var lost []string
	var mu sync.Mutex
	for round := range 100 {
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if i == round%6 { // now before the others in the batch, now behind them
					if sqlite.LoseTransaction(s, round%2 == 0) == nil {
						t.Error("it did not fail")
					}
					return
				}
				id := fmt.Sprintf("%d-%d", round, i)
				_, err := s.Accept(t.Context(), entry("x:"+id, id, id))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					stored[id] = true
				} else {
					lost = append(lost, id)
				}
			})
		}
		all.Wait()
	}
	if len(lost) > 0 || len(stored) != 500 {
		t.Errorf("%d lost and %d stored, want all to be stored", len(lost), len(stored))
	}
	waiting(t, s, stored)
}

// waiting compares the waiting messages of the store and of its dispatcher.
func waiting(t *testing.T, s *engine.Store, want map[string]bool) {
	t.Helper()
	list, err := s.ListQueue(t.Context(), 10_000)
	if err != nil || len(list) != len(want) {
		t.Errorf("%d messages are stored, %v, want %d", len(list), err, len(want))
	}
	for _, it := range list {
		shown, err := s.ShowQueue(t.Context(), it.ID)
		if err != nil || "x:"+shown.Text != it.Key.String() || !want[shown.Text] {
			t.Errorf("item %s of %s holds %q, %v", it.ID, it.Key, shown.Text, err)
		}
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Waiting != len(want) {
		t.Errorf("Stats = %+v, %v, want %d waiting", st, err, len(want))
	}
}

// TestDeletedWordsAreGone: the search index itself has no words of a deleted conversation.
func TestDeletedWordsAreGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	for i, k := range []string{"x:1", "x:2"} {
		e := entry(k, fmt.Sprint(i), "/x")
		e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "a needle"}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), channels.MustKey("x:1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM words WHERE said MATCH 'needle'`).Scan(&n); err != nil || n != 1 {
		t.Errorf("the index finds %d messages, %v, want 1", n, err)
	}
}

// TestReadOnly opens a store on a read-only file system.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if runtime.GOOS != "linux" || syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m") != nil {
		t.Skip("may not mount a small file system here")
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("Open took a store that it cannot write")
	}
	if !strings.Contains(err.Error(), "read-only") {
		t.Errorf("Open = %v, want it to say read-only", err)
	}
}

// TestOneFailureDoesNotSinkTheBatch mixes operations that fail with others.
func TestOneFailureDoesNotSinkTheBatch(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	var all sync.WaitGroup
	for i := range 400 {
		all.Go(func() {
			if i%2 == 0 {
				e := entry("x:1", fmt.Sprint(i), "hi")
				e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: fmt.Sprint(i)}}
				if _, err := s.Accept(t.Context(), e); err != nil {
					t.Errorf("Accept = %v", err)
				}
				return
			}
			e := entry("x:2", fmt.Sprint(i), "hi")
			e.MaxWaiting = 1
			if _, err := s.Accept(t.Context(), e); err != nil && !errors.Is(err, sessions.ErrFull) {
				t.Errorf("Accept = %v", err)
			}
		})
	}
	all.Wait()
	ms, err := s.Messages(t.Context(), channels.MustKey("x:1"), 0, 1000)
	if err != nil || len(ms) != 200 || ms[199].Seq != 200 {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Waiting != 1 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	if most := sqlite.LargestBatch(s); most < 2 {
		t.Errorf("the largest batch held %d operations: nothing was shared", most)
	}
}

package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions/sqlite"
)

// childMigrates names the file that a child opens, and closes again.
const childMigrates = "DRAGOMAN_KILL_MIGRATES"

// runMigration is the child's main function; it reports false in the parent.
func runMigration() bool {
	path := os.Getenv(childMigrates)
	if path == "" {
		return false
	}
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// generationsOfOld is how often x:4 began anew, each with two messages.
const generationsOfOld = 1500

// largeOldFile is oldFile with thousands of messages more, all in x:4.
func largeOldFile(t *testing.T) string {
	t.Helper()
	path := oldFile(t)
	execute(t, path,
		fmt.Sprintf(`INSERT INTO keys (id, key, seq, msg_seq) VALUES (4, 'x:4', 0, %d)`, 2*generationsOfOld),
		fmt.Sprintf(`INSERT INTO conversations VALUES (4, '20250101_%d', %d, 0, '', 9, 9, %d, 0, 0, 0)`,
			generationsOfOld, 2*generationsOfOld-2, 2*generationsOfOld),
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO generations SELECT '20250101', i, 4, 2 * i - 2 FROM n`, generationsOfOld),
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO messages (id, role, bytes, rest, content)
			SELECT (4 << 32) + i, 'user', 500, '{"at":"2025-01-01T10:00:00Z"}', printf('message %%d', i) || hex(zeroblob(250)) FROM n`, 2*generationsOfOld),
	)
	return path
}

// migrating starts a child that opens the file, kills it after d, unless d is
// 0, and waits for it.
func migrating(t *testing.T, path string, d time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMigrates+"="+path)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if d > 0 {
		timer := time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	if err := cmd.Wait(); err != nil && (d == 0 || cmd.ProcessState.ExitCode() != -1) {
		t.Fatalf("the child ended with %v", err)
	}
}

// TestMigrationKilled: a change of the schema may be killed whenever. The file
// is that of before or that of after, a copy that has its name is whole, and
// the next start ends well with nothing lost.
func TestMigrationKilled(t *testing.T) {
	kills := 4
	if s := os.Getenv("DRAGOMAN_KILLS"); s != "" { // make crash
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatalf("DRAGOMAN_KILLS=%q, want a number of kills", s)
		}
	}
	old := largeOldFile(t)
	data, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	before := dumpText(t, old)
	fresh := func() string {
		path := filepath.Join(t.TempDir(), "dragoman.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, began := fresh(), time.Now()
	migrating(t, path, 0)
	whole := time.Since(began)
	after := dumpText(t, path)
	if cmp.Equal(before, after) {
		t.Fatal("nothing was migrated: the test does not test")
	}
	stages := map[string]int{}
	for range kills {
		path := fresh()
		migrating(t, path, rand.N(whole))
		stages[killedIn(t, path, before)]++
		migrating(t, path, 0)
		integrity(t, path)
		if diff := cmp.Diff(lasting(after), lasting(dumpText(t, path))); diff != "" {
			t.Fatalf("after the next start (-want +got):\n%s", diff)
		}
	}
	s := openFile(t, path, sqlite.Options{})
	ms, err := s.Messages(t.Context(), channels.MustKey("x:4"), 0, 1_000_000)
	if err != nil || len(ms) != 2*generationsOfOld || !strings.HasPrefix(ms[9].Content, "message 10") {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	t.Logf("%d kills within %s: %v", kills, whole.Round(time.Millisecond), stages)
}

// killedIn says how far a killed migration had come, and checks what it left.
func killedIn(t *testing.T, path string, before []string) string {
	t.Helper()
	stage, copied := "before the copy was whole", false
	if _, err := os.Stat(path + ".before-v2"); err == nil {
		integrity(t, path+".before-v2")
		if diff := cmp.Diff(before, dumpText(t, path+".before-v2")); diff != "" {
			t.Fatalf("the copy differs (-want +got):\n%s", diff)
		}
		stage, copied = "after the copy", true
	}
	now := dumpText(t, path)
	if !slices.Contains(now, "2 1146241351") { // the version and whose file it is
		if diff := cmp.Diff(before, now); diff != "" {
			t.Fatalf("the old file differs (-want +got):\n%s", diff)
		}
		return stage
	}
	if !copied {
		t.Fatal("the file was changed before there was a copy")
	}
	return "after the change"
}

// lasting leaves out how often the store was opened.
func lasting(rows []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(s string) bool { return strings.HasPrefix(s, "cafe") })
}

// Package testkit says what the tests need from the machine they run on.
//
// Some tests talk to real programs, a real ngircd or a real Chromium, because
// an imitation agrees with our mistakes. [Need] finds such a program. Where it
// is missing a developer's test is skipped and says how to install it; in CI
// (CI=true), and wherever DRAGOMAN_NEED_ALL=1 asks for everything, the test
// fails instead, so that a green run never means "not looked at".
//
// [Eventually] waits for what gives no sign that it is there. [Within] judges
// how long something takes on a machine that may be busy. [AtOnce] is for packages whose
// tests mostly wait. [Ending] is a daemon
// that dies over each request.
//
// Only test files and packages whose names end in "test" import this package.
// The goroutines of Ending end with its server.
package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// TB is the part of [testing.TB] that Need uses.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// sbin are folders where Debian keeps daemons. They are often missing from
// the PATH of an ordinary user.
var sbin = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// unraced are programs whose tests spend their time in them: under the race detector
// these tests find nothing that others do not find, and take minutes.
var unraced = []string{"chromium", "node"}

// OneGoroutine skips t under the race detector, which could only find what another
// goroutine does, and takes ten times as long.
func OneGoroutine(t TB) {
	t.Helper()
	if Race {
		t.Skipf("testkit: it runs in one goroutine, so the race detector would find nothing")
	}
}

// Need returns the full path of the program called name, looked for in PATH
// and in the folders of system daemons. Without it t is skipped, or fails if
// [NeedAll] says that nothing may be skipped. Under the race detector tests of browsers
// and of npm's programs are skipped.
func Need(t TB, name string) string {
	t.Helper()
	if Race && slices.Contains(unraced, name) {
		t.Skipf("testkit: the race detector does not look into %s: make test runs this", name)
	}
	if path, found := Find(name); found {
		return path
	}
	if NeedAll() {
		t.Fatalf("testkit: %s is not installed, and CI or DRAGOMAN_NEED_ALL asks for every test: run `make need` as root (or: apt-get install %s)", name, name)
	}
	t.Skipf("testkit: %s is not installed: run `make need` as root (or: apt-get install %s)", name, name)
	return ""
}

// Find looks for the program called name like [Need] does.
func Find(name string) (path string, found bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	return find(name, sbin)
}

// NeedAll reports whether tests must fail rather than skip: CI or
// DRAGOMAN_NEED_ALL is set to something true.
func NeedAll() bool {
	return slices.ContainsFunc([]string{"CI", "DRAGOMAN_NEED_ALL"}, func(name string) bool {
		yes, err := strconv.ParseBool(os.Getenv(name))
		return err == nil && yes
	})
}

// find looks for an executable regular file called name in dirs.
func find(name string, dirs []string) (path string, found bool) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

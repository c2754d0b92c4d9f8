package testkit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// recorder is a test that notes how it ended. Like a real one it stops the
// goroutine that it runs on.
type recorder struct{ skipped, failed string }

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func need(name string) (path string, r *recorder) {
	r = &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		path = testkit.Need(r, name)
	}()
	<-done
	return path, r
}

func TestNeedFindsWhatIsInPath(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, "dragoman-test-program")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("CI", "true")
	if got, r := need(filepath.Base(want)); got != want || *r != (recorder{}) {
		t.Errorf("Need = %q (%+v), want %q", got, *r, want)
	}
}

func TestNeedOfSomethingMissing(t *testing.T) {
	for _, test := range []struct {
		name, ci, all string
		fails         bool
	}{
		{name: "a developer's machine"},
		{name: "CI says no", ci: "false"},
		{name: "CI is nonsense", ci: "maybe"},
		{name: "CI", ci: "true", fails: true},
		{name: "asked for everything", all: "1", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("CI", test.ci)
			t.Setenv("DRAGOMAN_NEED_ALL", test.all)
			_, r := need("dragoman-no-such-program")
			said := r.skipped
			if test.fails {
				said = r.failed
			}
			if !strings.Contains(said, "dragoman-no-such-program is not installed") {
				t.Errorf("Need skipped with %q and failed with %q; want fails = %v", r.skipped, r.failed, test.fails)
			}
		})
	}
}

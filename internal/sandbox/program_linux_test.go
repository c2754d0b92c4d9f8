//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/internal/sandbox"
)

// sh is a shell's line as a program that reads in.
func sh(line, in string) sandbox.Program {
	return sandbox.Program{Path: "/bin/sh", Args: []string{"-c", line}, In: strings.NewReader(in), Most: 1000, Seconds: 1}
}

// A program reads its input, writes its output, and does nothing else.
func TestPrograms(t *testing.T) {
	if !asUser(t) {
		return
	}
	workFolder(t) // skips where nothing runs
	for _, test := range []struct {
		name, line, out, said string
		code                  int
	}{
		{"reads and writes", `tr a-z A-Z; echo oh >&2; exit 3`, "A FILE", "oh", 3},
		{"writes no file", `for d in /tmp /work /dev /usr /; do echo x 2>/dev/null >$d/x && echo $d; done; mkdir /tmp/d 2>/dev/null && echo made; echo done`, "done", "", 0},
		{"sees no file of others", `ls /home /root /proc/1 /etc/shadow 2>/dev/null; echo done`, "done", "", 0},
		{"has no environment", `env | grep -vE '^(PATH|HOME|TMPDIR|LANG|GIT_CONFIG_NOSYSTEM|PWD|OLDPWD|SHLVL|_)='; echo done`, "done", "", 0},
		{"memory", `a=$(head -c 300000000 /dev/zero | tr '\0' a) && echo "${#a}"`, "", "", -2},
		{"the processor", `while :; do :; done`, "", "", -1},
	} {
		got, err := sandbox.Read(t.Context(), sh(test.line, "a file"))
		failed := test.code == -2 && got.Code != 0 || got.Code == test.code
		if err != nil || strings.TrimSpace(string(got.Out)) != test.out || !strings.Contains(got.Said, test.said) || !failed || got.Ended != "" {
			t.Errorf("%s: %q, %q, code %d, ended %q, %v", test.name, got.Out, got.Said, got.Code, got.Ended, err)
		}
	}
	got, err := sandbox.Read(t.Context(), sh(`yes`, ""))
	if err != nil || got.Code != -1 || got.Ended == "" || len(got.Out) != 1000 {
		t.Errorf("a program that writes without end: %d bytes, code %d, ended %q, %v", len(got.Out), got.Code, got.Ended, err)
	}
}

func TestProgramsThatCannotGoOn(t *testing.T) {
	if !asUser(t) {
		return
	}
	workFolder(t)
	gone := errors.New("the disk is gone")
	p := sh("cat", "")
	p.In = io.MultiReader(strings.NewReader("begun"), iotest.ErrReader(gone))
	if _, err := sandbox.Read(t.Context(), p); !errors.Is(err, gone) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	stopped := errors.New("somebody said stop")
	ctx, stop := context.WithCancelCause(t.Context())
	p = sh("cat", "")
	p.In = readerFunc(func([]byte) (int, error) {
		stop(stopped)
		return 0, io.EOF
	})
	p.Args = []string{"-c", "cat; sleep 100"}
	if _, err := sandbox.Read(ctx, p); !errors.Is(err, stopped) {
		t.Errorf("a caller that stops it: %v", err)
	}
	missing := sandbox.Program{Path: "/usr/bin/no-such-program", In: strings.NewReader(""), Most: 10}
	if _, err := sandbox.Read(t.Context(), missing); err == nil {
		t.Error("a program that is missing ran")
	}
}

// readerFunc is a reader.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

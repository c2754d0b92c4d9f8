package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/internal/sandbox"
	"dragoman/internal/testkit"
)

// eat takes so many megabytes.
func eat(megabytes int) sandbox.Work {
	return func(io.Reader, io.Writer) error {
		var kept [][]byte
		for range megabytes {
			kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
		}
		return fmt.Errorf("%d MB were there to be had", len(kept))
	}
}

// works are what the test's own children do.
var works = map[string]sandbox.Work{
	"upper": func(in io.Reader, out io.Writer) error {
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		_, err = out.Write(bytes.ToUpper(b))
		return err
	},
	"fail":         func(io.Reader, io.Writer) error { return errors.New("it is locked") },
	"panic":        func(io.Reader, io.Writer) error { panic("index out of range") },
	"eat":          eat(1 << 10),
	"eat much":     eat(140),
	"eat little":   sandbox.Within(128<<20, eat(30)),
	"eat too much": sandbox.Within(128<<20, eat(140)),
	"talk": func(_ io.Reader, out io.Writer) error {
		for {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	},
	"spin": func(io.Reader, io.Writer) error {
		for {
			runtime.Gosched()
		}
	},
	"look": func(_ io.Reader, out io.Writer) error {
		fmt.Fprintf(out, "environment %d", len(os.Environ()))
		if err := os.WriteFile("/tmp/dragoman-sandbox-test", []byte("x"), 0o600); err == nil {
			fmt.Fprint(out, ", wrote a file")
		}
		return nil
	},
	"count": func(_ io.Reader, out io.Writer) error {
		files, err := os.ReadDir("/proc/self/fd")
		fmt.Fprintf(out, "%d", len(files))
		return err
	},
}

func TestMain(m *testing.M) {
	sandbox.Main(works)
	os.Exit(m.Run())
}

func TestAChildsAnswer(t *testing.T) {
	out, err := sandbox.Run(t.Context(), "upper", strings.NewReader("words"), 100)
	if string(out) != "WORDS" || err != nil {
		t.Errorf("the answer is %q, %v", out, err)
	}
}

func TestChildrenThatFail(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits are Linux's")
	}
	for _, test := range []struct {
		work string
		want error
		says string
	}{
		{"fail", sandbox.Said("it is locked"), "it is locked"},
		{"nothing", sandbox.Said(`sandbox: no work is called "nothing"`), "nothing"},
		{"panic", sandbox.ErrDied, "index out of range"},
		{"eat", sandbox.ErrDied, ""}, // the runtime has no memory, or no memory for a thread
		{"eat much", sandbox.Said("140 MB were there to be had"), ""},
		{"eat little", sandbox.Said("30 MB were there to be had"), ""},
		{"eat too much", sandbox.ErrDied, ""},
		{"talk", sandbox.ErrDied, ""},
	} {
		t.Run(test.work, func(t *testing.T) {
			if testkit.Race && strings.HasPrefix(test.work, "eat ") {
				t.Skip("the race detector takes memory of its own")
			}
			out, err := sandbox.Run(t.Context(), test.work, strings.NewReader(""), 1<<20)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || len(out) > 0 {
				t.Errorf("the error is %v, with %d bytes; want %v that says %q", err, len(out), test.want, test.says)
			}
		})
	}
}

// What the environment holds, and what the daemon has open, is not a child's.
func TestAChildHasNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits are Linux's")
	}
	t.Setenv("DRAGOMAN_SECRET", "x")
	out, err := sandbox.Run(t.Context(), "look", strings.NewReader(""), 100)
	if string(out) != "environment 0" || err != nil {
		t.Errorf("the child says %q, %v", out, err)
	}
	os.Remove("/tmp/dragoman-sandbox-test")
	few, err := sandbox.Run(t.Context(), "count", strings.NewReader(""), 100)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	many, err := sandbox.Run(t.Context(), "count", strings.NewReader(""), 100)
	if string(few) != string(many) || err != nil {
		t.Errorf("a child has %s open files, and then %s: %v", few, many, err)
	}
}

func TestTheFileFails(t *testing.T) {
	gone := errors.New("the disk is gone")
	r, w := io.Pipe()
	w.CloseWithError(gone)
	if _, err := sandbox.Run(t.Context(), "upper", r, 100); !errors.Is(err, gone) || errors.Is(err, sandbox.ErrDied) {
		t.Errorf("the error is %v", err)
	}
}

// A caller that has no time left gets its own cause, and the child is gone.
func TestTheCallerStops(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(stopped) })
	if _, err := sandbox.Run(ctx, "spin", strings.NewReader(""), 100); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
}

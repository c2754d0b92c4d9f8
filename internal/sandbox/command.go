package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Limits of a command.
const (
	// MostTime is how long a command may run, and MostLong one in the background.
	MostTime = time.Minute
	MostLong = 30 * time.Minute
	// MostShown is how many bytes of its output are kept, from the beginning and the end.
	MostShown = 64 << 10
	// MostCommands is how many commands run at once; others wait.
	MostCommands = 2

	mostOutput  = 64 << 20 // bytes: a command that prints more is ended
	commandWord = "sandbox-exec"
	boundWord   = "sandbox-bound" // a command in a unit
	serverWord  = "sandbox-mcp"
	probeWord   = "sandbox-probe"
	toldFile    = 3 // a helper says there why it cannot begin; a command's start closes it
)

// Closed is the sentence that says why commands cannot run here.
type Closed string

func (c Closed) Error() string { return string(c) }

// Command is a line for a shell.
type Command struct {
	// Line is what sh runs.
	Line string
	// Dir is the folder that the command sees as /work, and may change. It is a path of
	// this machine without links that others can change.
	Dir string
	// Timeout is how long it may take, at most [MostTime], or [MostLong] with Long; 0 is that.
	Timeout time.Duration
	// Long commands may go on in the background: they count for [MostCommands] in their first
	// minute only, so the caller bounds them.
	Long bool
	// Printed, if not nil, is called with what it prints. It must not keep the bytes.
	Printed func([]byte)
}

// limit is how long c may take.
func (c Command) limit() time.Duration {
	most := MostTime
	if c.Long {
		most = MostLong
	}
	if c.Timeout <= 0 || c.Timeout > most {
		return most
	}
	return c.Timeout
}

// Result is what a command left.
type Result struct {
	// Output is what it printed, errors too, at most [MostShown] bytes and a line that says
	// how much was left out.
	Output string
	// Code is its exit code, or -1 if it was ended.
	Code int
	// Ended says in words which limit ended it; "" if it ended by itself.
	Ended string
}

var (
	errTime   = errors.New("it took too long")
	errOutput = errors.New("it printed more than 64 MiB")
)

// places are where commands look for programs.
const places = "/usr/bin:/bin:/usr/sbin:/sbin"

// environment is all that a command finds there.
var environment = []string{"PATH=" + places, "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1"}

// commands has a place for each command that may run.
var commands = make(chan struct{}, MostCommands)

// Exec runs a command with nothing of this machine but its programs, and ends all that it
// began. A command that fails, or that a limit ends, is a Result; the error is the caller's
// cause, or a [Closed]. Ask [SelfTest] first.
func Exec(ctx context.Context, c Command) (Result, error) {
	return execute(ctx, c, func(ctx context.Context, out io.Writer, seconds int) (int, error) {
		return inside(ctx, c.Dir, out, commandWord, strconv.Itoa(seconds), c.Line)
	})
}

// execute runs c on one of the grounds, which writes what it prints to out and returns its
// exit code.
func execute(ctx context.Context, c Command, run func(ctx context.Context, out io.Writer, seconds int) (code int, err error)) (Result, error) {
	select {
	case commands <- struct{}{}:
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { <-commands })
	defer release()
	if c.Long {
		defer time.AfterFunc(MostTime, release).Stop()
	}
	timed, cancel := context.WithTimeoutCause(ctx, c.limit(), errTime)
	defer cancel()
	inner, end := context.WithCancelCause(timed)
	defer end(nil)
	out := &ends{most: mostOutput, full: func() { end(errOutput) }, printed: c.Printed}
	code, err := run(inner, out, int(math.Ceil(c.limit().Seconds())))
	switch why := context.Cause(inner); {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.Is(why, errTime), errors.Is(why, errOutput):
		return Result{Output: out.String(), Code: -1, Ended: why.Error()}, nil
	case err != nil:
		return Result{}, err
	}
	return Result{Output: out.String(), Code: code}, nil
}

// inside is insideOf of something without input, whose output and errors go to out.
func inside(ctx context.Context, dir string, out io.Writer, args ...string) (int, error) {
	ended, err := insideOf(ctx, dir, streams{nil, out, out}, args...)
	if err != nil {
		return 0, err
	}
	return ended.ExitCode(), nil
}

// streams are those of a process.
type streams struct {
	in        io.Reader
	out, said io.Writer // if they are the same, both get one pipe
}

// insideOf runs this program's helper in namespaces of its own, and returns how that which the
// helper became has ended.
func insideOf(ctx context.Context, dir string, s streams, args ...string) (*os.ProcessState, error) {
	attr, err := namespaces()
	if err != nil {
		return nil, err
	}
	program, err := self()
	if err != nil {
		return nil, fmt.Errorf("sandbox: find this program: %w", err)
	}
	told, tells, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sandbox: make a pipe: %w", err)
	}
	defer told.Close()
	child := exec.CommandContext(ctx, program)
	child.Args = append([]string{"dragoman"}, args...)
	child.Env = environment
	child.Dir = dir
	child.Stdin = s.in
	child.Stdout = s.out
	child.Stderr = s.said
	child.ExtraFiles = []*os.File{tells}
	child.SysProcAttr = attr
	child.WaitDelay = time.Second
	err = child.Start()
	tells.Close()
	if err != nil {
		return nil, Closed(fmt.Sprintf("the system does not allow a namespace for its user (%v)", err))
	}
	said, readErr := io.ReadAll(io.LimitReader(told, mostSaid))
	err = child.Wait()
	switch {
	case len(said) > 0:
		return nil, Closed(said)
	case readErr != nil:
		return nil, fmt.Errorf("sandbox: hear from the helper: %w", readErr)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, errors.New("sandbox: something outlived its command")
	case child.ProcessState == nil:
		return nil, fmt.Errorf("sandbox: wait for a command: %w", err)
	}
	return child.ProcessState, nil
}

// ends keeps the beginning and the end of what is written, [MostShown] bytes together.
type ends struct {
	head, tail  []byte
	count, most int64
	full        func() // called once more than most was written
	printed     func([]byte)
}

func (e *ends) Write(p []byte) (int, error) {
	e.count += int64(len(p))
	if e.printed != nil {
		e.printed(p)
	}
	if e.count > e.most {
		e.full()
	}
	keep := min(len(p), MostShown/2-len(e.head))
	e.head = append(e.head, p[:keep]...)
	e.tail = append(e.tail, p[keep:]...)
	if len(e.tail) > MostShown {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-MostShown/2:]...)
	}
	return len(p), nil
}

// String is what was kept, with a line where something is missing.
func (e *ends) String() string {
	tail := e.tail[max(0, len(e.tail)-MostShown/2):]
	left := e.count - int64(len(e.head)+len(tail))
	if left == 0 {
		return string(e.head) + string(tail)
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", e.head, left, tail)
}

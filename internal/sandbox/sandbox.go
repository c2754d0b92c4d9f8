// Package sandbox runs what reads foreign files in a process of its own: a child, which
// is this program again. And it runs commands, locked in.
//
// The promise: whatever a file does to its reader, the daemon goes on. A child has no
// environment, no files but its input and its output, and limits: memory, time of the
// processor, time on the clock, nothing written. At most [MostChildren] run at once.
//
// What fails, and how:
//
//	the work fails                    Said: its own sentence, for people
//	the reader panics                 ErrDied; the first line of the panic goes with it
//	it needs more memory or time      ErrDied
//	it writes more than it may        ErrDied
//	the file cannot be read           the reader's own error
//	the caller's context ends         the context's cause, and the child is killed
//	no child can be started           the system's error
//	the daemon dies                   the child's input ends, and the kernel kills it
//
// This holds off accidents and bombs. It is no prison for a program that somebody else
// wrote: a child may read what the daemon may read, because our own code asks for
// nothing.
//
// # Commands
//
// [Exec] runs a shell's line that somebody else wrote. The promise: it changes only the
// folder that it is given, reads nothing of this machine but that folder and installed
// programs, reaches no other process and no network, and nothing that it began outlives it.
// A helper, this program again, moves into namespaces and a root of its own, gives up its
// rights, is bound by Landlock and by a filter of system calls, and becomes the shell.
// [SelfTest] tries to escape first; where one way is open, or a part is missing, no
// command should run. Nothing is best effort.
//
//	the command fails                 its exit code, and what it printed
//	it takes too long, prints a lot   Result.Ended says so; all of it is killed
//	a limit stops a process of it     whatever that process makes of it: 1 GiB of
//	                                  addresses and 64 MiB a file each, 256 processes
//	the system lacks a part           Closed, a sentence
//	the caller's context ends         the context's cause; all of it is killed
//	the daemon dies                   the kernel kills all of it
//
// [Read] runs an installed program on a foreign file in the same way, without a folder: it
// can write nothing but its output, and has less time and memory.
//
// Not bounded: the memory of all processes together, and the bytes in the folder. There is
// no /proc inside. Root is refused, because no limit of processes binds root.
//
// # Units
//
// Where namespaces are closed, as in our own unit, the service manager starts a helper as
// another user for each command ([Unit]) and for each server of tools ([StartServer]). The
// helper of a command is bound by Landlock and the filter, and its unit bounds memory and
// processes together. A program that reads a foreign file ([Unit.Read]) is such a command, in a
// folder with that file alone. [FindGround] says which ground holds. All servers have one user, and
// Landlock keeps each out of the others' folders and processes.
//
//	nothing listens, or somebody else  Closed; for a server ErrNoUnit
//	the unit bounds nothing            Closed: this ground does not hold
//	a command of another chat runs     a sentence: try again later
//	a server cannot be kept apart      it does not start, and says why as its standard error
//	the daemon dies                    the connection ends, and the helper ends all of it
//
// Goroutines: [Run], [Read] and [Exec] have those of os/exec, which end before they return.
// All may be called from several. A helper has one that waits for the end of its
// connection.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// MostChildren is how many children run at once; others wait.
	MostChildren = 2

	childWord = "sandbox-child" // the program's first argument in a child
	patience  = 30 * time.Second
	mostSaid  = 4 << 10 // bytes that are kept of what a child says went wrong
	exitSaid  = 9       // the exit code of a work that failed; a Go panic has 2
)

// ErrDied: the child ended without an answer, because of a panic or a limit.
var ErrDied = errors.New("sandbox: the reader gave up")

// Said is the sentence of a work that failed.
type Said string

func (s Said) Error() string { return string(s) }

// Work reads a foreign file and writes what is in it. Its error is a sentence for
// people.
type Work func(in io.Reader, out io.Writer) error

// Within is work with less memory than every child may have: bytes that it writes to, Go's own
// of some 40 MiB included.
func Within(memory uint64, work Work) Work {
	return func(in io.Reader, out io.Writer) error {
		err := limitMemory(memory)
		if err != nil {
			panic(fmt.Sprintf("sandbox: set a limit of memory: %v", err)) // never without it
		}
		return work(in, out)
	}
}

// Main does a child's work, if this process is a child or the helper of a command, and then
// does not return. Call it first in main.
func Main(works map[string]Work) {
	enter(os.Args)
	if len(os.Args) != 3 || os.Args[1] != childWord {
		return
	}
	work := works[os.Args[2]]
	if work == nil {
		fmt.Fprintf(os.Stderr, "sandbox: no work is called %.40q\n", os.Args[2])
		os.Exit(exitSaid)
	}
	if err := limit(); err != nil {
		panic(fmt.Sprintf("sandbox: set limits: %v", err)) // never without them
	}
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitSaid)
	}
	os.Exit(0)
}

// running has a place for each child that may run.
var running = make(chan struct{}, MostChildren)

// Run lets a child do a work on in, and returns at most most bytes of what it writes.
func Run(ctx context.Context, work string, in io.Reader, most int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	program, err := self()
	if err != nil {
		return nil, fmt.Errorf("sandbox: find this program: %w", err)
	}
	file := &input{r: in}
	out := &output{most: most}
	said := &output{most: mostSaid, quietly: true}
	child := exec.CommandContext(ctx, program)
	child.Args = []string{"dragoman", childWord, work}
	child.Env = []string{}
	child.Dir = "/"
	child.Stdin = file
	child.Stdout = out
	child.Stderr = said
	child.SysProcAttr = alone()
	child.WaitDelay = time.Second
	err = child.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case file.failed != nil:
		return nil, file.failed
	case child.ProcessState == nil:
		return nil, fmt.Errorf("sandbox: start a child: %w", err)
	case child.ProcessState.ExitCode() == exitSaid:
		return nil, Said(strings.TrimSpace(said.b.String()))
	case err != nil:
		line, _, _ := strings.Cut(said.b.String(), "\n")
		return nil, fmt.Errorf("%w: %w: %.200q", ErrDied, err, line)
	}
	return out.b.Bytes(), nil
}

// input remembers why the file could not be read: the child only sees its end.
type input struct {
	r      io.Reader
	failed error
}

func (i *input) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		i.failed = err
	}
	return n, err
}

// output keeps what a child writes, up to most bytes. More is an error, or is left out
// quietly.
type output struct {
	b       bytes.Buffer
	most    int
	quietly bool
	full    func() // called before such an error; nil: nothing is
}

func (o *output) Write(p []byte) (int, error) {
	keep := min(len(p), o.most-o.b.Len())
	o.b.Write(p[:keep])
	if keep < len(p) && !o.quietly {
		if o.full != nil {
			o.full()
		}
		return keep, errors.New("sandbox: more than it may write")
	}
	return len(p), nil
}

//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// readsName is the folder of the workspace in which a unit's programs find the files that they
// read. What a daemon that died has left there goes with the next one's first file.
const readsName = ".reading"

// Names in the folder of one such program.
const (
	readIn   = "in"
	readOut  = "out"
	readSaid = "said"
)

// Read is [Read] in the unit: as a command in a folder of its own, with the file in it. Beside
// the folder it can write to its /tmp. What it used of memory and time is not known.
func (u *Unit) Read(ctx context.Context, p Program) (Printed, error) {
	select {
	case u.reading <- struct{}{}:
		defer func() { <-u.reading }()
	case <-ctx.Done():
		return Printed{}, context.Cause(ctx)
	}
	dir, err := u.readingFolder(p.In)
	if err != nil {
		return Printed{}, err
	}
	defer os.RemoveAll(dir) // else the next daemon does
	timed, cancel := context.WithTimeoutCause(ctx, MostProgramTime, errTime)
	defer cancel()
	if p.Seconds <= 0 || p.Seconds > MostSeconds {
		p.Seconds = MostSeconds
	}
	code, err := u.run(timed, io.Discard, request{Line: p.line(), Dir: dir, Seconds: p.Seconds})
	switch {
	case ctx.Err() != nil:
		return Printed{}, context.Cause(ctx)
	case errors.Is(err, errBusy):
		return Printed{}, Said("cannot be read now: a command of another chat runs; try again when it has ended")
	case err != nil && !errors.Is(context.Cause(timed), errTime):
		return Printed{}, err
	}
	printed, err := printedIn(dir, p.Most)
	printed.Code = code
	if timed.Err() != nil {
		printed.Ended = errTime.Error()
	}
	if printed.Ended != "" {
		printed.Code = -1
	}
	return printed, err
}

// line has a shell become p, with its limits. One block of ulimit -f is 512 bytes; the one
// more shows that it would have written too much.
func (p Program) line() string {
	words := []string{quoted(p.Path)}
	for _, a := range p.Args {
		words = append(words, quoted(a))
	}
	return fmt.Sprintf("ulimit -v %d && ulimit -t %d && ulimit -f %d && exec %s <%s >%s 2>%s",
		programMemory>>10, p.Seconds, max(p.Most, mostSaid)/512+2, strings.Join(words, " "), readIn, readOut, readSaid)
}

// readingFolder is a folder with the file in it, and nothing else.
func (u *Unit) readingFolder(in io.Reader) (dir string, err error) {
	reads := filepath.Join(u.workspace, readsName)
	u.leftovers.Do(func() { err = os.RemoveAll(reads) })
	if err == nil {
		err = os.MkdirAll(reads, 0o700)
	}
	if err == nil {
		dir, err = os.MkdirTemp(reads, "")
	}
	if err != nil {
		return "", fmt.Errorf("sandbox: make a folder for a reader: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, readIn), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(file, in)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// printedIn is what a program left in its folder, which it could fill as it liked.
func printedIn(dir string, most int) (Printed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Printed{}, fmt.Errorf("sandbox: open a reader's folder: %w", err)
	}
	defer root.Close() // nothing was written through it
	var p Printed
	p.Out, err = beginning(root, readOut, most+1)
	if err != nil {
		return Printed{}, err
	}
	if len(p.Out) > most {
		p.Out = p.Out[:most]
		p.Ended = errMost.Error()
	}
	said, err := beginning(root, readSaid, mostSaid)
	p.Said = strings.ToValidUTF8(string(said), "\uFFFD")
	return p, err
}

// beginning is the beginning of an ordinary file; nothing if there is none of that name.
func beginning(root *os.Root, name string, most int) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("sandbox: read what a reader wrote: %w", err)
	}
	defer file.Close() // nothing was written to it
	return io.ReadAll(io.LimitReader(file, int64(most)))
}

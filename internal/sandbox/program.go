package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	programWord = "sandbox-program"
	// MostProgramTime is how long a program may take on the clock.
	MostProgramTime = time.Minute
	// MostSeconds are those of the processor.
	MostSeconds   = 10
	programMemory = 144 << 20 // bytes of addresses
)

// Program is an installed program that reads a foreign file. We did not write it, so it is
// locked in as a command is, and more: nothing that it sees can be written.
type Program struct {
	// Path is its file, and Args are what comes after its name.
	Path string
	Args []string
	// In is the file, which it gets as its input.
	In io.Reader
	// Most is how many bytes it may write.
	Most int
	// Seconds of the processor, at most [MostSeconds]; 0 is that.
	Seconds int
}

// Printed is what a program left.
type Printed struct {
	Out []byte
	// Said is the beginning of what it wrote about errors.
	Said string
	// Code is its exit code, or -1 if it was ended.
	Code int
	// Ended says in words which limit ended it; "" if it ended by itself, or died of its
	// limits of memory and of the processor's time.
	Ended string
	// Time of the processor, and Memory: the most bytes that were resident, as the system
	// counts them (it adds what this process had when it started the program).
	Time   time.Duration
	Memory int64
}

var errMost = errors.New("it wrote more than it may")

// Read runs a program without a folder. The limits and the errors are those of [Exec], and
// the reader's own error if In cannot be read. Children of [Run] and programs share
// [MostChildren] places.
func Read(ctx context.Context, p Program) (Printed, error) {
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return Printed{}, context.Cause(ctx)
	}
	timed, cancel := context.WithTimeoutCause(ctx, MostProgramTime, errTime)
	defer cancel()
	inner, end := context.WithCancelCause(timed)
	defer end(nil)
	file := &input{r: p.In}
	out := &output{most: p.Most, full: func() { end(errMost) }}
	said := &output{most: mostSaid, quietly: true}
	if p.Seconds <= 0 || p.Seconds > MostSeconds {
		p.Seconds = MostSeconds
	}
	args := append([]string{programWord, strconv.Itoa(p.Seconds), p.Path}, p.Args...)
	ended, err := insideOf(inner, "/usr", streams{file, out, said}, args...)
	printed := Printed{Out: out.b.Bytes(), Said: strings.ToValidUTF8(said.b.String(), "\uFFFD"), Code: -1}
	if ended != nil {
		printed.Code = ended.ExitCode()
		printed.Time = ended.UserTime() + ended.SystemTime()
		printed.Memory = mostResident(ended)
	}
	switch why := context.Cause(inner); {
	case ctx.Err() != nil:
		return Printed{}, context.Cause(ctx)
	case errors.Is(why, errTime), errors.Is(why, errMost):
		printed.Code = -1
		printed.Ended = why.Error()
		return printed, nil
	case file.failed != nil:
		return Printed{}, file.failed
	}
	return printed, err
}

// Find returns the file of an installed program, if it is where commands find programs, or "".
func Find(name string) string {
	for _, dir := range filepath.SplitList(places) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

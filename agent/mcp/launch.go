package mcp

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Program is what a [Launch] starts.
type Program struct {
	// Server is the name of the server.
	Server string
	// Command is an absolute path, and arguments.
	Command []string
	// Env are its variables beside PATH, HOME and LANG, like NAME=value.
	Env []string
}

// Launched is a program that runs.
type Launched struct {
	// Streams are its standard input and output. Close ends the program, and CloseWrite closes
	// its standard input.
	Streams Streams
	// Errors is its standard error. It ends when the program has ended.
	Errors io.ReadCloser
}

// Streams are two streams with one end each.
type Streams interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Launch starts a program as another user than the daemon's, in a folder of its own.
type Launch func(ctx context.Context, p Program) (*Launched, error)

// launchProgram lets start start the program of s.
func launchProgram(ctx context.Context, s *Server, start Launch) (*process, error) {
	path, err := findProgram(s.Command[0], "")
	if err != nil {
		return nil, errNoProgram(s)
	}
	started, err := start(ctx, Program{Server: s.Name, Command: append([]string{path}, s.Command[1:]...), Env: variables(s)})
	if err != nil {
		return nil, fmt.Errorf("the unit for servers does not start it: %w", err)
	}
	p := &process{in: inputOf{started.Streams}, out: started.Streams, errors: &tail{}, exited: make(chan struct{})}
	p.filter = newFilter(started.Streams, &tail{})
	p.kill = func() {
		_ = started.Streams.Close()
		// Who starts programs ends this one now. If it does not, it is given up.
		time.AfterFunc(endGrace, func() { _ = started.Errors.Close() })
	}
	p.ended = func() {
		_, _ = io.Copy(p.errors, started.Errors) // how that ended says nothing
		_ = started.Errors.Close()
	}
	return p, nil
}

// inputOf is the standard input of a program that was launched.
type inputOf struct{ Streams }

// Close closes it alone.
func (i inputOf) Close() error { return i.CloseWrite() }

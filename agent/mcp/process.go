package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// endGrace is how long a program may take to end after its stdin was closed.
const endGrace = time.Second

// process is a running program: its stdin and its filtered stdout.
type process struct {
	in     io.WriteCloser
	out    io.Closer
	filter *filter
	errors *tail
	kill   func() // ends it by force
	ended  func() // returns when it has ended, and nothing is left of it
	exited chan struct{}
	once   sync.Once
}

// errNoProgram is the error for a program that is not there.
func errNoProgram(s *Server) error {
	return fmt.Errorf("its program %s cannot be found: write its absolute path", filepath.Base(s.Command[0]))
}

// variables are those of the configuration.
func variables(s *Server) (list []string) {
	for name, value := range s.Env {
		list = append(list, name+"="+value)
	}
	return list
}

// startProgram starts the program of s in a process group of its own. It gets no variable of
// ours but PATH, so no key of ours either.
func startProgram(s *Server, home string) (*process, error) {
	path, err := findProgram(s.Command[0], home)
	if err != nil {
		return nil, errNoProgram(s)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	cmd := exec.Command(path, s.Command[1:]...)
	p := &process{out: read, errors: &tail{}, exited: make(chan struct{})}
	cmd.Dir = home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}, variables(s)...)
	cmd.Stdout = write
	cmd.Stderr = p.errors
	cmd.WaitDelay = endGrace // a child of it may hold stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.in, err = cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = write.Close() // the program has it now
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("its program does not start: %w", reasonOf(err))
	}
	p.filter = newFilter(read, &tail{})
	p.kill = func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	p.ended = func() {
		_ = cmd.Wait() // how it ended says less than what it wrote
		p.kill()
	}
	return p, nil
}

// reasonOf is err without the path that it names, which people know and the model need not.
func reasonOf(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// wait returns when the program has ended and nothing is left of its group.
func (p *process) wait() {
	p.ended()
	close(p.exited)
}

// Close ends the program: by closing its stdin, and if that is not enough by force. It may be
// called several times; each returns when the program has ended.
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.in.Close()
		select {
		case <-p.exited:
		case <-time.After(endGrace):
			p.kill()
		}
	})
	<-p.exited
	_ = p.out.Close()
	return nil
}

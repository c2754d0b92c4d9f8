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
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	filter *filter
	errors *tail
	exited chan struct{}
	once   sync.Once
}

// startProgram starts the program of s in a process group of its own. It gets no variable of
// ours but PATH, so no key of ours either.
func startProgram(s *Server, home string) (*process, error) {
	path, err := exec.LookPath(s.Command[0])
	if err != nil {
		return nil, fmt.Errorf("its program %s cannot be found: write its absolute path", filepath.Base(s.Command[0]))
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	p := &process{cmd: exec.Command(path, s.Command[1:]...), out: read, errors: &tail{}, exited: make(chan struct{})}
	p.cmd.Dir = home
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	for name, value := range s.Env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout = write
	p.cmd.Stderr = p.errors
	p.cmd.WaitDelay = endGrace // a child of it may hold stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.in, err = p.cmd.StdinPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	_ = write.Close() // the program has it now
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("its program does not start: %w", reasonOf(err))
	}
	p.filter = newFilter(read, &tail{})
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
	_ = p.cmd.Wait() // how it ended says less than what it wrote
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
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
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	<-p.exited
	_ = p.out.Close()
	return nil
}

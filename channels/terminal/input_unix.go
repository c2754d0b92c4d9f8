//go:build unix

package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// poller waits with poll(2): a read from a terminal cannot be given a
// deadline, and must not outlive the chat, or it would eat what is typed next.
type poller struct {
	fd       int
	pr, pw   *os.File
	readable []unix.PollFd
}

func newWaiter(f *os.File) waiter {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	return &poller{fd: int(f.Fd()), pr: r, pw: w, readable: []unix.PollFd{
		{Fd: int32(f.Fd()), Events: unix.POLLIN}, {Fd: int32(r.Fd()), Events: unix.POLLIN},
	}}
}

func (p *poller) wait() bool {
	for {
		_, err := unix.Poll(p.readable, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return true // let the read say what is wrong
		case p.readable[1].Revents != 0:
			return false
		default:
			return true
		}
	}
}

func (p *poller) wake() { _ = p.pw.Close() }

func (p *poller) close() { _ = p.pr.Close() }

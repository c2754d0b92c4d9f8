package terminal

import (
	"context"
	"io"
	"os"
)

// input reads bytes beside the loop. read is closed at the end of the input.
type input struct {
	in   io.Reader
	read chan []byte
	wait waiter // nil: reading cannot be broken off
}

// waiter waits until a file can be read.
type waiter interface {
	wait() bool // false: it was woken instead
	wake()
	close()
}

func newInput(in io.Reader) *input {
	i := &input{in: in, read: make(chan []byte)}
	if f, ok := in.(*os.File); ok {
		i.wait = newWaiter(f)
	}
	return i
}

// run reads until the input or ctx ends.
func (i *input) run(ctx context.Context) {
	defer close(i.read)
	if i.wait != nil {
		defer i.wait.close()
	}
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		if i.wait != nil && !i.wait.wait() {
			return
		}
		n, err := i.in.Read(buf)
		if n > 0 {
			select {
			case i.read <- append([]byte(nil), buf[:n]...):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stop makes run return: at once where the input is a file, and else when the
// read under way does.
func (i *input) stop() {
	if i.wait != nil {
		i.wait.wake()
	}
}

package terminal

import (
	"context"
	"io"
)

// read hands on what comes from in until it ends or ctx does. A read that is
// under way when ctx ends cannot be broken off: it takes what comes next, and
// is not waited for.
func read(ctx context.Context, in io.Reader, input chan<- []byte) {
	defer close(input)
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case input <- append([]byte(nil), buf[:n]...):
			case <-ctx.Done():
				return
			}
		}
		if err != nil || ctx.Err() != nil {
			return
		}
	}
}

package terminal

import (
	"context"
	"io"
)

// read forwards input until in or ctx ends. A read under way when ctx ends cannot be
// interrupted: it still consumes the next input, and nothing waits for it.
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

package sandbox_test

import (
	"bytes"
	"testing"

	"dragoman/internal/sandbox"
)

// Whatever comes at a helper's socket, reading it ends, takes nothing after it and little
// memory.
func FuzzReadRequest(f *testing.F) {
	for _, seed := range []string{"", "r\x00\x00\x00\x02{}rest", "r\xff\xff\xff\xff{}", "o\x00\x00\x00\x01x", "r\x00\x00\x00\x09{\"line\":7}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		err := sandbox.ReadRequest(in)
		if read := len(data) - in.Len(); err == nil && (data[0] != 'r' || read != 5+int(data[3])<<8+int(data[4])+int(data[2])<<16) {
			t.Errorf("of %q it reads %d bytes", data, read)
		}
	})
}

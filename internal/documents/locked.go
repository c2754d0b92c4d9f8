package documents

import (
	"bytes"
	"fmt"
	"io"
)

// oleHead begins the files of old office programs, and those of new ones that a
// password protects.
const oleHead = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// oleError says which of the two r is. A protected document has a stream of this name,
// in UTF-16, in its directory.
func oleError(r io.ReaderAt, size int64) error {
	var name []byte
	for _, c := range []byte("EncryptedPackage") {
		name = append(name, c, 0)
	}
	const window = 64 << 10
	const most = 16 << 20 // the directory stands near the beginning or the end of what people send
	part := make([]byte, window)
	for at := int64(0); at < min(size, most); at += window - int64(len(name)) {
		n, _ := r.ReadAt(part, at)
		if bytes.Contains(part[:n], name) {
			return ErrLocked
		}
	}
	return fmt.Errorf("%w: it is of an old office program", ErrKind)
}

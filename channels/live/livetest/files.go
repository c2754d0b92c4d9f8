package livetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"dragoman/channels"
	"dragoman/channels/live"
)

// Files is a [live.Files] in memory. The zero value is empty; it is safe for
// concurrent use.
type Files struct {
	mu    sync.Mutex
	files map[string][]byte
	full  error
}

var _ live.Files = (*Files)(nil)

// Put stores the content of r, or fails as [Files.Fill] said.
func (d *Files) Put(_ context.Context, r io.Reader) (ref string, size int64, err error) {
	b, err := io.ReadAll(r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err = errors.Join(err, d.full); err != nil {
		return "", 0, err
	}
	if d.files == nil {
		d.files = map[string][]byte{}
	}
	ref = fmt.Sprint("ref-", len(d.files))
	d.files[ref] = b
	return ref, int64(len(b)), nil
}

// Sent opens attachment i of m.
func (d *Files) Sent(m channels.Inbound, i int) (io.ReadCloser, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, found := d.files[m.Attachments[i].Ref]
	if !found {
		return nil, 0, fmt.Errorf("livetest: %w", fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
}

// Fill makes Put fail with why; nil ends that.
func (d *Files) Fill(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = why
}

package app

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// pageSessions is the file with who is logged in on the page: see [console.SessionStore].
type pageSessions string

// Load returns nil where there is none.
func (p pageSessions) Load() ([]byte, error) {
	b, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Save replaces the file. Its loss costs a login, so nothing is synced.
func (p pageSessions) Save(text []byte) error {
	fresh := string(p) + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, string(p))
}

// maxConnections bounds those of the page. Channels and the store need their
// descriptors whatever the page is asked for, so it has a quarter of them.
func maxConnections() int {
	const most = 1024
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return most
	}
	return int(max(16, min(most, limit.Cur/4)))
}

package app

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// pageSessions is the file with the logins of the page: see [console.SessionStore].
type pageSessions string

// Load returns nil if there is no file.
func (p pageSessions) Load() ([]byte, error) {
	b, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Save replaces the file without fsync: losing it only costs a login.
func (p pageSessions) Save(text []byte) error {
	fresh := string(p) + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, string(p))
}

// maxConnections is the limit of the page's connections: a quarter of the file
// descriptors, so that channels and the store always have enough.
func maxConnections() int {
	const most = 1024
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return most
	}
	return int(max(16, min(most, limit.Cur/4)))
}

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// stateDir is the daemon's folder, held by a lock: one daemon a folder.
type stateDir struct {
	path string
	lock *os.File
}

const (
	databaseName = "dragoman.db"
	folderName   = "sessions" // of the store of type file
	socketName   = "dragoman.sock"
	lockName     = "dragoman.lock"
	auditName    = "audit.log"
	erasingName  = "erasing.json" // while an erasure goes on
)

func (s *stateDir) file(name string) string { return filepath.Join(s.path, name) }

// plainPathError puts the usual causes into a sentence.
func plainPathError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not write there (%w)", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the file system is read-only (%w)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk is full (%w)", err)
	}
	return err
}

// shortPath writes the home directory as "~", for people. The home of the
// service is its state, where "~" would tell nobody anything.
func shortPath(path, state string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" || home == state {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

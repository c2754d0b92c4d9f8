// Package storage is everything durable that a configuration names: the state
// directory, the store, the files of messages and the linked devices, wherever
// they are. It opens and checks them, and copies all of them at once: a backup,
// a restore, a migration.
//
// The promise: one process at a time has a state directory ([Wait]). A copy takes
// its place when it is whole, durable and found equal, and not before; what was
// there is kept, or was empty. Whatever fails or dies on the way leaves what there
// was. A store that is only to be read is not changed, not by a byte: a view of it
// is.
//
// The package starts no goroutines but those of the stores, which their Close
// ends.
package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"dragoman/internal/config"
	"dragoman/internal/llm"
)

// Dir is the daemon's folder, held by a lock: one daemon a folder.
type Dir struct {
	Path string
	lock *os.File
}

// Names in the state directory.
const (
	databaseName = "dragoman.db"
	folderName   = "sessions" // of the store of type file
	socketName   = "dragoman.sock"
	lockName     = "dragoman.lock"
	AuditName    = "audit.log"
	ErasingName  = "erasing.json" // while an erasure goes on
	// PageSessionsName is who is logged in on the page. It holds no secret.
	PageSessionsName = "page-sessions.json"
)

// Socket is the operator's socket of the daemon that serves the folder at path.
func Socket(path string) string { return filepath.Join(path, socketName) }

// Private are the files in s that no workspace may contain.
func (s *Dir) Private(cfg *config.Config) []string {
	files := []string{s.File(lockName), s.File(mediaName), s.File(draftsName), s.File(AuditName), s.File(ErasingName), s.File(llm.NotesName)}
	for _, t := range storeTypes {
		if t.name != "" {
			files = append(files, s.File(t.name))
		}
	}
	for _, name := range cfg.OfType(config.TypeWhatsApp) {
		files = append(files, deviceFile(cfg, name))
	}
	return files
}

// File is where the file or folder of that name is.
func (s *Dir) File(name string) string { return filepath.Join(s.Path, name) }

// Named are the files and folders in s whose names match pattern. What s itself
// is called may look like a pattern.
func (s *Dir) Named(pattern string) []string {
	names, _ := fs.Glob(os.DirFS(s.Path), pattern)
	for i, name := range names {
		names[i] = s.File(name)
	}
	return names
}

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

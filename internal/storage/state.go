// Package storage opens and checks everything durable that a configuration names: the
// state directory, the store, the files of messages and the linked devices, wherever
// they are. It also copies all of them at once: a backup, a restore, a migration.
//
// The promise: only one process at a time has a state directory ([Lock]). A copy is put
// in place only when it is complete, durable and found equal. What it replaces is kept,
// unless that is empty. If a copy fails or dies midway, everything stays as it was.
//
// The package starts no goroutines. The stores have their own, which Close ends.
package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
	"dragoman/internal/llm"
)

// Dir is a state directory, locked by this process.
type Dir struct {
	Path string
	lock *os.File
}

// Names in the state directory.
const (
	databaseName = "dragoman.db"
	folderName   = "sessions" // a store of type file
	socketName   = "dragoman.sock"
	lockName     = "dragoman.lock"
	AuditName    = "audit.log"
	ErasingName  = "erasing.json" // exists during an erasure
	// PageSessionsName has the logins of the page. It contains no secret.
	PageSessionsName = "page-sessions.json"
)

// Socket is the operator's socket of the daemon that serves the folder at path.
func Socket(path string) string { return filepath.Join(path, socketName) }

// Private lists the files in s that must not be in a workspace.
func (s *Dir) Private(cfg *config.Config) []string {
	files := []string{s.File(lockName), s.File(mediaName), s.File(draftsName), s.File(AuditName), s.File(ErasingName), s.File(nodeIDName), s.File(llm.NotesName)}
	for _, t := range storeTypes {
		if t.name != "" {
			files = append(files, s.File(t.name))
		}
	}
	for _, name := range cfg.OfType(whatsapp.Type.Name) {
		files = append(files, deviceFile(cfg, name))
	}
	return files
}

// File returns the path of name in s.
func (s *Dir) File(name string) string { return filepath.Join(s.Path, name) }

// Named returns the paths of the files and folders in s whose names match pattern. The
// path of s itself is not part of the pattern.
func (s *Dir) Named(pattern string) []string {
	names, _ := fs.Glob(os.DirFS(s.Path), pattern)
	for i, name := range names {
		names[i] = s.File(name)
	}
	return names
}

// plainPathError explains the usual causes in plain words.
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

// lowDisk is how many free bytes count as an almost full disk. Starting and erasing
// need a part of them, so the operator is warned before they fail.
const lowDisk = 16 << 20

// FreeBytes returns how many bytes can be written on the disk of dir. known is false if
// the file system does not tell.
func FreeBytes(dir string) (bytes int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// DiskWarnings returns a warning if the disk of the state directory is almost full.
func DiskWarnings(cfg *config.Config) []string {
	free, known := FreeBytes(cfg.StateDir)
	if !known || free >= lowDisk {
		return nil
	}
	return []string{fmt.Sprintf("the disk of %s is full or almost full: only %d kB are free; make room", cfg.StateDir, free>>10)}
}

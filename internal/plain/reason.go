package plain

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"dragoman/sessions"
)

// reasons are the usual causes, and the words of the databases for them where
// no error value survives.
var reasons = []struct {
	is    error
	words string
	plain string
}{
	{nil, "the disk of postgresql", "The disk of PostgreSQL is full: messages are not accepted until there is space."},
	{syscall.ENOSPC, "disk is full", "The disk is full: messages are not accepted until there is space."},
	{syscall.EDQUOT, "quota exceeded", "The disk quota is used up: messages are not accepted until there is space."},
	{syscall.EROFS, "readonly", "The state directory is read-only: messages are not accepted."},
	{fs.ErrPermission, "permission denied", "The state directory cannot be written: its permissions are wrong."},
	{syscall.EIO, "disk i/o error", "The disk reports input/output errors."},
	{nil, "malformed", "The database is damaged. Dragoman did not touch it; restore a backup."},
	{nil, "not a database", "The database file is not a database. Dragoman did not touch it; restore a backup."},
	{context.DeadlineExceeded, "database is locked", "The store does not answer in time."},
}

// DiskFull reports whether the store fails because a disk or a quota is full: the same
// request works as soon as there is space.
func DiskFull(err error) bool {
	text := strings.ToLower(err.Error())
	for _, r := range reasons[:diskReasons] {
		if (r.is != nil && errors.Is(err, r.is)) || strings.Contains(text, r.words) {
			return true
		}
	}
	return false
}

// diskReasons are how many of the reasons, the first ones, say that a disk is full.
const diskReasons = 3

// Reason says in one sentence why the store fails, as far as Dragoman knows.
func Reason(err error) string {
	if newer, ok := errors.AsType[*sessions.NewerError](err); ok {
		return newer.Sentence()
	}
	if refuses, ok := errors.AsType[*sessions.RefusesError](err); ok {
		return "Since " + refuses.Since.UTC().Format("15:04:05") + " UTC no message could be stored. " + Reason(errors.New(refuses.Why))
	}
	text := strings.ToLower(err.Error())
	for _, r := range reasons {
		if (r.is != nil && errors.Is(err, r.is)) || strings.Contains(text, r.words) {
			return r.plain
		}
	}
	return "The store cannot write; the daemon's log says why."
}

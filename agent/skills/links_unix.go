//go:build unix

package skills

import (
	"io/fs"
	"syscall"
)

// nonBlocking: a pipe in the place of a file does not hold up whoever opens it.
const nonBlocking = syscall.O_NONBLOCK

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(s.Nlink)
}

//go:build !linux

package sandbox

import (
	"os"
	"runtime/debug"
	"syscall"
)

// self is this program's file.
func self() (string, error) { return os.Executable() }

// alone: other systems end no child with its parent. The end of its input does.
func alone() *syscall.SysProcAttr { return nil }

// limit binds this process as far as Go can: memory softly, and no more than one
// processor. The parent's patience is the limit of time.
func limit() error {
	debug.SetMemoryLimit(96 << 20)
	return nil
}

// limitMemory does nothing more.
func limitMemory(uint64) error { return nil }

// mostResident is not known.
func mostResident(*os.ProcessState) int64 { return 0 }

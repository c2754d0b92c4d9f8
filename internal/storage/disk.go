package storage

import (
	"fmt"
	"syscall"

	"dragoman/internal/config"
)

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

package bench_test

import (
	"os"

	"golang.org/x/sys/unix"
)

func init() {
	dropCached = func(f *os.File) error {
		if err := f.Sync(); err != nil { // pages that are not on the disk stay
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
}

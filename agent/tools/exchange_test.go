package tools_test

import "golang.org/x/sys/unix"

// renameExchange lets a and b change places in one step.
func renameExchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

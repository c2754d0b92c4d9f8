package tools_test

import "golang.org/x/sys/unix"

// renameExchange swaps a and b atomically.
func renameExchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

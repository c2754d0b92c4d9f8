//go:build !unix

package terminal

import "os"

// newWaiter: elsewhere a read that is under way ends when its input does.
func newWaiter(*os.File) waiter { return nil }

package testkit

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// given counts the ports that this process was given.
var given atomic.Int64

// FreePort is a port of this machine at which nobody listens, for a program that listens
// later. No server of another test takes it meanwhile: Linux gives no port below 32768 to
// whoever asks for any, a process gets none twice, and each begins elsewhere.
func FreePort(t testing.TB) int {
	t.Helper()
	const (
		first = 10_000
		ports = 22_000
		each  = 251
	)
	for range each {
		port := first + (os.Getpid()*each+int(given.Add(1)))%ports
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// FreeAddress is one with a [FreePort].
func FreeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(t))
}

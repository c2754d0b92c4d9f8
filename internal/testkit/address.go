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

// FreeAddress is an address of this machine at which nobody listens, for a program that
// listens later. No server of another test takes it meanwhile: Linux gives no port below
// 32768 to whoever asks for any, a process gets none twice, and each begins elsewhere.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const (
		first = 10_000
		ports = 22_000
		each  = 251
	)
	for range each {
		port := first + (int64(os.Getpid())*each+given.Add(1))%ports
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

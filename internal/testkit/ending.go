package testkit

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// Ending serves HTTP on a Unix socket as a daemon that dies over each request:
// the connection ends without an answer. It returns the path of the socket and
// what ends the server as well, which the end of the test does by itself.
func Ending(t testing.TB) (socket string, end func()) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatalf("testkit: listen: %v", err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	return socket, srv.Close
}

package app_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// Whoever opens connections to the page for ever neither takes the files that
// channels and the store need nor keeps a probe waiting.
func TestConnectionsWithoutEnd(t *testing.T) {
	r := newPlace(t, "").run()
	addr := r.status().Listen
	var first net.Conn
	for range 1024 + 16 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if first == nil {
			first = conn
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: most}
	resp, err := client.Get("http://" + addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("healthz = %s", resp.Status)
	}
	if err := first.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("more than 1024 connections are open")
	}
}

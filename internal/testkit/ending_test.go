package testkit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"dragoman/internal/testkit"
)

func TestEnding(t *testing.T) {
	socket, end := testkit.Ending(t)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	ask := func() error {
		res, err := (&http.Client{Transport: transport}).Post("http://socket/", "text/plain", nil)
		if err == nil {
			err = res.Body.Close()
		}
		return err
	}
	for range 2 {
		if err := ask(); !errors.Is(err, io.EOF) {
			t.Errorf("a request that is not answered: %v, want %v", err, io.EOF)
		}
	}
	end()
	if err, dial := ask(), (*net.OpError)(nil); !errors.As(err, &dial) || dial.Op != "dial" {
		t.Errorf("a request after the end: %v, want that nobody listens", err)
	}
}

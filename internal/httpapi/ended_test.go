package httpapi_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

// A daemon that dies over a request leaves a sentence: what may have become of
// it, and what to do.
func TestDaemonEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(ln) }()
	c := httpapi.Dial(path)
	defer c.Close()
	ctx, k := t.Context(), channels.MustKey("x:1")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"status":    {second(c.Status(ctx)), "nothing was changed, so the command can be given again"},
		"export":    {c.Dump(ctx, nil, nil), "nothing was changed, so the command can be given again"},
		"rename":    {c.Rename(ctx, k, "x"), "it may be done or not; give the same command again"},
		"configure": {second(c.Configure(ctx, httpapi.Change{Key: k})), "it may be done or not; give the same command again"},
		"job":       {c.RunJob(ctx, "x"), "it would run twice"},
		"erase":     {second(c.Erase(ctx, sessions.Erasure{})), "it erases what is left"},
	} {
		var ended *httpapi.EndedError
		if got := httpapi.Plain(tt.err); !errors.As(tt.err, &ended) || !strings.Contains(got, tt.want) || strings.Contains(got, "EOF") {
			t.Errorf("%s: %q, want %q in it", name, got, tt.want)
		}
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	<-served
	if got := httpapi.Plain(c.RunJob(ctx, "x")); !strings.Contains(got, "nothing was done") {
		t.Errorf("after the end: %q, want that nothing was done", got)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.RunJob(gone, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

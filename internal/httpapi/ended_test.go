package httpapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/httpapi"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// If the daemon ends during a request, the error says what may have happened
// and what to do.
func TestDaemonEnds(t *testing.T) {
	socket, end := testkit.Ending(t)
	c := httpapi.Dial(socket)
	defer c.Close()
	ctx, k := t.Context(), channels.MustKey("x:1")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"status":    {second(c.Status(ctx)), "nothing was changed, so run the command again"},
		"export":    {c.Dump(ctx, nil, nil), "nothing was changed, so run the command again"},
		"rename":    {c.Rename(ctx, k, "x"), "it may or may not be done; run the same command again"},
		"configure": {second(c.Configure(ctx, httpapi.Change{Key: k})), "it may or may not be done; run the same command again"},
		"job":       {c.RunJob(ctx, "x"), "or it may run twice"},
		"erase":     {second(c.Erase(ctx, sessions.Erasure{})), "to erase what is left"},
	} {
		var ended *httpapi.EndedError
		if got := httpapi.Plain(tt.err); !errors.As(tt.err, &ended) || !strings.Contains(got, tt.want) || strings.Contains(got, "EOF") {
			t.Errorf("%s: %q, want %q in it", name, got, tt.want)
		}
	}
	end()
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

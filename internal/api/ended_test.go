package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/plain"
	"dragoman/internal/testkit"
)

// If the daemon ends during a request, the error says what may have happened
// and what to do.
func TestDaemonEnds(t *testing.T) {
	socket, end := testkit.Ending(t)
	c := api.Dial(socket)
	defer c.Close()
	ctx, k := t.Context(), channels.MustKey("x:1")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"status":    {second(api.ReadStatus.Call(ctx, c, api.None{})), "nothing was changed, so run the command again"},
		"export":    {c.Dump(ctx, nil, nil), "nothing was changed, so run the command again"},
		"rename":    {api.Rename.Call(ctx, c, api.Title{Key: k, Title: "x"}), "it may or may not be done; run the same command again"},
		"configure": {second(api.Configure.Call(ctx, c, api.Change{Key: k})), "it may or may not be done; run the same command again"},
		"job":       {api.RunJob.Call(ctx, c, api.JobName{Name: "x"}), "or it may run twice"},
		"erase":     {second(api.Erase.Call(ctx, c, api.Erasure{})), "to erase what is left"},
	} {
		var ended *api.EndedError
		if got := plain.Text(tt.err); !errors.As(tt.err, &ended) || !strings.Contains(got, tt.want) || strings.Contains(got, "EOF") {
			t.Errorf("%s: %q, want %q in it", name, got, tt.want)
		}
	}
	end()
	if got := plain.Text(api.RunJob.Call(ctx, c, api.JobName{Name: "x"})); !strings.Contains(got, "nothing was done") {
		t.Errorf("after the end: %q, want that nothing was done", got)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := api.RunJob.Call(gone, c, api.JobName{Name: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

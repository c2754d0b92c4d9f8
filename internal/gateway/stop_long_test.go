package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/internal/gateway"
)

// Whoever stops a long answer gets its beginning and, where the network has files, the rest
// as one.
func TestStoppedLongAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		long  int // bytes of the answer when it is stopped
		files bool
		want  int // messages
		file  bool
	}{
		"short":               {100, true, 1, false},
		"two pages":           {7000, true, 2, false},
		"40,000 characters":   {40_000, true, 2, true},
		"three pages":         {9000, true, 2, true},
		"without files":       {40_000, false, 11, false},
		"far too much for it": {300_000, true, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := "```go\n" + strings.Repeat("line of it\n", test.long/11+1)[:test.long-6]
				w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
					p := paged{w.net, 4000}
					b.Channel = p
					if test.files {
						b.Channel = filing{p}
					}
					w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
						turn.Progress(agent.Progress{Text: answer})
						<-ctx.Done()
						return "", ctx.Err()
					}
				})
				w.say("1", "go on for ever")
				time.Sleep(5 * time.Second)
				w.say("1", "/stop")
				time.Sleep(time.Minute)
				synctest.Wait()
				w.net.mu.Lock()
				sent := w.net.sent
				w.net.mu.Unlock()
				last := sent[len(sent)-1]
				if len(sent) != test.want || (last.File != nil) != test.file {
					t.Fatalf("%d messages, the last a file: %t; want %d, %t", len(sent), last.File != nil, test.want, test.file)
				}
				first := sent[0].Text
				if test.file && (!strings.HasSuffix(first, "\n```\n\n*(stopped)*") || len(first) > 3100 || !strings.Contains(last.File.Content, answer)) {
					t.Errorf("the first ends with %q, and the file has %d bytes", first[max(0, len(first)-40):], len(last.File.Content))
				}
				if !test.file && !strings.HasSuffix(last.Text, "*(stopped)*") {
					t.Errorf("the last ends with %q", last.Text[max(0, len(last.Text)-40):])
				}
			})
		})
	}
}

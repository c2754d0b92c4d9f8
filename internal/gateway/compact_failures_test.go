package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// badSummariser answers people well and makes summaries as the test says, after
// a minute.
type badSummariser struct {
	plainModel
	summary func(context.Context) (agent.Response, error)
	mu      sync.Mutex
	asked   int
}

func (f *badSummariser) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	if !strings.Contains(r.Messages[len(r.Messages)-1].Content, "<transcript>") {
		return f.plainModel.Complete(ctx, r, onDelta)
	}
	f.mu.Lock()
	f.asked++
	f.mu.Unlock()
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return agent.Response{}, ctx.Err()
	}
	return f.summary(ctx)
}

// dump is everything that the store holds, byte for byte.
func (w *world) dump() []byte {
	w.t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := w.mem.Dump(w.t.Context(), nil, func(r sessions.Record) error { return enc.Encode(r) }); err != nil {
		w.t.Fatal(err)
	}
	return b.Bytes()
}

// TestCase18FailureKeepsEverything: whatever a summariser does wrong, the store
// stays byte for byte the same, the next turns are answered as usual, and the
// summariser is asked again only after a pause.
func TestCase18FailureKeepsEverything(t *testing.T) {
	says := func(text, finish string, calls ...sessions.ToolCall) func(context.Context) (agent.Response, error) {
		return func(context.Context) (agent.Response, error) {
			return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, Content: text, ToolCalls: calls}, Finish: finish}, nil
		}
	}
	fails := func(err error) func(context.Context) (agent.Response, error) {
		return func(context.Context) (agent.Response, error) { return agent.Response{}, err }
	}
	for name, test := range map[string]struct {
		summary func(context.Context) (agent.Response, error)
		asked   int // model calls of one attempt
		// soon is how many attempts there are once the conversation goes on, after
		// eight minutes; 0: still the first one only.
		soon int
	}{
		"an error":         {fails(&agent.ModelError{Kind: agent.ErrorRefused, Err: errors.New("no")}), 1, 0},
		"temporary errors": {fails(&agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("busy")}), 4, 2},
		"a timeout": {func(ctx context.Context) (agent.Response, error) {
			<-ctx.Done()
			return agent.Response{}, ctx.Err()
		}, 1, 0},
		// Once more with less room for the answer, which many servers count.
		"too long for its window": {fails(&agent.ModelError{Kind: agent.ErrorContext, Err: errors.New("too long")}), 2, 0},
		"empty":                   {says("", "stop"), 2, 0},
		"whitespace":              {says(" \n\t", "stop"), 2, 0},
		"cut":                     {says("They talked ab", "length"), 2, 0},
		"a tool call only":        {says("", "tool_calls", sessions.ToolCall{ID: "a", Name: "get", Arguments: "{}"}), 2, 0},
		"a panic":                 {func(context.Context) (agent.Response, error) { panic("bug") }, 1, 0},
	} {
		t.Run("case 18: "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &badSummariser{summary: test.summary}
				ag, err := agent.New(m, nil, agent.Options{Compaction: window.Presets["picoclaw"]})
				if err != nil {
					t.Fatal(err)
				}
				n := &noting{Agent: ag}
				w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.real = n })
				w.talk(11)
				before := w.dump()
				if n.count() != 1 {
					t.Fatalf("%d summaries under way, want 1", n.count())
				}
				time.Sleep(8 * time.Minute) // it has failed by now, in whatever way
				if w.seen.get("summary failed") != 1 || m.asked != test.asked {
					t.Errorf("%d failures and %d model calls, want 1 and %d", w.seen.get("summary failed"), m.asked, test.asked)
				}
				if after := w.dump(); !bytes.Equal(before, after) {
					t.Errorf("the store was\n%s\nand is\n%s", before, after)
				}
				for i := range 5 {
					w.say("1", fmt.Sprint("later ", i))
					synctest.Wait()
				}
				if texts := w.net.texts("1"); len(texts) != 16 || texts[15] != "noted" {
					t.Errorf("%d answers after it, want 16", len(texts))
				}
				if want := max(test.soon, 1); n.count() != want {
					t.Errorf("%d attempts within ten minutes, want %d", n.count(), want)
				}
				time.Sleep(10 * time.Minute)
				w.say("1", "once more")
				synctest.Wait()
				if want := max(test.soon, 1) + 1; n.count() != want {
					t.Errorf("%d attempts after ten minutes, want %d", n.count(), want)
				}
				time.Sleep(10 * time.Minute)
			})
		})
	}
}

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
)

// Whatever servers send, calls end with a result or a sentence, a good server works beside
// them, and the pool ends. DRAGOMAN_RANDOM=10m tries others for so long.
func TestRandomServers(t *testing.T) {
	const first = 1
	long, err := time.ParseDuration(os.Getenv("DRAGOMAN_RANDOM"))
	if err != nil {
		t.Parallel()
		randomServers(t, first)
		return
	}
	began := time.Now()
	before := goleak.IgnoreCurrent()
	seed := uint64(began.UnixNano())
	for ; time.Since(began) < long && !t.Failed(); seed += crowd {
		randomServers(t, seed)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%d MB of the system, %d goroutines", m.Sys>>20, runtime.NumGoroutine())
	}
	goleak.VerifyNone(t, before)
}

// crowd is how many servers are tried at once.
const crowd = 12

// randomServers tries a crowd of them, every other one over HTTP.
func randomServers(t *testing.T, seed uint64) {
	t.Helper()
	servers := []mcp.Server{{Name: "good", Command: mcptest.Command("good")}}
	for n := range uint64(crowd) {
		s := mcp.Server{Name: fmt.Sprint("random", seed+n)}
		if n%2 == 0 {
			s.Command = mcptest.Command(mcptest.Random, fmt.Sprint(seed+n))
		} else {
			web := httptest.NewUnstartedServer(mcptest.Handler(mcptest.Random, fmt.Sprint(seed+n)))
			web.Config.ErrorLog = log.New(io.Discard, "", 0) // it does what no handler should
			web.Start()
			defer web.Close()
			defer web.CloseClientConnections()
			s.URL = web.URL
		}
		servers = append(servers, s)
	}
	pool := mcp.New(servers, &notes{}, mcp.Options{Home: t.TempDir(), Wait: time.Second, Call: shortCall()})
	var all sync.WaitGroup
	var calls atomic.Int64
	for _, s := range servers[1:] {
		all.Go(func() { calls.Add(int64(bother(t, pool, s.Name))) })
	}
	all.Wait()
	t.Logf("servers from %d on were called %d times", seed, calls.Load())
	if got, err := say(t, pool, "good__echo", "still here"); !strings.Contains(got, "still here") {
		t.Errorf("beside servers from %d on, the good one says %q, %v", seed, got, err)
	}
	if err := pool.Close(); err != nil {
		t.Errorf("with servers from %d on: %v", seed, err)
	}
}

// bother calls the tools of a server, answers what it asks, and has it tested.
func bother(t *testing.T, pool *mcp.Pool, server string) (calls int) {
	t.Helper()
	within := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 700*time.Millisecond)
	}
	ctx, stop := within()
	_, _ = pool.Test(ctx, server) // its error is a sentence, or there is none
	stop()
	for _, tool := range pool.Tools(t.Context()) {
		if !strings.HasPrefix(tool.Spec().Name, server+"__") || calls == 5 {
			continue
		}
		calls++
		var answer *agent.Answer
		for asked := 0; asked < 10; asked++ {
			ctx, stop := within()
			began := time.Now()
			got, err := tool.Run(ctx, agent.Call{Args: json.RawMessage(`{"text":"x"}`), Answer: answer})
			stop()
			if took := time.Since(began); took > stuck {
				t.Errorf("a call of %s took %s", server, took)
			}
			asks, is := errors.AsType[*agent.Asking](err)
			if !is {
				if len(got) > 70<<10 || err != nil && len(err.Error()) > 2000 || err == nil && got == "" {
					t.Errorf("%s gives %.100q, %.300v", server, got, err)
				}
				break
			}
			answer = &agent.Answer{State: asks.State, Action: agent.Accepted, Values: map[string]any{"name": "x"}}
		}
	}
	return calls
}

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"
)

// stuck is how long a call may take on a busy machine; the pools here allow each 8 s.
const stuck = 30 * time.Second

// shortCall is how long a call may take of which no answer is expected.
func shortCall() time.Duration {
	if testkit.Race {
		return 12 * time.Second // the good one waits for the processor, too
	}
	return 8 * time.Second
}

// newPool is a pool that is soon at the end of its patience.
func newPool(t *testing.T, servers ...mcp.Server) *mcp.Pool {
	t.Helper()
	call := shortCall()
	pool := mcp.New(servers, &notes{}, mcp.Options{Home: t.TempDir(), Start: 20 * time.Second, Call: call, LongCall: 2 * call})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// misbehaving says what comes of one behaviour. Its calls of work either give what work
// matches, in their result or their error, or its tools are missing, with a reason that off
// matches. Afterwards echo works, unless gone.
type misbehaving struct {
	name, work, off string
	gone            bool
	args            []string
}

// server is a name for it that a configuration could have.
func (m misbehaving) server() string {
	return strings.ReplaceAll(m.name, "@", "-")
}

// The chat is answered whatever a server does, and others work meanwhile: each call of a good
// one is answered while twelve others misbehave, and what a model reads of those is short,
// and has no letter that nobody sees.
func TestHostile(t *testing.T) {
	t.Parallel()
	known := mcptest.Names()
	for _, m := range hostile {
		known = slices.DeleteFunc(known, func(name string) bool { return name == strings.TrimSuffix(m.name, "@old") })
	}
	if len(known) > 0 {
		t.Errorf("nothing is said of %q", known)
	}
	all := hostile
	if testkit.Race {
		all = all[:12] // a server takes long to start, and the client is the same for all
	}
	n := 0
	for some := range slices.Chunk(all, 12) {
		n++
		t.Run(fmt.Sprint("dozen ", n), func(t *testing.T) {
			t.Parallel()
			servers := []mcp.Server{{Name: "good", Command: mcptest.Command("good")}}
			for _, m := range some {
				servers = append(servers, mcp.Server{Name: m.server(), Command: mcptest.Command(m.name, m.args...)})
			}
			together(t, newPool(t, servers...), some)
		})
	}
}

// crowds has room for two dozens of servers: more would keep a good one waiting for the
// processor.
var crowds = make(chan struct{}, 2)

// together lets all of them misbehave at once, and a good one work.
func together(t *testing.T, pool *mcp.Pool, bad []misbehaving) {
	t.Helper()
	crowds <- struct{}{}
	defer func() { <-crowds }()
	var all sync.WaitGroup
	over := make(chan struct{})
	for _, m := range bad {
		all.Go(func() { m.check(t, pool) })
	}
	go func() {
		all.Wait()
		close(over)
	}()
	for n := 0; ; n++ {
		text := fmt.Sprint("good ", n)
		if got, err := say(t, pool, "good__echo", text); !strings.Contains(got, text) {
			t.Errorf("the good one says %q, %v", got, err)
		}
		select {
		case <-over:
			t.Logf("the good one was asked %d times", n+1)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// find waits until a tool is offered, or its server is missing for good.
func find(t *testing.T, pool *mcp.Pool, name string) agent.Tool {
	t.Helper()
	var found agent.Tool
	testkit.Poll(stuck, func() bool {
		tools := pool.Tools(t.Context())
		at := slices.IndexFunc(tools, func(tool agent.Tool) bool { return tool.Spec().Name == name })
		if at >= 0 {
			found = tools[at]
		}
		return at >= 0 || failed(pool, t.Context(), name)
	})
	return found
}

// failed reports whether the server of a tool is missing, with a reason.
func failed(pool *mcp.Pool, ctx context.Context, tool string) bool {
	server, _, _ := strings.Cut(tool, "__")
	return slices.ContainsFunc(pool.Status(ctx), func(s mcp.Status) bool { return s.Server == server && s.State == mcp.StateFailed })
}

// say calls a tool with a text. It gives what a model reads of that.
func say(t *testing.T, pool *mcp.Pool, name, text string) (string, error) {
	t.Helper()
	tool := find(t, pool, name)
	if tool == nil {
		return "", fmt.Errorf("%s is not offered", name)
	}
	args, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Error(err)
	}
	began := time.Now()
	got, err := tool.Run(t.Context(), agent.Call{ID: "call", Args: args})
	if took := time.Since(began); took > stuck {
		t.Errorf("%s took %s", name, took)
	}
	words := got
	if err != nil {
		words += err.Error()
	}
	invisible := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	}
	if !utf8.ValidString(words) || strings.ContainsFunc(words, invisible) {
		t.Errorf("%s gives letters that nobody sees: %.200q", name, words)
	}
	if len(words) > 70<<10 {
		t.Errorf("%s gives %d bytes", name, len(words))
	}
	return got, err
}

// check wants of one server what is said of it.
func (m misbehaving) check(t *testing.T, pool *mcp.Pool) {
	t.Helper()
	got, err := say(t, pool, m.server()+"__work", "please")
	if err != nil {
		got += "\nerror: " + err.Error()
	}
	if m.off != "" {
		missing := pool.Missing(t.Context())
		at := slices.IndexFunc(missing, func(one mcp.Missing) bool { return one.Server == m.server() })
		if at < 0 || !regexp.MustCompile(m.off).MatchString(missing[at].Why) {
			t.Errorf("%s (%s): missing are %q, want it with %q", m.name, mcptest.Does(m.name), missing, m.off)
		}
		return
	}
	if !regexp.MustCompile(m.work).MatchString(got) {
		t.Errorf("%s (%s): the model reads %.300q, want %q", m.name, mcptest.Does(m.name), got, m.work)
	}
	if m.gone {
		return
	}
	var last string
	recovered := testkit.Poll(stuck, func() bool {
		got, err := say(t, pool, m.server()+"__echo", "and now?")
		last = fmt.Sprint(got, err)
		return strings.Contains(got, "and now?")
	})
	if !recovered {
		t.Errorf("%s (%s): it does not work afterwards: %s", m.name, mcptest.Does(m.name), last)
	}
}

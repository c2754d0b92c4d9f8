package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// slowReader reads its requests again when others have been answered meanwhile.
type slowReader struct {
	t     *testing.T
	turns chan struct{} // one for each turn that may begin meanwhile
}

func (*slowReader) Name() string { return "slow" }

func (m *slowReader) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	texts := func() string {
		var b strings.Builder
		for _, msg := range r.Messages {
			b.WriteString(msg.Content + "\n")
		}
		return b.String()
	}
	before := texts()
	m.turns <- struct{}{} // until the test has let other turns end
	if after := texts(); after != before || !strings.Contains(after, "question") {
		m.t.Errorf("a request that began with %q became %q", before, after)
	}
	return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, Content: "ok"}, Finish: "stop"}, nil
}

// TestRequestsShareNoMemory: the memory of a request is another turn's only after its own
// turn has ended.
func TestRequestsShareNoMemory(t *testing.T) {
	m := &slowReader{t: t, turns: make(chan struct{})}
	a := newAgent(t, m, agent.Options{Zone: time.UTC})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			turn := turnOf(fmt.Sprintf("question %d", i))
			turn.History.Messages = []sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: fmt.Sprintf("before question %d", i), At: t0}, {Seq: 2, Role: sessions.RoleAssistant, Content: "fine", At: t0}}
			run(t, a, turn)
		})
	}
	for range 50 {
		<-m.turns
	}
	all.Wait()
}

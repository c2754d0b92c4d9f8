package crash_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
)

// pair is two nodes on one PostgreSQL, each with a port of its own.
type pair struct {
	t     *testing.T
	nodes [2]*program
	cmds  [2]*exec.Cmd
	admin [2]*api.Client
}

// newPair makes two nodes that have a model and configuration in common. They do not run yet.
func newPair(t *testing.T, reply agenttest.Reply, configuration string) *pair {
	t.Helper()
	url := pgtest.New(t, pgtest.Options{}).URL("postgres")
	c := &pair{t: t}
	for i := range c.nodes {
		c.nodes[i] = newProgramOn(t, fmt.Sprintf("{type: postgres, url: %q}", url), reply)
		c.nodes[i].configure(configuration)
		c.admin[i] = api.Dial(filepath.Join(c.nodes[i].dir, "state", "dragoman.sock"))
		t.Cleanup(c.admin[i].Close)
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.kill(i)
		}
	})
	return c
}

// start starts a node, which dies at a step if that is not "".
func (c *pair) start(i int, at string) {
	c.t.Helper()
	c.cmds[i] = c.nodes[i].start(at)
}

// kill kills a node, if it runs.
func (c *pair) kill(i int) {
	if c.cmds[i] != nil {
		_ = c.cmds[i].Process.Kill()
		_ = c.cmds[i].Wait()
		c.cmds[i] = nil
	}
}

// holder is the node that holds a lease.
func (c *pair) holder(lease string) (node int) {
	c.t.Helper()
	testkit.Eventually(c.t, "a node to hold "+lease, func() bool {
		for i, admin := range c.admin {
			if c.cmds[i] == nil {
				continue
			}
			list, err := api.ListNodes.Call(c.t.Context(), admin, api.None{})
			if err != nil {
				continue
			}
			for _, n := range list.Nodes {
				if n.Self && slices.ContainsFunc(n.Holds, func(l api.Lease) bool { return l.Name == lease }) {
					node = i
					return true
				}
			}
		}
		return false
	})
	return node
}

// asks asks once in a room, by way of a node.
func (c *pair) asks(i int, room string) {
	c.t.Helper()
	if _, err := c.nodes[i].send(room, room, false); err != nil {
		c.t.Errorf("node %d answers in %s with %v", i, room, err)
	}
}

// What happens at two nodes is posted to a hook once, by one of them. If that one is killed
// in the middle of a post, the other posts the same event under the same id; and what the
// hook's server has refused for good is in the queue of both, where either can retry it.
func TestHooksOverNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	t.Parallel()
	l := listen(t)
	c := newPair(t, bookkeeper, "hooks: [{name: shop, on: [turn_done], url: \""+l.URL+"/in\", signing_secret: "+hookSecret+"}]\n")
	c.start(0, "")
	c.start(1, "")
	first := c.holder("webhook:shop")
	const each = 5
	var asking sync.WaitGroup
	for i := range 2 * each {
		asking.Go(func() { c.asks(i%2, fmt.Sprint("web:room-", i)) })
	}
	asking.Wait()
	testkit.Eventually(t, "every event", func() bool { _, ids := l.posts("turn_done"); return ids == 2*each })
	if n, ids := l.posts("turn_done"); n != ids {
		t.Errorf("%d events were posted %d times", ids, n)
	}

	other := 1 - first
	hold := make(chan struct{})
	l.answer(0, hold)
	c.asks(other, "web:killed")
	testkit.Eventually(t, "the post that is cut off", func() bool { n, _ := l.posts("turn_done"); return n > 2*each })
	c.kill(first)
	l.answer(0, nil)
	close(hold)
	testkit.Eventually(t, "the other node to post it again", func() bool { n, _ := l.posts("turn_done"); return n == 2*each+2 })
	if _, ids := l.posts("turn_done"); ids != 2*each+1 {
		t.Errorf("the event has another id at the other node: %d ids", ids)
	}
	if now := c.holder("webhook:shop"); now != other {
		t.Errorf("node %d holds the hook, want %d", now, other)
	}

	c.start(first, "")
	l.answer(http.StatusGone, nil)
	c.asks(first, "web:gone")
	dead := func(i int) (ids []string) {
		page, err := api.ListQueue.Call(t.Context(), c.admin[i], api.QueueQuery{})
		if err != nil {
			return nil
		}
		for _, it := range page.Data {
			if strings.HasPrefix(it.ID, "hook/shop/") && it.State == "dead" {
				ids = append(ids, it.ID)
			}
		}
		return ids
	}
	testkit.Eventually(t, "the dead letter in both queues", func() bool { return len(dead(0)) == 1 && len(dead(1)) == 1 })
	l.answer(0, nil)
	before, _ := l.posts("turn_done")
	if err := api.RetryQueue.Call(t.Context(), c.admin[first], api.Item{ID: dead(first)[0]}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the retry, by the node that holds the hook", func() bool { n, _ := l.posts("turn_done"); return n == before+1 })
	testkit.Eventually(t, "an empty queue", func() bool { return len(dead(0)) == 0 && len(dead(1)) == 0 })
	if _, ids := l.posts("turn_done"); ids != 2*each+2 {
		t.Errorf("%d ids in the end, want one each", ids)
	}
}

// Any node takes a call of a webhook. The same call at both nodes at once leads to one
// message; and if the node that took it is killed, its repeat at the other is known as one.
func TestIncomingOverNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	t.Parallel()
	c := newPair(t, bookkeeper, fmt.Sprintf("incoming_webhooks:\n  - {name: prompt, verify: bearer, secret: %s, to: 'web:prompt', prompt: 'book {{what}}'}\n"+
		"  - {name: message, verify: bearer, secret: %s, to: 'web:message', message: 'book {{what}}'}\n", programToken, programToken))
	c.start(0, "accept.after@1")
	c.start(1, "")
	_, _ = c.nodes[0].call("prompt", "first")
	untilDead(t, c.cmds[0], "accept.after@1")
	c.cmds[0] = nil
	if status, err := c.nodes[1].call("prompt", "first"); status != http.StatusOK || err != nil {
		t.Errorf("the repeat at the other node is answered %d, %v; want 200", status, err)
	}
	testkit.Eventually(t, "the answer of the other node", func() bool { return len(c.nodes[1].feed("web:prompt")) >= 2 })
	c.start(0, "")

	const calls = 10
	for i := range calls {
		var statuses [2]int
		var calling sync.WaitGroup
		for node := range c.nodes {
			calling.Go(func() { statuses[node], _ = c.nodes[node].call("message", fmt.Sprint("call-", i)) })
		}
		calling.Wait()
		if statuses != [2]int{200, 202} && statuses != [2]int{202, 200} {
			t.Errorf("one call at both nodes at once is answered %v, want 202 and 200", statuses)
		}
	}
	testkit.Eventually(t, "the messages", func() bool { return len(c.nodes[0].feed("web:message")) >= calls })
	time.Sleep(500 * time.Millisecond) // for what should not happen
	for _, p := range c.nodes {
		if list := p.feed("web:message"); len(list) != calls {
			t.Errorf("the room shows %d messages, want %d", len(list), calls)
		}
		if list := p.feed("web:prompt"); len(list) != 2 {
			t.Errorf("the room of the prompt shows %q, want it and its answer", list)
		}
	}
	if n := c.nodes[0].lines() + c.nodes[1].lines(); n != 1 {
		t.Errorf("the tool wrote %d lines, want one", n)
	}
}

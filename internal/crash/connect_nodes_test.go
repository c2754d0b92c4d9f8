package crash_test

import (
	"fmt"
	"sync"
	"testing"

	"dragoman/internal/testkit"
)

// saysOnce says text, and waits until the bot has answered with these words once more.
func (p *phone) saysOnce(text, words string) {
	p.t.Helper()
	before, _ := p.count(words)
	p.say(text)
	testkit.Eventually(p.t, fmt.Sprintf("%q after %s", words, text), func() bool { n, _ := p.count(words); return n > before })
}

// Two daemons share a database. The code is given on one and said on the other, and both sides
// say yes at the same moment, each to a daemon of its own: they are one person, for both daemons,
// and each side is asked once and told once. Either side ends it, and they begin again.
func TestConnectOverNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	t.Parallel()
	home, work := newPhone(t, "1000", "Ann"), newPhone(t, "1001", "Dr Ann")
	fronts := [2]*balancer{balance(t), balance(t)}
	hook := func(i int) string {
		return fmt.Sprintf("webhook: {url: %q, secret: a-secret-of-this-test}", fronts[i].URL)
	}
	c := newPair(t, bookkeeper, "channels:\n"+home.channel("home", hook(0))+work.channel("work", hook(1)))
	for i, front := range fronts {
		front.lead(c.nodes[i])
		c.start(i, "")
	}
	sides := []*phone{home, work}
	for _, p := range sides {
		testkit.Eventually(t, "the webhook to be set", func() bool { return p.api.Webhook() != "" })
	}
	const rounds = 6
	for round := 1; round <= rounds; round++ {
		first, second := sides[round%2], sides[1-round%2]
		first.saysOnce("/connect", "write this to me there")
		second.saysOnce("/connect "+first.code(), "This would connect you with")
		testkit.Eventually(t, "the first side to be asked", func() bool { n, _ := first.count("would connect you with"); return n == round })
		var both sync.WaitGroup
		for _, p := range sides {
			both.Go(func() { p.saysOnce("/connect yes", "You are connected with") })
		}
		both.Wait()
		for i, node := range c.nodes {
			if got := node.identities(); len(got) != 2 {
				t.Errorf("round %d: node %d says that %q are joined", round, i, got)
			}
		}
		second.saysOnce("/disconnect", "You are no longer connected with")
		testkit.Eventually(t, "the other side to know", func() bool { n, _ := first.count("is no longer connected with you"); return n == (round+1)/2 })
		for i, node := range c.nodes {
			if got := node.identities(); len(got) != 0 {
				t.Errorf("round %d: node %d says after /disconnect that %q are joined", round, i, got)
			}
		}
	}
	for i, p := range sides {
		for _, words := range []string{"would connect you with", "You are connected with"} {
			if n, marked := p.count(words); n != rounds || marked > 0 {
				t.Errorf("side %d reads %q %d times, %d of them marked; want %d: %q", i, words, n, marked, rounds, p.api.FromBot(firstChat))
			}
		}
		if fronts[i].taken[0].Load() == 0 {
			t.Errorf("node %d has taken no call", i)
		}
	}
}

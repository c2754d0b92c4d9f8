package crash_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
)

// balancer is what stands between Telegram and the nodes: each call goes to the next one.
type balancer struct {
	*httptest.Server
	to    []*httputil.ReverseProxy
	next  atomic.Int64
	taken [2]atomic.Int64 // calls that a node has answered with 200
}

func balance(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.to[int(b.next.Add(1))%len(b.to)].ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

// lead leads calls to these nodes, two at most.
func (b *balancer) lead(nodes ...*program) {
	for i, p := range nodes {
		to, err := url.Parse(p.url)
		if err != nil {
			p.t.Fatal(err)
		}
		b.to = append(b.to, &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport: &http.Transport{DisableKeepAlives: true},
			ModifyResponse: func(r *http.Response) error {
				if r.StatusCode == http.StatusOK {
					b.taken[i].Add(1)
				}
				return nil
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		})
	}
}

// Telegram calls whichever node a balancer chooses, while nodes are killed. Every message is
// answered, in order, and twice only with the mark that says so.
func TestTelegramWebhookOverNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	t.Parallel()
	server, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + strings.Repeat("TEST", 9)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	front := balance(t)
	c := newPair(t, agenttest.EchoReply, fmt.Sprintf("queue: {rate_per_minute: 0, max_waiting: 1000}\nchannels:\n  telegram: {type: telegram, token: %q, api_url: %s, allow: ['*'], webhook: {url: %q, secret: a-secret-of-this-test}}\n",
		server.Token(), server.URL(), front.URL))
	front.lead(c.nodes[:]...)
	c.start(0, "")
	c.start(1, "")
	testkit.Eventually(t, "the webhook to be set", func() bool { return server.Webhook() != "" })

	const people, each = 5, 24
	mark := 0
	sent := map[int64][]string{}
	for round := range each {
		for i := range people {
			mark++
			ann := botapi.Person(int64(firstChat+i), "Ann")
			server.Private(ann).Say(ann, fmt.Sprintf("number #%d", mark))
			sent[ann.ID] = append(sent[ann.ID], fmt.Sprint("#", mark))
		}
		time.Sleep(50 * time.Millisecond)
		switch round {
		case each / 4:
			c.kill(0)
		case each / 2:
			c.start(0, "")
			c.kill(1)
		case 3 * each / 4:
			c.start(1, "")
		}
	}
	answered := func() bool {
		for chat, marks := range sent {
			if !strings.Contains(strings.Join(server.FromBot(chat), "\n")+"\n", marks[len(marks)-1]+"\n") {
				return false
			}
		}
		return server.Unconfirmed() == 0
	}
	// Both nodes die with chats in their hands, which the other one gets when their leases end.
	if !testkit.Poll(time.Minute, answered) {
		t.Errorf("not everything is answered; %d updates wait", server.Unconfirmed())
	}
	for chat, want := range sent {
		var got []string
		for _, text := range server.FromBot(chat) {
			rest, marked := strings.CutPrefix(text, repeatMark)
			for _, m := range agenttest.Marks(rest) {
				switch {
				case !slices.Contains(got, m):
					got = append(got, m)
				case !marked:
					t.Errorf("chat %d: %s is answered twice, and nothing says so: %q", chat, m, text)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("chat %d: the answers are to %v, want %v", chat, got, want)
		}
	}
	if a, b := front.taken[0].Load(), front.taken[1].Load(); a == 0 || b == 0 {
		t.Errorf("the nodes have taken %d and %d calls, want some at each", a, b)
	}
	if n := server.Count("getUpdates"); n > 0 {
		t.Errorf("%d polls, want none", n)
	}
}

package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

func TestUndecodableUpdateIsQuarantined(t *testing.T) {
	n := newNetwork(t)
	n.Say(t, "before")
	poison := n.PushRaw(func(id int64) []byte {
		return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":"not a number","chat":[]}}`, id)
	})
	n.PushRaw(func(int64) []byte { return []byte(`{"update_id":"what?","message":{}}`) })
	n.PushRaw(func(int64) []byte { return []byte(`[1,2]`) })
	n.Say(t, "after")
	inbox := n.run(t, n.open(t, telegram.Options{}))
	inbox.Wait(t, 2)
	if diff := cmp.Diff([]string{"before", "after"}, inbox.Texts()); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	inbox.Until(t, "three quarantined updates", func() bool { return len(inbox.Quarantined()) == 3 })
	found := false
	for _, a := range inbox.Quarantined() {
		if a.ID == fmt.Sprint(poison) {
			found = strings.Contains(string(a.Raw), "not a number") && a.Channel == "telegram" && a.Why != nil
		}
	}
	if !found {
		t.Errorf("Quarantined() = %+v, want update %d with its text", inbox.Quarantined(), poison)
	}
	n.settled(t)
}

func TestUpdateIsNotConfirmedBeforeItIsQuarantined(t *testing.T) {
	n := newNetwork(t)
	inbox := channeltest.NewInbox()
	inbox.Refuse(true)
	first := n.PushRaw(func(id int64) []byte { return fmt.Appendf(nil, `{"update_id":%d,"message":7}`, id) })
	n.Say(t, "after it")
	stop := channeltest.Start(t, n.open(t, telegram.Options{}), inbox)
	inbox.WaitRefused(t, 1) // the message, which is in another chat
	stop()
	if got := n.ConfirmedTo(); got >= first {
		t.Errorf("update %d was confirmed before it was stored", got)
	}
	inbox.Refuse(false)
	channeltest.Start(t, n.open(t, telegram.Options{}), inbox)
	inbox.Until(t, "the quarantined update", func() bool { return len(inbox.Quarantined()) == 1 })
	inbox.Wait(t, 1)
	n.settled(t)
}

// gatedIntake blocks the messages of one chat until gate is closed.
type gatedIntake struct {
	*channeltest.Inbox
	slow channels.Key
	gate chan struct{}
}

func (g *gatedIntake) Accept(ctx context.Context, m channels.Inbound) error {
	if m.Key == g.slow {
		select {
		case <-g.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Inbox.Accept(ctx, m)
}

func TestBlockedChatDelaysNoOtherChat(t *testing.T) {
	n := newNetwork(t)
	bob := botapi.Person(8, "Bob")
	n.Say(t, "slow one")
	n.Private(bob).Say(bob, "quick one")
	in := &gatedIntake{channeltest.NewInbox(), n.Key(), make(chan struct{})}
	channeltest.Start(t, n.open(t, telegram.Options{}), in)
	in.Wait(t, 1)
	if got := in.Texts(); got[0] != "quick one" {
		t.Errorf("first text = %q, want the quick one", got)
	}
	if n.Unconfirmed() != 2 {
		t.Errorf("%d unconfirmed updates, want 2 while one is not stored", n.Unconfirmed())
	}
	close(in.gate)
	n.settled(t)
}

func TestManyChatsKeepTheirOrder(t *testing.T) {
	n := newNetwork(t)
	const chats, each = 50, 20
	for i := range each {
		for c := range chats {
			p := botapi.Person(int64(100+c), "P")
			n.Private(p).Say(p, fmt.Sprint(i))
		}
	}
	inbox := n.run(t, n.open(t, telegram.Options{}))
	next := map[channels.Key]int{}
	for _, m := range inbox.Wait(t, chats*each) {
		if m.Text != fmt.Sprint(next[m.Key]) {
			t.Fatalf("%s: next text = %s, want %d", m.Key, m.Text, next[m.Key])
		}
		next[m.Key]++
	}
	n.settled(t)
	for _, wrong := range inbox.Violations() {
		t.Error(wrong)
	}
}

func TestRefusedTokenEndsRun(t *testing.T) {
	for _, code := range []int{401, 404} {
		n := newNetwork(t)
		n.Break(botapi.Fault{Status: code, Description: "Unauthorized"})
		c := n.open(t, telegram.Options{})
		err := c.Run(t.Context(), channeltest.NewInbox())
		if !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Run with HTTP %d = %v, want ErrPermanent", code, err)
		}
		if got := c.Status().State; got != channels.StateFailed {
			t.Errorf("Status = %s, want failed", got)
		}
	}
	n := newNetwork(t)
	n.Break(botapi.Fault{Method: "getUpdates", Status: 401, Description: "Unauthorized"})
	if err := n.open(t, telegram.Options{}).Run(t.Context(), channeltest.NewInbox()); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Run with a token revoked later = %v, want ErrPermanent", err)
	}
}

func TestFailedPollIsRetried(t *testing.T) {
	for name, f := range map[string]botapi.Fault{
		"proxy page":   {Status: 502, Body: "<html>Bad Gateway</html>"},
		"garbage":      {Status: 200, Body: "<html>"},
		"server error": {Status: 500, Description: "Internal Server Error"},
		"dropped":      {DropBefore: true},
		"lost answer":  {DropAfter: true},
		"flood":        {Status: 429, Description: "Too Many Requests", RetryAfter: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			f.Times = 2
			n.Break(f)
			inbox := n.run(t, n.open(t, telegram.Options{}))
			began := time.Now()
			n.Say(t, "hello")
			inbox.Wait(t, 1)
			n.settled(t)
			if f.RetryAfter > 0 && time.Since(began) < 2*time.Second {
				t.Errorf("polling waited %s, want two pauses of 1 s", time.Since(began))
			}
		})
	}
}

func TestWebhook(t *testing.T) {
	n := newNetwork(t)
	n.SetWebhook(true)
	c := n.open(t, telegram.Options{})
	stop := channeltest.Start(t, c, channeltest.NewInbox())
	testkit.Eventually(t, "a status that names the webhook", func() bool { return strings.Contains(c.Status().Detail, "webhook") })
	stop()
	if n.Count("deleteWebhook") != 0 {
		t.Error("Run deleted the webhook of another program")
	}
	n.Say(t, "kept")
	n.SetWebhook(false)
	n.run(t, n.open(t, telegram.Options{})).Wait(t, 1)
}

func TestOffsetIsSentOnce(t *testing.T) {
	n := newNetwork(t)
	inbox := n.run(t, n.open(t, telegram.Options{PollTimeout: time.Second}))
	n.Say(t, "one")
	inbox.Wait(t, 1)
	n.settled(t)
	n.waitFor(t, "a poll without an offset", func() bool {
		calls := n.Calls("getUpdates")
		seen := false
		for _, c := range calls {
			if c.Params["offset"] != "" {
				seen = true
			} else if seen {
				return true
			}
		}
		return false
	})
}

func BenchmarkReceive(b *testing.B) {
	s, err := botapi.Start("127.0.0.1:0", botapi.Options{KeepCalls: 10})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c, err := telegram.New("telegram", telegram.Options{Token: s.Token(), APIURL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		p := botapi.Person(int64(1+i%200), "P")
		s.Private(p).Say(p, "a message of a usual length, I would say")
	}
	ctx, cancel := context.WithCancel(context.Background())
	in := &countingIntake{left: b.N, done: cancel}
	b.ResetTimer()
	if err := c.Run(ctx, in); err != nil {
		b.Fatal(err)
	}
}

// countingIntake calls done after left messages.
type countingIntake struct {
	mu   sync.Mutex
	left int
	done func()
}

func (c *countingIntake) Accept(context.Context, channels.Inbound) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if c.left == 0 {
		c.done()
	}
	return nil
}

func (c *countingIntake) Quarantine(context.Context, string, string, []byte, error) error { return nil }

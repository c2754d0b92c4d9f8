package telegram_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
	"dragoman/internal/testkit"

	"go.uber.org/goleak"
)

const hookSecret = "a-secret-of-this-test_0123"

func TestConformanceByWebhook(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Network { return newHookNetwork(t) })
}

// hookNetwork is a network that calls, and the server that it calls.
type hookNetwork struct {
	*network
	server *httptest.Server

	mu      sync.Mutex
	running *calledChannel // nil: nothing is stored
	refused int            // calls that showed no secret
}

func newHookNetwork(t *testing.T) *hookNetwork {
	t.Helper()
	n := &hookNetwork{network: newNetwork(t)}
	n.server = httptest.NewServer(n)
	t.Cleanup(n.server.Close)
	return n
}

func (n *hookNetwork) Open(t *testing.T) channels.Channel {
	return &calledChannel{Channel: n.open(t, n.options()), n: n}
}

// IgnoreGoroutines are those of the network, which calls, and of the server that it calls.
func (n *hookNetwork) IgnoreGoroutines() []goleak.Option {
	var options []goleak.Option
	for _, f := range []string{
		"net/http.(*persistConn).readLoop", "net/http.(*persistConn).writeLoop", "net/http.(*conn).serve", "net/http.(*connReader).backgroundRead",
		"dragoman/channels/channeltest/botapi.(*Server).sendChat",
	} {
		options = append(options, goleak.IgnoreAnyFunction(f))
	}
	return options
}

func (n *hookNetwork) options() telegram.Options {
	return telegram.Options{WebhookURL: n.server.URL, WebhookSecret: hookSecret, WebhookEvery: 20 * time.Millisecond}
}

// ServeHTTP is what the daemon does with a call.
func (n *hookNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	c := n.running
	if c != nil {
		c.calls.Add(1)
		defer c.calls.Done()
	}
	n.mu.Unlock()
	switch {
	case c == nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.URL.Path != "/webhook/telegram" || !c.Callback().Authentic(r.Header):
		n.mu.Lock()
		n.refused++
		n.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, c.Callback().MaxBody))
	if err == nil {
		err = c.Callback().Take(c.ctx, c.in, body)
	}
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// calledChannel is called while it runs.
type calledChannel struct {
	*telegram.Channel
	n     *hookNetwork
	in    channels.Intake
	ctx   context.Context
	calls sync.WaitGroup
}

func (c *calledChannel) Run(ctx context.Context, in channels.Intake) error {
	c.in = in
	c.ctx = ctx
	c.n.mu.Lock()
	c.n.running = c
	c.n.mu.Unlock()
	defer func() {
		c.n.mu.Lock()
		c.n.running = nil
		c.n.mu.Unlock()
		c.calls.Wait()
	}()
	return c.Channel.Run(ctx, in)
}

// What waits when the mode changes comes exactly once, and nothing is dropped.
func TestModeChanges(t *testing.T) {
	n := newHookNetwork(t)
	inbox := channeltest.NewInbox()
	for round, open := range []func() channels.Channel{
		func() channels.Channel { return n.open(t, telegram.Options{PollTimeout: time.Second}) },
		func() channels.Channel { return n.Open(t) },
		func() channels.Channel { return n.open(t, telegram.Options{PollTimeout: time.Second}) },
	} {
		n.Say(t, fmt.Sprintf("said before %d", round))
		stop := channeltest.Start(t, open(), inbox)
		inbox.Wait(t, 2*round+1)
		n.Say(t, fmt.Sprintf("said in %d", round))
		inbox.Wait(t, 2*round+2)
		stop()
	}
	if got := inbox.Texts(); len(got) != 6 {
		t.Errorf("texts = %q, want 6", got)
	}
	if hook := n.Webhook(); hook != "" {
		t.Errorf("the webhook is %s after polling, want none", hook)
	}
	for _, method := range []string{"setWebhook", "deleteWebhook"} {
		for _, c := range n.Calls(method) {
			if c.Params["drop_pending_updates"] != "" {
				t.Errorf("%s drops what waits: %v", method, c.Params)
			}
		}
	}
}

func TestCallThatIsNotStoredComesAgain(t *testing.T) {
	n := newHookNetwork(t)
	inbox := channeltest.NewInbox()
	inbox.Refuse(true)
	channeltest.Start(t, n.Open(t), inbox)
	n.Say(t, "hello")
	inbox.WaitRefused(t, 2)
	if n.Unconfirmed() != 1 {
		t.Errorf("%d updates wait, want the one that is not stored", n.Unconfirmed())
	}
	inbox.Refuse(false)
	inbox.Wait(t, 1)
	n.settled(t)
}

func TestCallThatCannotBeDecodedIsQuarantined(t *testing.T) {
	n := newHookNetwork(t)
	inbox := channeltest.NewInbox()
	channeltest.Start(t, n.Open(t), inbox)
	n.PushRaw(func(id int64) []byte {
		return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":"x","chat":[]}}`, id)
	})
	n.Say(t, "after it")
	inbox.Wait(t, 1)
	inbox.Until(t, "the quarantined update", func() bool { return len(inbox.Quarantined()) == 1 })
	n.settled(t)
}

func TestWebhookShowsItsSecretOnly(t *testing.T) {
	c := newHookNetwork(t).open(t, telegram.Options{WebhookURL: "https://bot.example.org", WebhookSecret: hookSecret})
	for name, secret := range map[string][]string{"none": nil, "empty": {""}, "wrong": {"b" + hookSecret[1:]}, "longer": {hookSecret + "x"}, "shorter": {hookSecret[1:]}} {
		if c.Callback().Authentic(http.Header{"X-Telegram-Bot-Api-Secret-Token": secret}) {
			t.Errorf("%s secret: the call counts as Telegram's", name)
		}
	}
	if !c.Callback().Authentic(http.Header{"X-Telegram-Bot-Api-Secret-Token": {hookSecret}}) {
		t.Error("a call with the secret does not count")
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, hookSecret) {
		t.Error("printing the channel shows the secret of its webhook")
	}
}

func TestWebhookNeedsSecret(t *testing.T) {
	for _, secret := range []string{"", "short", "with spaces in it, and long"} {
		_, err := telegram.New("telegram", telegram.Options{Token: "1000:TEST-TOKEN", WebhookURL: "https://bot.example.org", WebhookSecret: secret})
		if err == nil {
			t.Errorf("New with the secret %q works", secret)
		}
	}
}

func TestStatusSaysWhyTelegramCannotCall(t *testing.T) {
	n := newHookNetwork(t)
	c := n.open(t, n.options())
	channeltest.Start(t, c, channeltest.NewInbox()) // nobody serves its calls
	testkit.Eventually(t, "the mode in the status", func() bool {
		return c.Status().State == channels.StateConnected && strings.Contains(c.Status().Detail, n.server.URL+"/webhook/telegram")
	})
	n.Say(t, "hello")
	testkit.Eventually(t, "the network's reason in the status", func() bool {
		s := c.Status()
		return s.State == channels.StateDown && strings.Contains(s.Detail, "503 Service Unavailable") && strings.Contains(s.Detail, "1 message waits")
	})
}

func TestWebhookIsSetAgain(t *testing.T) {
	n := newHookNetwork(t)
	inbox := channeltest.NewInbox()
	channeltest.Start(t, n.Open(t), inbox)
	testkit.Eventually(t, "the webhook", func() bool { return n.Webhook() != "" })
	n.SetWebhook(true) // another program's
	n.Say(t, "hello")
	inbox.Wait(t, 1)
}

func TestRefusedWebhookIsExplained(t *testing.T) {
	n := newHookNetwork(t)
	n.Break(botapi.Fault{Method: "setWebhook", Times: 1, Status: 400, Description: "Bad Request: bad webhook: Failed to resolve host"})
	c := n.Open(t).(*calledChannel)
	inbox := channeltest.NewInbox()
	channeltest.Start(t, c, inbox)
	testkit.Eventually(t, "Telegram's words in the status", func() bool { return strings.Contains(c.Status().Detail, "Failed to resolve host") })
	n.Say(t, "hello")
	inbox.Wait(t, 1)
}

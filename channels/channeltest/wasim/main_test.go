package wasim_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dragoman/channels/channeltest/wasim"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	waLog "go.mau.fi/whatsmeow/util/log"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) {
	// Clients read these without a lock, so they are set once and for all.
	whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax = 100*time.Millisecond, 200*time.Millisecond
	// A machine that is busy for a while must not count as a lost connection.
	whatsmeow.KeepAliveResponseDeadline, whatsmeow.KeepAliveMaxFailTime = 5*time.Second, time.Second
	goleak.VerifyTestMain(m, wasim.IgnoreGoroutines()...)
}

// patience is how long a test waits for what should happen soon.
const patience = time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, o wasim.Options) *wasim.Server {
	t.Helper()
	o.Logf = t.Logf
	return wasim.Start(t, o)
}

func newStore(t *testing.T) *sqlstore.Container {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "wa.db") + "?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_txlock=immediate"
	container, err := sqlstore.New(t.Context(), "sqlite", dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = container.Close() })
	return container
}

// client is a whatsmeow client that remembers what happened to it.
type client struct {
	*whatsmeow.Client
	mu      sync.Mutex
	events  []any
	changed chan struct{}
	refuse  bool // the handler says no to messages
}

func newClient(t *testing.T, s *wasim.Server, d *store.Device) *client {
	t.Helper()
	log := waLog.Noop
	if testing.Verbose() {
		log = waLog.Stdout("wa", "WARN", false)
	}
	c := &client{Client: whatsmeow.NewClient(d, log), changed: make(chan struct{})}
	s.Configure(c.Client)
	c.EnableDecryptedEventBuffer = true
	c.SynchronousAck = true
	c.ManualHistorySyncDownload = true
	c.AddEventHandlerWithSuccessStatus(func(evt any) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, evt)
		close(c.changed)
		c.changed = make(chan struct{})
		_, message := evt.(*events.Message)
		return !(message && c.refuse)
	})
	background, stop := context.WithCancel(context.Background())
	c.BackgroundEventCtx = background
	t.Cleanup(func() {
		c.Disconnect()
		stop() // or one that waits to connect anew outlives the test
	})
	return c
}

// login connects a client that is paired already.
func login(t *testing.T, s *wasim.Server) *client {
	t.Helper()
	d, err := s.PairedDevice(t.Context(), newStore(t))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, s, d)
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	await[*events.Connected](t, c)
	return c
}

// reconnectByHand connects c anew after each cut until the test ends. The
// library's own way of it and a send that waits for the connection write one
// flag at once, which the race detector reports.
func reconnectByHand(t *testing.T, c *client) {
	t.Helper()
	c.EnableAutoReconnect = false
	cut := make(chan struct{}, 8)
	c.AddEventHandler(func(evt any) {
		if _, ok := evt.(*events.Disconnected); ok {
			cut <- struct{}{}
		}
	})
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-cut:
				if err := c.Connect(); err != nil {
					t.Errorf("connect anew: %v", err)
				}
			}
		}
	}()
	t.Cleanup(func() { close(done); <-ended })
}

// await waits for the n-th event of a type, the first if n is not given.
func await[E any](t *testing.T, c *client, n ...int) E {
	t.Helper()
	want := 1
	if len(n) > 0 {
		want = n[0]
	}
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		changed, left := c.changed, want
		for _, evt := range c.events {
			if e, ok := evt.(E); ok {
				left--
				if left == 0 {
					c.mu.Unlock()
					return e
				}
			}
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("event %T number %d did not come", *new(E), want)
		}
	}
}

// texts are the texts that came in, in order.
func (c *client) texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, evt := range c.events {
		if m, ok := evt.(*events.Message); ok {
			if text := textOf(m); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

func textOf(m *events.Message) string {
	if text := m.Message.GetConversation(); text != "" {
		return text
	}
	return m.Message.GetExtendedTextMessage().GetText()
}

// awaitText waits for the first message with a text or attachment.
func awaitMessage(t *testing.T, c *client, ok func(*events.Message) bool) *events.Message {
	t.Helper()
	for n := 1; ; n++ {
		if m := await[*events.Message](t, c, n); ok(m) {
			return m
		}
	}
}

func withText(text string) func(*events.Message) bool {
	return func(m *events.Message) bool { return textOf(m) == text }
}

func say(t *testing.T, c *client, to types.JID, text string) string {
	t.Helper()
	r, err := c.SendMessage(within(t), to, &waE2E.Message{Conversation: &text})
	if err != nil {
		t.Fatalf("SendMessage(%s): %v", to, err)
	}
	return r.ID
}

package irc_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/irc"
	"dragoman/internal/testkit"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick returns options for tests, with moments in place of minutes.
func quick(addr string) irc.Options {
	return irc.Options{
		Server: addr, Nick: "dragoman",
		FloodBurst: 10000, FloodEvery: time.Millisecond,
		ReconnectMin: 20 * time.Millisecond, ReconnectMax: 200 * time.Millisecond,
		RejoinDelay: 50 * time.Millisecond, RejoinMax: 400 * time.Millisecond,
		RegainEvery: 300 * time.Millisecond,
	}
}

// bot is a running channel.
type bot struct {
	t     *testing.T
	ch    *irc.Channel
	inbox *channeltest.Inbox
	stop  func() error
}

// open makes the channel "irc" or fails the test.
func open(t *testing.T, o irc.Options) *irc.Channel {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	ch, err := irc.New("irc", o)
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	return ch
}

// run runs it until the end of the test, without waiting for anything.
func run(t *testing.T, o irc.Options) *bot {
	t.Helper()
	b := &bot{t: t, ch: open(t, o), inbox: channeltest.NewInbox()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.ch.Run(ctx, b.inbox) }()
	var (
		once sync.Once
		err  error
	)
	b.stop = func() error {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() { b.stop() })
	return b
}

// start also waits until it is connected and in its channels.
func start(t *testing.T, o irc.Options) *bot {
	t.Helper()
	b := run(t, o)
	b.waitConnected()
	return b
}

// startInGo starts a bot that is in the channel #go.
func startInGo(t *testing.T, addr string) *bot {
	t.Helper()
	o := quick(addr)
	o.Channels = []string{"#go"}
	b := start(t, o)
	b.waitIn("irc:#go")
	return b
}

func (b *bot) waitConnected() {
	b.t.Helper()
	b.waitStatus("connected", func(s channels.Status) bool { return s.State == channels.StateConnected })
}

func (b *bot) waitStatus(what string, fits func(channels.Status) bool) {
	b.t.Helper()
	testkit.Eventually(b.t, "the status to be "+what, func() bool { return fits(b.ch.Status()) })
}

// send sends one piece.
func (b *bot) send(key, text string) error {
	b.t.Helper()
	return b.reply(key, text, "")
}

func (b *bot) reply(key, text, replyTo string) error {
	b.t.Helper()
	return b.put(channels.Outbound{Key: channels.MustKey(key), Text: text, ReplyTo: replyTo})
}

// replyPiece is reply with a piece of an answer.
func (b *bot) replyPiece(key string, p channels.Piece, replyTo string) error {
	b.t.Helper()
	return b.put(channels.Outbound{Key: channels.MustKey(key), Text: p.Text, Form: p.Form, ReplyTo: replyTo})
}

func (b *bot) put(m channels.Outbound) error {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	m.ID, m.Attempt = "id", 1
	_, err := b.ch.Send(ctx, m)
	return err
}

// say splits text as the gateway does and sends all of it.
func (b *bot) say(key, text string) {
	b.t.Helper()
	for i, piece := range b.ch.Split(channels.MustKey(key), text) {
		if err := b.replyPiece(key, piece, ""); err != nil {
			b.t.Fatalf("Send(%s, piece %d) = %v, want nil", key, i, err)
		}
	}
}

// testLog gives the channel's warnings to the test while it runs.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// serve starts a server in this process and returns it with its address.
func serve(t *testing.T, conf ircd.Config) (*ircd.Server, string) {
	t.Helper()
	s := ircd.New(conf)
	addr, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, addr
}

// forget makes the bot look everybody up before the next answer.
func (b *bot) forget() { b.ch.Forget() }

// age makes the last sighting of everybody older by d.
func (b *bot) age(d time.Duration) { b.ch.Age(d) }

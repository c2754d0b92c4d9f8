package channeltest_test

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
)

// network is a chat network in memory: what the person said stays until it is
// acknowledged. flaw makes the channels on it break one promise, to prove
// that the suite notices.
type network struct {
	mu      sync.Mutex
	flaw    string
	said    []channels.Inbound
	acked   int
	seen    map[channels.Key][]line
	ids     int
	refuse  bool
	changed chan struct{}
}

type line struct{ id, text string }

func newNetwork(flaw string) *network {
	return &network{flaw: flaw, seen: map[channels.Key][]line{}, changed: make(chan struct{}, 1)}
}

func (n *network) Key() channels.Key                 { return channels.MustKey("fake:ann") }
func (n *network) KeepsUndelivered() bool            { return true }
func (n *network) SenderIDs() []string               { return []string{"7"} }
func (n *network) Seen(t *testing.T) []string        { return n.SeenIn(t, n.Key()) }
func (n *network) Open(*testing.T) channels.Channel  { return &channel{net: n} }
func (n *network) RefuseSends(_ *testing.T, on bool) { n.mu.Lock(); n.refuse = on; n.mu.Unlock() }
func (n *network) wake() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

func (n *network) Say(_ *testing.T, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := channels.Inbound{
		Key: n.Key(), ID: fmt.Sprint(len(n.said) + 1), Text: text, Private: true,
		Sender: channels.Person{IDs: []string{"7"}, Name: "Ann"}, At: time.Now(),
	}
	if n.flaw == "public" {
		m.Private = false
	}
	n.said = append(n.said, m)
	n.wake()
}

func (n *network) More(_ *testing.T, count int) []channels.Key {
	var keys []channels.Key
	for i := range count {
		keys = append(keys, channels.MustKey(fmt.Sprintf("fake:more%d", i)))
	}
	return keys
}

func (n *network) SeenIn(_ *testing.T, k channels.Key) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var texts []string
	for _, l := range n.seen[k] {
		texts = append(texts, l.text)
	}
	return texts
}

// channel is the adapter of network.
type channel struct {
	net   *network
	mu    sync.Mutex
	state channels.State
}

var (
	_ channels.Channel   = (*channel)(nil)
	_ channels.Previewer = (*channel)(nil)
	_ channels.Splitter  = (*channel)(nil)
	_ channels.Reporter  = (*channel)(nil)
	_ channels.Typer     = (*channel)(nil)
)

func (c *channel) Name() string                               { return "fake" }
func (c *channel) Typing(context.Context, channels.Key) error { return nil }
func (c *channel) PreviewEvery() time.Duration                { return 0 }

func (c *channel) Status() channels.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "" {
		c.state = channels.StateDown
	}
	return channels.Status{State: c.state, Since: time.Now()}
}

func (c *channel) set(s channels.State) { c.mu.Lock(); c.state = s; c.mu.Unlock() }

func (c *channel) next() (channels.Inbound, bool) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.net.acked >= len(c.net.said) {
		return channels.Inbound{}, false
	}
	m := c.net.said[c.net.acked]
	if c.net.flaw == "new ids" {
		c.net.ids++
		m.ID = fmt.Sprintf("fresh%d", c.net.ids)
	}
	return m, true
}

func (c *channel) ack() { c.net.mu.Lock(); c.net.acked++; c.net.mu.Unlock() }

func (c *channel) Run(ctx context.Context, in channels.Intake) error {
	c.set(channels.StateConnected)
	if c.net.flaw != "always connected" {
		defer c.set(channels.StateDown)
	}
	if c.net.flaw == "leak" {
		go func() { <-time.After(5 * time.Second) }()
	}
	for {
		m, ok := c.next()
		wait := c.net.changed
		if ok {
			if c.net.flaw == "ack first" {
				c.ack()
			}
			err := in.Accept(ctx, m)
			if err == nil || c.net.flaw == "overtake" {
				if c.net.flaw != "ack first" {
					c.ack()
				}
				continue
			}
			wait = nil
		}
		select {
		case <-ctx.Done():
			if c.net.flaw == "stop error" {
				return ctx.Err()
			}
			return nil
		case <-wait:
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (c *channel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	if ctx.Err() != nil {
		return channels.Receipt{}, ctx.Err()
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(m.Text, "\x00", ""), "")
	n := c.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse && n.flaw != "deaf to refusal" {
		return channels.Receipt{}, errors.New("refused")
	}
	if n.flaw == "silent" && c.state != channels.StateConnected {
		return channels.Receipt{MessageID: "0"}, nil
	}
	if m.Edit != "" && n.flaw != "edit sends" {
		for i, l := range n.seen[m.Key] {
			if l.id == m.Edit {
				n.seen[m.Key][i].text = text
				return channels.Receipt{MessageID: l.id}, nil
			}
		}
	}
	n.ids++
	id := fmt.Sprintf("m%d", n.ids)
	n.seen[m.Key] = append(n.seen[m.Key], line{id, text})
	return channels.Receipt{MessageID: id}, nil
}

func (c *channel) Preview(ctx context.Context, p channels.Preview) (string, error) {
	r, err := c.Send(ctx, channels.Outbound{Key: p.Key, Text: p.Text, Edit: p.MessageID})
	return r.MessageID, err
}

func (c *channel) Split(_ channels.Key, markdown string) []channels.Piece {
	if c.net.flaw == "cuts bytes" && len(markdown) > 1000 {
		return channels.Pieces([]string{markdown[:1001], markdown[1001:]})
	}
	return channels.Pieces([]string{strings.ToValidUTF8(strings.ReplaceAll(markdown, "\x00", ""), "?")})
}

var _ channeltest.Network = (*network)(nil)

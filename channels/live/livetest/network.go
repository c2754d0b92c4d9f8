// Package livetest runs a live channel under the conformance suite of package
// channeltest. The person of [Network] uses the channel's real HTTP API as a page
// does, with an outbox that keeps unaccepted messages and a view that resumes where
// it was cut.
//
// A Network owns a test server, one goroutine for its outbox and one for each
// view; the test's cleanup ends them and waits.
package livetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"

	"go.uber.org/goleak"
)

// Network is one person with a page open in one or more rooms.
type Network struct {
	key   channels.Key
	serve *httptest.Server
	ctx   context.Context // of the person's goroutines

	mu     sync.Mutex
	now    *live.Hub // the daemon that is up
	feed   map[channels.Key][]live.Item
	seq    int64
	views  map[channels.Key]*view
	outbox chan string
	work   sync.WaitGroup
}

// New opens a network. key is the default room.
func New(t *testing.T, key channels.Key) *Network {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	n := &Network{
		key: key, ctx: ctx, outbox: make(chan string, 1000),
		feed: map[channels.Key][]live.Item{}, views: map[channels.Key]*view{},
	}
	n.serve = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.channel().Handler().ServeHTTP(w, r)
	}))
	n.serve.Config.ErrorLog = nil
	t.Cleanup(func() {
		cancel()
		n.work.Wait()
		n.serve.Client().CloseIdleConnections()
		n.serve.Close()
	})
	return n
}

func (n *Network) channel() *live.Hub {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Open restarts the daemon: it returns a new channel on the same store.
func (n *Network) Open(t *testing.T) channels.Channel {
	t.Helper()
	ch, err := live.New(live.Options{Name: n.key.Channel(), Room: n.key.Chat(), Feed: n.ReadFeed, Visitor: Alone})
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	first := n.now == nil
	n.now = ch
	n.mu.Unlock()
	if first {
		n.work.Go(n.post)
		n.watch(n.key)
	}
	return &stored{ch, n}
}

// Key is the room of the person.
func (n *Network) Key() channels.Key { return n.key }

// Say puts text into the person's outbox.
func (n *Network) Say(_ *testing.T, text string) { n.outbox <- text }

// post sends the person's messages one after the other, each until it is accepted.
func (n *Network) post() {
	c := n.client(n.key)
	for i := 0; ; i++ {
		select {
		case <-n.ctx.Done():
			return
		case text := <-n.outbox:
			for c.Post(n.ctx, fmt.Sprintf("message-%d", i), text) != nil && pause(n.ctx) {
			}
		}
	}
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(5 * time.Millisecond):
		return true
	}
}

func (n *Network) client(k channels.Key) *live.Client {
	return &live.Client{HTTP: n.serve.Client(), URL: n.serve.URL, Room: k.Chat()}
}

// Seen returns the bot's messages on the person's page.
func (n *Network) Seen(t *testing.T) []string { return n.SeenIn(t, n.key) }

// SeenIn is Seen for any room that Key or More returned.
func (n *Network) SeenIn(t *testing.T, k channels.Key) []string {
	t.Helper()
	n.mu.Lock()
	v := n.views[k]
	n.mu.Unlock()
	v.settle(t, n.channel())
	return v.texts()
}

// More opens further rooms.
func (n *Network) More(_ *testing.T, count int) []channels.Key {
	var keys []channels.Key
	for i := range count {
		k := channels.MustKey(fmt.Sprintf("%s:more-%d", n.key.Channel(), i))
		n.watch(k)
		keys = append(keys, k)
	}
	return keys
}

func (n *Network) watch(k channels.Key) {
	v := &view{key: k, last: 0}
	n.mu.Lock()
	n.views[k] = v
	n.mu.Unlock()
	n.work.Go(func() {
		c := n.client(k)
		for {
			_ = c.Events(n.ctx, v.seq(), v.on) // a restart of the daemon breaks it
			if !pause(n.ctx) {
				return
			}
		}
	})
}

// Cut breaks all connections.
func (n *Network) Cut(_ *testing.T) { n.serve.CloseClientConnections() }

// KeepsUndelivered is true: the page keeps messages that were not accepted.
func (n *Network) KeepsUndelivered() bool { return true }

// Deduplicates is true: the page shows each id once.
func (n *Network) Deduplicates() bool { return true }

// alone is who writes in a room whose visitors are all one person.
const alone = "owner"

// Alone is the [live.Options.Visitor] of a hub that one person visits.
func Alone(*http.Request) live.Visitor { return live.Visitor{ID: alone} }

// SenderIDs are the same for everyone in a live room.
func (n *Network) SenderIDs() []string { return []string{alone} }

// IgnoreGoroutines names those of the server and the client.
func (n *Network) IgnoreGoroutines() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*Transport).dialConnFor"),
	}
}

// ReadFeed is the stored history of every room.
func (n *Network) ReadFeed(_ context.Context, k channels.Key, before int64, limit int) ([]live.Item, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return page(n.feed[k], before, limit), nil
}

// stored puts each message into the feed before it is sent, as the store's commit
// does. It removes a refused message again, because the suite knows no store and
// checks whether Send tells the truth.
type stored struct {
	*live.Hub
	net *Network
}

func (s *stored) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	n := s.net
	n.mu.Lock()
	known := slices.ContainsFunc(n.feed[m.Key], func(it live.Item) bool { return it.ID == m.ID })
	if !known {
		n.seq++
		n.feed[m.Key] = append(n.feed[m.Key], live.Item{Seq: n.seq, ID: m.ID, From: live.FromDragoman, Text: m.Text, At: time.Now()})
	}
	n.mu.Unlock()
	receipt, err := s.Hub.Send(ctx, m)
	if err != nil && !known {
		n.mu.Lock()
		n.feed[m.Key] = slices.DeleteFunc(n.feed[m.Key], func(it live.Item) bool { return it.ID == m.ID })
		n.mu.Unlock()
	}
	return receipt, err
}

// view is an open page.
type view struct {
	key channels.Key

	mu       sync.Mutex
	last     int64
	items    []live.Item
	previews map[string]string
	barriers int
}

func (v *view) seq() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

func (v *view) on(e live.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case e.Kind == "message":
		v.last = max(v.last, e.Item.Seq)
		delete(v.previews, e.Item.Replaces)
		for i, it := range v.items {
			if it.ID == e.Item.ID {
				v.items[i] = *e.Item
				return
			}
		}
		v.items = append(v.items, *e.Item)
	case e.Kind == "hello":
		v.previews = map[string]string{}
	case e.Kind == "preview":
		v.previews[e.Preview.Turn] = e.Preview.Text
	case e.Kind == "delta":
		v.previews[e.Preview.Turn] += e.Preview.Text
	case e.Kind == "end":
		delete(v.previews, e.Preview.Turn)
	}
}

// settle waits until the view shows everything that ch has published. It publishes a
// preview of its own and waits for it, because events arrive in order.
func (v *view) settle(t *testing.T, ch *live.Hub) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		v.mu.Lock()
		v.barriers++
		turn := fmt.Sprintf("barrier-%d", v.barriers)
		v.mu.Unlock()
		_, err := ch.Preview(t.Context(), channels.Preview{Key: v.key, Turn: turn, Text: "barrier"})
		if notSent := (*channels.NotSent)(nil); errors.As(err, &notSent) {
			return // nothing is published while the channel is down
		}
		for range 4 {
			v.mu.Lock()
			_, there := v.previews[turn]
			v.mu.Unlock()
			if there {
				return
			}
			select {
			case <-deadline:
				t.Fatal("the view did not catch up")
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

// texts returns the bot's messages and then the previews.
func (v *view) texts() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var texts []string
	for _, it := range v.items {
		if it.From == live.FromDragoman {
			texts = append(texts, it.Text)
		}
	}
	for turn, text := range v.previews {
		if text != "barrier" {
			texts = append(texts, "preview "+turn+": "+text)
		}
	}
	return texts
}

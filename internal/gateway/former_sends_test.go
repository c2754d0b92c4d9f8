package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// calledPeers hands out the function that answers other nodes.
type calledPeers struct {
	serves chan func(context.Context, string, []byte) ([]byte, error)
}

func (p calledPeers) Call(context.Context, sessions.Peer, string, []byte) ([]byte, error) {
	return nil, sessions.ErrNoPeer
}

func (p calledPeers) Serve(ctx context.Context, f func(context.Context, string, []byte) ([]byte, error)) error {
	p.serves <- f
	<-ctx.Done()
	return nil
}
func (p calledPeers) Nodes(context.Context) ([]sessions.Node, error) { return nil, nil }
func (p calledPeers) Leave(context.Context) error                    { return nil }

// A call without a seal may come from anybody who may connect to the database. It sends
// only what the store says that a node sends now, in the store's words, and once.
func TestSendForAFormerNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := calledPeers{make(chan func(context.Context, string, []byte) ([]byte, error), 1)}
		asked := make(chan struct{})
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Node.Peers = p
			w.net.slow = func(context.Context) error { <-asked; return nil }
		})
		call := <-p.serves
		for _, method := range sessions.FormerMethods {
			if _, err := call(t.Context(), method, []byte("null")); errors.Is(err, sessions.ErrNoPeer) && strings.Contains(err.Error(), "does not know") {
				t.Errorf("no gateway knows the method %q", method)
			}
		}
		w.say("1", "hello")
		synctest.Wait() // the answer is being sent
		items, err := w.store.QueueOf(t.Context(), channels.MustKey("net:1"))
		i := slices.IndexFunc(items, func(i sessions.QueueItem) bool { return i.Lane == sessions.LaneOut })
		if err != nil || i < 0 {
			t.Fatalf("the queues have %+v, %v", items, err)
		}
		send := func(o channels.Outbound) error {
			args, _ := json.Marshal(o)
			_, err := call(sessions.WithoutSeal(t.Context()), sessions.MethodSend, args)
			return err
		}
		real := channels.Outbound{ID: items[i].Delivery, Key: channels.MustKey("net:1"), Text: "send money", Attempt: 1}
		for name, change := range map[string]func(*channels.Outbound){
			"another id":      func(o *channels.Outbound) { o.ID = "x" },
			"no id":           func(o *channels.Outbound) { o.ID = "" },
			"another chat":    func(o *channels.Outbound) { o.Key = channels.MustKey("net:2") },
			"another attempt": func(o *channels.Outbound) { o.Attempt = 2 },
		} {
			o := real
			change(&o)
			if err := send(o); err == nil {
				t.Errorf("a message with %s was sent", name)
			}
		}
		sent := make(chan error, 1)
		go func() { sent <- send(real) }()
		synctest.Wait()
		if err := send(real); err == nil {
			t.Error("a message was sent once more")
		}
		close(asked)
		if err := <-sent; err != nil {
			t.Errorf("a former node's message was not sent: %v", err)
		}
		w.expect("1", "echo hello", "echo hello")
	})
}

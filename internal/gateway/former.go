package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"dragoman/channels"
	"dragoman/sessions"
)

// Versions before labels told with prefixes what an id is for. A store may have such ids.
const (
	formerAsk     = "ask:"
	formerCompact = "compact:"
	formerTell    = "tell:"
	formerUnseen  = "unseen:"
	formerWaiting = "waiting:"
)

// sendCall asks the node that runs a channel to send a message. Nodes of versions before
// labels know the text with its marks, and no Marked.
type sendCall struct {
	channels.Outbound
	Marked bool
}

// callOf is the call for o.
func callOf(o channels.Outbound) sendCall {
	o.Text = channels.WithMarks(o.Text, "", o.Form)
	if o.Repeats {
		o.Text = channels.RepeatMark + o.Text
	}
	return sendCall{o, true}
}

// message is the message to send.
func (c sendCall) message() channels.Outbound {
	o := c.Outbound
	mayRepeat := o.Repeats || !c.Marked && o.Uncertain && o.Edit == ""
	if text, found := strings.CutPrefix(o.Text, channels.RepeatMark); found && mayRepeat {
		o.Text = text
		o.Repeats = true
	}
	text, _, form := channels.WithoutMarks(o.Text)
	if !c.Marked {
		o.Form = form
	}
	if form == o.Form {
		o.Text = text
	}
	return o
}

// formerSends are the attempts that nodes without seals have asked this one to make.
type formerSends struct {
	mu sync.Mutex
	m  map[string]bool // by the delivery's id and the number of the attempt
}

// formerSendsMost is how many are remembered.
const formerSendsMost = 4096

// isFirst notes an attempt, and reports whether it is asked for the first time.
func (f *formerSends) isFirst(id string, attempt int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.m) >= formerSendsMost {
		clear(f.m)
	}
	name := fmt.Sprint(id, " ", attempt)
	again := f.m[name]
	f.m[name] = true
	return !again
}

// confirmed is o with the words and the place that the store has for it. A call without a
// seal may come from anybody, so it is heeded once, and only while the store says that a
// node sends this delivery now.
func (g *Gateway) confirmed(ctx context.Context, o channels.Outbound) (channels.Outbound, error) {
	d, err := g.store.Sending(ctx, o.ID)
	if err != nil {
		return o, &channels.NotSent{Err: fmt.Errorf("gateway: send for an earlier version: %w", err)}
	}
	if d.Key != o.Key || d.Attempts != o.Attempt || !g.formerSends.isFirst(d.ID, d.Attempts) {
		return o, errors.New("gateway: send for an earlier version: the store has no such attempt, or it was made")
	}
	d.State = sessions.DeliveryQueued // as it was, as far as outbound looks
	d.Attempts--
	stored := g.outbound(g.bindings[d.Key.Channel()], d)
	stored.Repeats = o.Repeats
	stored.Uncertain = o.Uncertain
	stored.GoesOn = o.GoesOn
	stored.Finishes = o.Finishes
	return stored, nil
}

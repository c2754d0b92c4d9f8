package gateway

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"dragoman/channels"
	"dragoman/sessions"
)

// underway knows what is going out in each chat: which answer has begun and
// has pieces left, so that a /stop or a kick can take them out of the outbox,
// and which replies to commands go before everything else. It is in memory:
// after a restart the rest of a stopped answer may still be sent.
type underway struct {
	mu    sync.Mutex
	chats map[channels.Key]*outgoing
}

type outgoing struct {
	answers map[int64]*leaving // by Created of their pieces: they were stored in one commit
	latest  int64              // that of the piece that went out last
	said    said               // what went out last, but for replies to commands
	urgent  []int64            // Seqs of replies to commands
	last    string             // the text that an answer of the model ends with
}

// said is what went out last in a chat.
type said struct {
	who    string // whom it was for; see [Gateway.asker]
	pieces int    // how many for them, one after the other
	text   string // of the last of them
}

// leaving is an answer that is going out.
type leaving struct {
	who   string // see [Gateway.asker]
	begun bool   // one of its pieces has arrived
	left  bool   // and others have not
	cut   int64  // pieces with a smaller Seq are not wanted any more
}

// of is the entry of k. The caller holds u.mu.
func (u *underway) of(k channels.Key) *outgoing {
	if u.chats == nil {
		u.chats = make(map[channels.Key]*outgoing)
	}
	o := u.chats[k]
	if o == nil {
		o = &outgoing{answers: map[int64]*leaving{}}
		u.chats[k] = o
	}
	return o
}

// hurry lets n replies stored after seq overtake what waits in k's outbox.
func (u *underway) hurry(k channels.Key, seq int64, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.of(k)
	for i := range int64(n) {
		o.urgent = append(o.urgent, seq+1+i)
	}
}

// first sorts what hurries to the front of list, which was just read. What is
// not in it has gone out already.
func (u *underway) first(k channels.Key, list []sessions.Delivery) []sessions.Delivery {
	u.mu.Lock()
	defer u.mu.Unlock()
	if o := u.chats[k]; o != nil && len(o.urgent) > 0 {
		o.urgent = slices.DeleteFunc(o.urgent, func(seq int64) bool {
			return !slices.ContainsFunc(list, func(d sessions.Delivery) bool { return d.Seq == seq })
		})
		slices.SortStableFunc(list, func(a, b sessions.Delivery) int {
			x, y := slices.Contains(o.urgent, a.Seq), slices.Contains(o.urgent, b.Seq)
			switch {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
	}
	return list
}

// most is how much of k's outbox to read: as far as what hurries may be.
func (u *underway) most(k channels.Key) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if o := u.chats[k]; o != nil && len(o.urgent) > 0 {
		return hurryBatch
	}
	return deliverBatch
}

// overtaken reports whether something hurries that d must let pass.
func (u *underway) overtaken(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	return o != nil && len(o.urgent) > 0 && !slices.Contains(o.urgent, d.Seq)
}

// finishes notes that an answer of the model in k ends with the last of replies.
func (u *underway) finishes(k channels.Key, replies []sessions.Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of(k).last = replies[len(replies)-1].Text
}

// isLast reports whether an answer of the model ends with d.
func (u *underway) isLast(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	return o != nil && o.last != "" && o.last == d.Text
}

// begun are the answers to who, or to anybody if that is "", that have begun in
// k and have pieces left. The caller holds u.mu.
func (u *underway) begun(k channels.Key, who string) (all []*leaving) {
	if o := u.chats[k]; o != nil {
		for _, a := range o.answers {
			if a.begun && a.left && (who == "" || who == a.who) {
				all = append(all, a)
			}
		}
	}
	return all
}

// isLeft reports whether an answer to who, or to anybody if that is "", has
// begun in k and has pieces left.
func (u *underway) isLeft(k channels.Key, who string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.begun(k, who)) > 0
}

// end takes back what is left of the answers to who, or to anybody if that is
// "", that have begun in k, as far as they were stored before seq. It reports
// false if none has.
func (u *underway) end(k channels.Key, who string, seq int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.begun(k, who)
	for _, a := range all {
		a.cut = seq
	}
	return len(all) > 0
}

// lastSaid is what went out last in k.
func (u *underway) lastSaid(k channels.Key) said {
	u.mu.Lock()
	defer u.mu.Unlock()
	if o := u.chats[k]; o != nil {
		return o.said
	}
	return said{}
}

// sent notes that the network has d.
func (u *underway) sent(d sessions.Delivery) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of(d.Key).latest = d.Created.UnixNano()
}

// goesOn reports whether what went out last was of the answer that d is of.
func (u *underway) goesOn(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	return o != nil && o.latest == d.Created.UnixNano()
}

// unwanted reports whether d was taken back.
func (u *underway) unwanted(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	if o == nil || slices.Contains(o.urgent, d.Seq) {
		return false
	}
	a := o.answers[d.Created.UnixNano()]
	return a != nil && d.Seq < a.cut
}

// begins notes that d, which is for who, is tried, and what comes after it.
func (u *underway) begins(d sessions.Delivery, who string, after []sessions.Delivery) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.of(d.Key)
	if slices.Contains(o.urgent, d.Seq) {
		return
	}
	answer := d.Created.UnixNano()
	maps.DeleteFunc(o.answers, func(a int64, _ *leaving) bool {
		return a != answer && !slices.ContainsFunc(after, func(d sessions.Delivery) bool { return d.Created.UnixNano() == a })
	})
	a := o.answers[answer]
	if a == nil {
		a = &leaving{who: who}
		o.answers[answer] = a
	}
	a.left = slices.ContainsFunc(after, func(a sessions.Delivery) bool { return a.Created.Equal(d.Created) })
}

// ended notes that d arrived or was given up.
func (u *underway) ended(d sessions.Delivery, arrived bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o, answer := u.of(d.Key), d.Created.UnixNano()
	if i := slices.Index(o.urgent, d.Seq); i >= 0 {
		o.urgent = slices.Delete(o.urgent, i, i+1)
	} else if a := o.answers[answer]; a != nil {
		if a.begun = a.begun || arrived; o.said.who != a.who {
			o.said = said{who: a.who}
		}
		if o.said.pieces, o.said.text = o.said.pieces+1, d.Text; !a.left {
			delete(o.answers, answer)
		}
	}
	if d.Text == o.last {
		o.last = ""
	}
	if len(o.answers) == 0 && len(o.urgent) == 0 && o.last == "" {
		delete(u.chats, d.Key)
	}
}

// everything is a Seq that no delivery reaches.
const everything = math.MaxInt64

// drop takes d out of the outbox: it is not wanted any more.
func (g *Gateway) drop(ctx context.Context, c sessions.Claim, d sessions.Delivery, why string) error {
	if err := g.store.Drop(ctx, c, d.ID, why); err != nil {
		return fmt.Errorf("drop %s: %w", d.ID, err)
	}
	g.log(d.Key).Info("the rest of an answer is not sent", "msg_id", d.ID, "why", why)
	g.opts.Observer.Delivered(d.Key.Channel(), "dropped")
	g.underway.ended(d, false)
	return nil
}

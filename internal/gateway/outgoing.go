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

// underway knows which answers of each chat are partly sent, so that a /stop or
// a kick can drop the rest, and which replies to commands overtake everything
// else. It is memory only: after a restart the rest of a stopped answer may
// still be sent.
type underway struct {
	mu    sync.Mutex
	chats map[channels.Key]*outgoing
}

// outgoing is what [underway] knows of one chat.
type outgoing struct {
	answers map[int64]*answer // by Created of their pieces, which one commit stored
	latest  int64             // Created of the piece that was sent last
	streak  streak            // replies to commands do not count
	urgent  []int64           // Seqs of replies to commands
}

// streak is the run of pieces to one person that a chat received last.
type streak struct {
	asker  string // see [Gateway.asker]
	pieces int
	text   string // of the last piece
}

// answer is the pieces that one commit stored for one person, from the first that
// is sent to the last.
type answer struct {
	asker string // see [Gateway.asker]
	begun bool   // a piece has arrived
	left  bool   // others have not
	cut   int64  // pieces with a smaller Seq are cancelled
}

// chat returns the entry of k and makes it if needed. The caller holds u.mu.
func (u *underway) chat(k channels.Key) *outgoing {
	o := u.chats[k]
	if o == nil {
		o = &outgoing{answers: map[int64]*answer{}}
		u.chats[k] = o
	}
	return o
}

// expedite lets n replies stored after seq overtake the other deliveries of k.
func (u *underway) expedite(k channels.Key, seq int64, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chat(k)
	for i := range int64(n) {
		o.urgent = append(o.urgent, seq+1+i)
	}
}

// urgentFirst sorts urgent replies to the front of list, which was just read.
// Those that are not in it were sent already.
func (u *underway) urgentFirst(k channels.Key, list []sessions.Delivery) []sessions.Delivery {
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

// batch is how many deliveries of k to read: far enough to find the urgent ones.
func (u *underway) batch(k channels.Key) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if o := u.chats[k]; o != nil && len(o.urgent) > 0 {
		return urgentBatch
	}
	return deliverBatch
}

// overtaken reports whether an urgent reply must be sent before d.
func (u *underway) overtaken(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	return o != nil && len(o.urgent) > 0 && !slices.Contains(o.urgent, d.Seq)
}

// continues reports whether d continues the answer whose piece was sent last.
func (u *underway) continues(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	return o != nil && o.latest == d.Created.UnixNano()
}

// finishes reports whether a turn's answer ends with d.
func finishes(d sessions.Delivery) bool {
	isAnswer := d.Kind == channels.KindAnswer || d.Kind == channels.KindApology || d.Kind == channels.KindCommand
	return isAnswer && d.Turn != "" && d.Part == d.Parts
}

// begun returns the answers in k to asker ("": to anybody) that are partly sent. The
// caller holds u.mu.
func (u *underway) begun(k channels.Key, asker string) (all []*answer) {
	if o := u.chats[k]; o != nil {
		for _, a := range o.answers {
			if a.begun && a.left && (asker == "" || asker == a.asker) {
				all = append(all, a)
			}
		}
	}
	return all
}

// partlySent reports whether an answer in k to asker ("": to anybody) is partly sent.
func (u *underway) partlySent(k channels.Key, asker string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.begun(k, asker)) > 0
}

// cancelRest cancels the rest of the answers in k to asker ("": to anybody) that are
// partly sent, up to the piece before seq. It reports whether there are any.
func (u *underway) cancelRest(k channels.Key, asker string, seq int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.begun(k, asker)
	for _, a := range all {
		a.cut = seq
	}
	return len(all) > 0
}

func (u *underway) lastStreak(k channels.Key) streak {
	u.mu.Lock()
	defer u.mu.Unlock()
	if o := u.chats[k]; o != nil {
		return o.streak
	}
	return streak{}
}

func (u *underway) sent(d sessions.Delivery) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.chat(d.Key).latest = d.Created.UnixNano()
}

func (u *underway) cancelled(d sessions.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chats[d.Key]
	if o == nil || slices.Contains(o.urgent, d.Seq) {
		return false
	}
	a := o.answers[d.Created.UnixNano()]
	return a != nil && d.Seq < a.cut
}

// begins notes that d, which is for asker, is being sent, and which deliveries
// come after it.
func (u *underway) begins(d sessions.Delivery, asker string, after []sessions.Delivery) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.chat(d.Key)
	if slices.Contains(o.urgent, d.Seq) {
		return
	}
	created := d.Created.UnixNano()
	maps.DeleteFunc(o.answers, func(a int64, _ *answer) bool {
		return a != created && !slices.ContainsFunc(after, func(d sessions.Delivery) bool { return d.Created.UnixNano() == a })
	})
	a := o.answers[created]
	if a == nil {
		a = &answer{asker: asker}
		o.answers[created] = a
	}
	a.left = d.Part < d.Parts || slices.ContainsFunc(after, func(a sessions.Delivery) bool { return a.Created.Equal(d.Created) })
}

func (u *underway) ended(d sessions.Delivery, arrived bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o, created := u.chat(d.Key), d.Created.UnixNano()
	if i := slices.Index(o.urgent, d.Seq); i >= 0 {
		o.urgent = slices.Delete(o.urgent, i, i+1)
	} else if a := o.answers[created]; a != nil {
		a.begun = a.begun || arrived
		if o.streak.asker != a.asker {
			o.streak = streak{asker: a.asker}
		}
		o.streak.pieces, o.streak.text = o.streak.pieces+1, d.Text
		if !a.left {
			delete(o.answers, created)
		}
	}
	if len(o.answers) == 0 && len(o.urgent) == 0 {
		delete(u.chats, d.Key)
	}
}

// allPieces is greater than the Seq of any delivery.
const allPieces = math.MaxInt64

func (g *Gateway) drop(ctx context.Context, c sessions.Claim, d sessions.Delivery, why string) error {
	if err := g.store.Drop(ctx, c, d.ID, why); err != nil {
		return fmt.Errorf("drop %s: %w", d.ID, err)
	}
	g.log(d.Key).Info("the rest of an answer is not sent", "msg_id", d.ID, "why", why)
	g.opts.Observer.Delivered(d.Key.Channel(), "dropped")
	g.underway.ended(d, false)
	return nil
}

package gateway

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// outgoing knows which answers of a chat are partly sent, so that a /stop or
// a kick can drop the rest, and which replies to commands overtake everything
// else. After a restart the rest of a stopped answer may still be sent.
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

// outgoing is what is being sent in k, nil if that is nothing. The caller holds s.mu.
func (s *chats) outgoing(k channels.Key) *outgoing {
	c := s.m[k]
	if c == nil {
		return nil
	}
	return c.out
}

// beginOutgoing is outgoing, made if need be.
func (s *chats) beginOutgoing(k channels.Key) *outgoing {
	c := s.at(k)
	if c.out == nil {
		c.out = &outgoing{answers: map[int64]*answer{}}
	}
	return c.out
}

// expedite lets n replies stored after seq overtake the other deliveries of k.
func (s *chats) expedite(k channels.Key, seq int64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.beginOutgoing(k)
	for i := range int64(n) {
		o.urgent = append(o.urgent, seq+1+i)
	}
}

// urgentFirst sorts urgent replies to the front of list, which was just read.
// Those that are not in it were sent already.
func (s *chats) urgentFirst(k channels.Key, list []sessions.Delivery) []sessions.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(list) > 0 && list[0].Part > 1 { // within a long answer, perhaps after a restart
		s.expediteCommands(k, list)
	}
	o := s.outgoing(k)
	if o == nil || len(o.urgent) == 0 {
		return list
	}
	urgent := slices.DeleteFunc(o.urgent, func(seq int64) bool {
		return !slices.ContainsFunc(list, func(d sessions.Delivery) bool { return d.Seq == seq })
	})
	o.urgent = urgent
	slices.SortStableFunc(list, func(a, b sessions.Delivery) int {
		x, y := slices.Contains(urgent, a.Seq), slices.Contains(urgent, b.Seq)
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return list
}

// expediteCommands lets the replies to commands in list overtake the other deliveries of k.
// After a restart nobody else knows of them. The caller holds s.mu.
func (s *chats) expediteCommands(k channels.Key, list []sessions.Delivery) {
	for _, d := range list {
		if d.Kind != channels.KindCommand {
			continue
		}
		if o := s.beginOutgoing(k); !slices.Contains(o.urgent, d.Seq) {
			o.urgent = append(o.urgent, d.Seq)
		}
	}
}

// batch is how many deliveries of k to read: far enough to find the urgent ones.
func (s *chats) batch(k channels.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.outgoing(k); o != nil && len(o.urgent) > 0 {
		return urgentBatch
	}
	return deliverBatch
}

// overtaken reports whether an urgent reply must be sent before d.
func (s *chats) overtaken(d sessions.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outgoing(d.Key)
	return o != nil && len(o.urgent) > 0 && !slices.Contains(o.urgent, d.Seq)
}

// continues reports whether d continues the answer whose piece was sent last.
func (s *chats) continues(d sessions.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outgoing(d.Key)
	return o != nil && o.latest == d.Created.UnixNano()
}

// finishes reports whether a turn's answer ends with d.
func finishes(d sessions.Delivery) bool {
	isAnswer := d.Kind == channels.KindAnswer || d.Kind == channels.KindApology || d.Kind == channels.KindCommand
	return isAnswer && d.Turn != "" && d.Part == d.Parts
}

// begun returns the answers in k to asker ("": to anybody) that are partly sent. The
// caller holds s.mu.
func (s *chats) begun(k channels.Key, asker string) (all []*answer) {
	if o := s.outgoing(k); o != nil {
		for _, a := range o.answers {
			if a.begun && a.left && (asker == "" || asker == a.asker) {
				all = append(all, a)
			}
		}
	}
	return all
}

// partlySent reports whether an answer in k to asker ("": to anybody) is partly sent.
func (s *chats) partlySent(k channels.Key, asker string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.begun(k, asker)) > 0
}

// cancelRest cancels the rest of the answers in k to asker ("": to anybody) that are
// partly sent, up to the piece before seq. It reports whether there are any.
func (s *chats) cancelRest(k channels.Key, asker string, seq int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.begun(k, asker)
	for _, a := range all {
		a.cut = seq
	}
	return len(all) > 0
}

func (s *chats) lastStreak(k channels.Key) streak {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.outgoing(k); o != nil {
		return o.streak
	}
	return streak{}
}

func (s *chats) sent(d sessions.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginOutgoing(d.Key).latest = d.Created.UnixNano()
}

func (s *chats) cancelled(d sessions.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outgoing(d.Key)
	if o == nil || slices.Contains(o.urgent, d.Seq) {
		return false
	}
	a := o.answers[d.Created.UnixNano()]
	return a != nil && d.Seq < a.cut
}

// begins notes that d, which is for asker, is being sent, and which deliveries
// come after it.
func (s *chats) begins(d sessions.Delivery, asker string, after []sessions.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.beginOutgoing(d.Key)
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

func (s *chats) ended(d sessions.Delivery, arrived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, created := s.beginOutgoing(d.Key), d.Created.UnixNano()
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
		s.m[d.Key].out = nil
		s.tidy(d.Key)
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
	g.chats.ended(d, false)
	return nil
}

package crash_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
)

// stopped stands for a /stop among the marks that a person sent.
const stopped = 0

// What the daemon says to a /stop, which is part of its promise, too.
const (
	toldStopped = "Stopped."
	toldPartial = "(stopped)"
	toldWaiting = "it is not answered any more. Ask again when you like."
	toldNothing = "Nothing is running now."
)

// unrest is what happens to the servers while the daemon is killed, and what
// the model was asked meanwhile.
type unrest struct {
	down atomic.Bool // the model

	mu     sync.Mutex
	asked  map[int]int // by mark, the newest request that asked for it
	number int

	refused, outages, silences int // of the token, of the network, of the model
}

// reply is the model behind its outages.
func (u *unrest) reply(x *agenttest.Exchange) {
	if u.down.Load() {
		x.Status(http.StatusServiceUnavailable, nil, `{"error":{"message":"overloaded"}}`)
		return
	}
	u.mu.Lock()
	u.number++
	if u.asked == nil {
		u.asked = make(map[int]int)
	}
	for _, mark := range agenttest.Marks(strings.Join(x.Request.Input(), " ")) {
		n, _ := strconv.Atoi(mark[1:])
		u.asked[n] = u.number
	}
	u.mu.Unlock()
	reply(x)
}

// turn is the request that asked for n last; 0 if none did.
func (u *unrest) turn(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[n]
}

// trouble lets one thing after another fail until ctx ends: the model, and on
// Telegram the bot's token and the network.
func (c *campaign) trouble(ctx context.Context) {
	pause := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	for i := 0; ; i++ {
		pause(700*time.Millisecond + rand.N(time.Second))
		if ctx.Err() != nil {
			return
		}
		switch long := 200*time.Millisecond + rand.N(300*time.Millisecond); {
		case c.api == nil || i%3 == 0:
			c.down.Store(true)
			pause(long)
			c.down.Store(false)
			c.silences++
		case i%3 == 1:
			heal := c.api.Break(botapi.Fault{Status: http.StatusUnauthorized, Description: "Unauthorized"})
			pause(long)
			heal()
			c.refused++
			c.hangup()
		default:
			heal := c.api.Break(botapi.Fault{DropBefore: true})
			pause(long)
			heal()
			c.outages++
		}
	}
}

// hangup sends the daemon SIGHUP, as an operator does whose token is well
// again. A daemon that has not called the network yet may not listen for it.
func (c *campaign) hangup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.daemon != nil && c.calls() > c.before {
		_ = c.daemon.Signal(syscall.SIGHUP) // it may be dead by now
	}
}

// calls counts what the daemon asked of the network at first.
func (c *campaign) calls() int {
	if c.api == nil {
		return 0
	}
	return c.api.Count("getUpdates")
}

// stops is what a chat was told about its /stops.
type stops struct {
	sure, marked int   // replies, and those that may be repeats
	ended        int   // a turn that showed none of its marks
	waiting      int   // what waited
	partial      []int // the marks of turns that were ended while they showed them
}

// take reports whether text is the reply to a /stop, and counts it.
func (s *stops) take(text string) bool {
	plain, marked := strings.CutPrefix(text, repeatMark)
	switch {
	case strings.HasSuffix(plain, toldPartial):
		marks := agenttest.Marks(plain)
		for _, mark := range marks {
			n, _ := strconv.Atoi(mark[1:])
			s.partial = append(s.partial, n)
		}
		if len(marks) == 0 {
			s.ended++
		}
	case plain == toldStopped:
		s.ended++
	case strings.HasSuffix(plain, toldWaiting):
		s.waiting++
	case plain != toldNothing:
		return false
	}
	if marked {
		s.marked++
	} else {
		s.sure++
	}
	return true
}

// missing judges what was not answered: a /stop may have ended one turn, or, if
// it said so, all that waited. The messages of one turn stand in a row, and
// were asked together, or none of them was. It returns how many messages nothing excuses.
func (s stops) missing(sent []int, seen map[int]bool, turn func(n int) int) (lost int) {
	excused := make(map[int]bool)
	waiting := s.waiting
	for i, n := range sent {
		if n != stopped || waiting == 0 {
			continue
		}
		all := 0
		for j := i - 1; j >= 0 && (sent[j] == stopped || !seen[sent[j]]); j-- {
			if n := sent[j]; n != stopped && !excused[n] {
				excused[n] = true
				all++
			}
		}
		if all > 0 {
			waiting--
		}
	}
	newest := len(sent) - 1
	for newest >= 0 && sent[newest] != stopped {
		newest--
	}
	var size []int // messages of each turn that was not answered
	before := -1   // the turn of the message before; 0: none asked about it
	for i, n := range sent {
		switch {
		case n == stopped:
			continue
		case seen[n] || excused[n]:
			before = -1
			continue
		case i > newest:
			lost++
			continue
		}
		inTurn := turn(n)
		if inTurn != 0 && slices.ContainsFunc(s.partial, func(p int) bool { return turn(p) == inTurn }) {
			continue // its answer had begun
		}
		if inTurn != before { // what no turn asked about waited together
			size = append(size, 0)
		}
		size[len(size)-1]++
		before = inTurn
	}
	for _, n := range size[min(s.ended, len(size)):] {
		lost += n
	}
	return lost
}

// untold is how many of the /stops that were sent have no reply.
func (s stops) untold(sent []int) (untold, extra int) {
	n := 0
	for _, mark := range sent {
		if mark == stopped {
			n++
		}
	}
	return max(0, n-s.sure-s.marked), max(0, s.sure-n)
}

package crash_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
)

// stopped stands for a /stop among the marks that a person sent, renewed for a /new.
const (
	stopped = 0
	renewed = -1
)

// What the daemon says to a /stop or /new, which is part of its promise, too.
const (
	toldStopped    = "Stopped."
	toldPartial    = "(stopped)"
	toldWaiting    = "I will not answer it now; ask again whenever you like."
	toldNothing    = "Nothing is running now."
	toldRenewed    = "A new conversation begins."
	toldUnanswered = " I have not answered “" // and names
)

// toldPaused is what people read while the daemon is paused.
const toldPaused = "A moment, please."

// unrest is what happens to the servers while the daemon is killed, and what
// the model was asked meanwhile.
type unrest struct {
	down atomic.Bool // the model

	moody   bool // the model's server is also in moods
	lengthy bool // and some answers are long

	mu     sync.Mutex
	asked  []request
	met    map[string]int // by mood
	moodOf map[int]bool   // by mark: the mood over it was met

	refused, outages, silences int // of the token, of the network, of the model
	closures, losses           int // of topics
	pauses                     int // of the daemon
}

// reply is the model behind its outages.
func (u *unrest) reply(x *agenttest.Exchange) {
	u.mu.Lock()
	away := u.down.Load()
	u.asked = append(u.asked, request{at: time.Now(), marks: asks(x.Request), again: away || callsTools(x.Request)})
	u.mu.Unlock()
	if away {
		x.Status(http.StatusServiceUnavailable, nil, `{"error":{"message":"overloaded"}}`)
		return
	}
	if !u.misbehaves(x, asks(x.Request)) {
		reply(x)
	}
}

// noted is a note about a message that was changed too late.
var noted = regexp.MustCompile(` changed an earlier message to:\] message #\d+`)

// asks is what a request asks to be answered, without such notes.
func asks(r *agenttest.Request) []int {
	if len(r.Tools) == 0 {
		return nil // a summary
	}
	return marks(noted.ReplaceAllString(strings.Join(r.Input(), " "), ""))
}

// marks are the numbers of the messages that s names.
func marks(s string) (all []int) {
	for _, mark := range agenttest.Marks(s) {
		n, _ := strconv.Atoi(mark[1:])
		all = append(all, n)
	}
	return all
}

// trouble lets one thing after another fail until ctx ends: the model, and on
// Telegram the bot's token and the network. On other networks people annoy the
// bot, where they can.
func (c *campaign) trouble(ctx context.Context) {
	pause := func(d time.Duration) { c.pause(ctx, d) }
	for i := 0; ; i++ {
		pause(700*time.Millisecond + upTo(c.dice.unrest, time.Second))
		if ctx.Err() != nil {
			return
		}
		switch long := 200*time.Millisecond + upTo(c.dice.unrest, 300*time.Millisecond); {
		case c.api != nil && i%5 == 4:
			c.rest(ctx, long)
		case c.people.annoy != nil && i%2 == 1:
			c.people.annoy()
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

// rest pauses the daemon for a while, as an operator does who has to mend something. What
// it is asked meanwhile waits, and is answered afterwards.
func (c *campaign) rest(ctx context.Context, long time.Duration) {
	c.configure("limits: {pause: {answer: '" + toldPaused + "', keep: true}}\n")
	c.hangup()
	c.pause(ctx, long)
	c.configure("")
	c.hangup()
	c.pauses++
}

// configure writes the configuration, with more in the end.
func (c *campaign) configure(more string) {
	draft := c.config + ".new"
	err := os.WriteFile(draft, []byte(c.settings+more), 0o600)
	if err == nil {
		err = os.Rename(draft, c.config)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// pause waits, not beyond the end of ctx.
func (c *campaign) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// dice are what chance decides in a campaign. Each goroutine that asks them has its own,
// so that a seed gives the same choices again, at about the same times.
type dice struct{ talk, kills, unrest, places *rand.Rand }

// roll makes the dice of a seed.
func (c *campaign) roll(seed uint64) {
	of := func(who uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, who)) }
	c.dice = dice{talk: of(1), kills: of(2), unrest: of(3), places: of(4)}
}

// upTo is less than d.
func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

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

// replied reports whether text is the reply to a /stop.
func replied(text string) bool {
	plain := strings.TrimRight(strings.TrimPrefix(unnamed(text), repeatMark), "_") // as WhatsApp has italics
	return plain == toldStopped || plain == toldNothing || strings.HasSuffix(plain, toldPartial) || strings.HasSuffix(plain, toldWaiting)
}

// unnamed is a reply to a /stop without the messages that it names as not answered.
func unnamed(reply string) string {
	plain, _, _ := strings.Cut(reply, toldUnanswered)
	return plain
}

// Package channeltest is the conformance suite of chat adapters: what
// [channels.Channel] and [channels.Intake] promise, proved against a network
// that the test controls.
//
// An adapter's test hands [Run] a function that opens a fresh [Network]; the
// suite then writes as a person, refuses messages, stops and restarts the
// channel, cuts its connections, and looks at what the person sees. A network
// shows what else it can do by implementing the small interfaces here ([Cutter],
// [Redeliverer], [Refuser], [Crowd], …). Cases that need a missing ability are
// skipped.
//
// [Inbox] is a recording [channels.Intake] for adapters' own tests. The suite
// uses real time with deadlines, because real sockets are on the other side.
// It starts one goroutine per running channel and waits for it.
package channeltest

import (
	"testing"
	"time"

	"dragoman/channels"

	"go.uber.org/goleak"
)

// Network is a chat network under the suite's control, with one private chat
// between a person and the channel under test.
type Network interface {
	// Open makes a new channel on the same network, as after a restart of the
	// daemon. The suite runs one at a time.
	Open(t *testing.T) channels.Channel
	// Key is the private chat.
	Key() channels.Key
	// Say writes as the person. It returns when the network has the text; the
	// channel may be down.
	Say(t *testing.T, text string)
	// Seen is what the person sees from the bot in that chat now, in order,
	// as plain text.
	Seen(t *testing.T) []string
}

// Cutter can break connections.
type Cutter interface {
	// Cut ends every connection between channel and network once. New ones
	// work.
	Cut(t *testing.T)
}

// Redeliverer says whether the network delivers unacknowledged messages again
// and keeps messages while the channel is down. A network without it does
// neither.
type Redeliverer interface {
	KeepsUndelivered() bool
}

// Refuser can refuse to take messages from the channel.
type Refuser interface {
	// RefuseSends makes every send fail while on.
	RefuseSends(t *testing.T, on bool)
}

// Crowd has more than one chat.
type Crowd interface {
	// More returns n further private chats.
	More(t *testing.T, n int) []channels.Key
	// SeenIn is Seen for any chat.
	SeenIn(t *testing.T, k channels.Key) []string
}

// Identified knows which immutable ids the network gives the person.
type Identified interface {
	SenderIDs() []string
}

// Deduplicator says whether the network shows the same Outbound.ID only once.
type Deduplicator interface {
	Deduplicates() bool
}

// Paced is a network that may not be flooded.
type Paced interface {
	// LongText is how many bytes the suite's very long text should have
	// instead of 20,000.
	LongText() int
}

// Leaker names goroutines that start while the channel runs but are not the
// channel's, such as those of the test's own server.
type Leaker interface {
	IgnoreGoroutines() []goleak.Option
}

// How long the suite waits for an event that should come soon (a variable, so
// that its own tests can shorten it), for one send, and for Run to return.
var soon = time.Minute

const (
	sendTime = 60 * time.Second
	stopTime = 20 * time.Second
)

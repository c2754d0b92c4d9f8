package gateway

import (
	"context"
	"log/slog"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/internal/metrics"
	"dragoman/sessions"
)

// HeartbeatChannel is the channel part of the keys that jobs run under.
const HeartbeatChannel = "heartbeat"

// RepeatMark stands in front of a message that is sent again because it is
// unknown whether its first sending arrived.
const RepeatMark = "↻ "

// Mode says what becomes of messages that arrive while a turn runs.
type Mode string

// The queue modes.
const (
	Collect   Mode = "collect"   // answered together by the next turn
	Each      Mode = "each"      // one turn each
	Steer     Mode = "steer"     // handed to the running turn between its steps
	Interrupt Mode = "interrupt" // the running turn starts again with them
)

// Heartbeats tells the gateway about jobs.
type Heartbeats interface {
	// Target is where the answer of job goes; false if the job is gone.
	Target(job string) (channels.Key, bool)
	// Targets reports whether the answer of a job goes to k.
	Targets(k channels.Key) bool
	// Silent says whether an answer means that there is nothing to say.
	Silent(answer string) bool
}

// Options tune a gateway. The zero value works.
type Options struct {
	MaxTurns        int           // running at once; 64
	Queue           Mode          // Collect
	MaxWaiting      int           // messages waiting in one chat; 20
	MaxMessageBytes int           // of one message; 256 KiB
	RatePerMinute   int           // messages of one person; 30, negative: no limit
	GiveUpAfter     time.Duration // on a model that cannot be reached; 10 minutes
	DeliveryLimit   time.Duration // on a message that cannot be delivered; 24 hours
	SendTimeout     time.Duration // of one network call; 1 minute
	DrainLimit      time.Duration // at the end; 20 seconds
	HistoryMessages int           // loaded for a turn at most; 400. See HistoryFor
	HistoryBytes    int           // the same in bytes; 2 MiB
	Summarizers     int           // conversations summarised at once; 1
	PairingExpires  time.Duration // of a pairing code; 1 hour
	PairingPending  int           // codes waiting for one channel; 3
	TypingAfter     time.Duration // a turn younger than this shows nothing; 400 ms
	SilentFor       time.Duration // no sign of the model, until the person is told; 1 minute
	Model           string        // its name, for /status
	OneModel        bool          // it answers whatever a conversation names
	Version         string        // for /status
	Heartbeats      Heartbeats    // nil: no jobs
	// Operator reports whether k, if it is a private chat, is that of whoever
	// runs Dragoman, beside those of Binding.Owner. Nil: none is.
	Operator func(k channels.Key) bool
	// Known is what the prompt says about the person of a private chat. Nil:
	// nothing.
	Known func(ctx context.Context, k channels.Key, p channels.Person) (string, error)
	Media Media // nil: files that come with messages are only named
	Reset Reset // never
	// RetentionDays is after how many days without an update a conversation is
	// deleted; 0: never.
	RetentionDays int
	// Events is told what happens, and must not block. Nil: nobody listens.
	Events func(event.Event)
	// Audit does what a person wants done to a conversation, and writes down that
	// it is begun and how it ended. Nil: nobody writes.
	Audit func(action string, do func() error, keys ...channels.Key) error
	// Partial says that others of the configured channels, and the jobs, are
	// served by another process at another time: their work is left to it.
	Partial bool
	// NoChannels and NoTurns leave the channels that one node runs, and all work on
	// conversations, to other nodes.
	NoChannels, NoTurns bool
	// Peers are the other nodes that work on the same store. Nil: there are none.
	Peers sessions.Peers
	// Methods answer other nodes, beside those of the gateway itself.
	Methods  map[string]Method
	Observer Observer // nil: nobody counts
	Logger   *slog.Logger
	Now      func() time.Time
}

func (o *Options) setDefaults() {
	if o.Audit == nil {
		o.Audit = func(_ string, do func() error, _ ...channels.Key) error { return do() }
	}
	def(&o.MaxTurns, 64)
	def(&o.Queue, Collect)
	def(&o.MaxWaiting, 20)
	def(&o.MaxMessageBytes, 256<<10)
	def(&o.RatePerMinute, 30)
	def(&o.GiveUpAfter, 10*time.Minute)
	def(&o.DeliveryLimit, 24*time.Hour)
	def(&o.SendTimeout, time.Minute)
	def(&o.DrainLimit, 20*time.Second)
	def(&o.HistoryMessages, 400)
	def(&o.HistoryBytes, 2<<20)
	def(&o.Summarizers, 1)
	def(&o.PairingExpires, time.Hour)
	def(&o.PairingPending, 3)
	def(&o.TypingAfter, 400*time.Millisecond)
	def(&o.SilentFor, time.Minute)
	if o.Operator == nil {
		o.Operator = func(channels.Key) bool { return false }
	}
	if o.Observer == nil {
		o.Observer = metrics.New("", "") // nobody reads it
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// HistoryFor is how many messages, and bytes of them, a turn should load for a
// model that takes so many tokens: more than it can read. Then the size of a
// history, which the agent measures by what was loaded, is never taken for less
// than it is. A message takes at least five tokens, and a token rarely more
// than eight bytes.
func HistoryFor(window int) (messages, bytes int) {
	return max(400, window/3), max(2<<20, 8*window)
}

// def sets *p to v if it is zero.
func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	Accepted(channel, outcome string)
	Quarantined(channel string)
	TurnEnded(outcome string, took time.Duration)
	Delivered(channel, outcome string)
	// Repeated counts a message that was sent again without knowing whether
	// its first sending arrived.
	Repeated(channel string)
	Summarized(outcome string)
	// Unaccounted counts messages that a request neither showed nor had a
	// summary of; said: it says how many. It is called with more than 0 only.
	Unaccounted(n int, said bool)
	Heartbeat(job, outcome string)
}

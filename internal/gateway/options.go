package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"dragoman/channels"
	"dragoman/internal/metrics"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// HeartbeatChannel is the channel part of the keys that jobs run under.
const HeartbeatChannel = "heartbeat"

// RepeatMark begins a message that is sent again because its first sending may
// or may not have arrived.
const RepeatMark = "↻ "

// Mode says how messages are answered that arrive while a turn runs.
type Mode string

// The queue modes.
const (
	Collect   Mode = "collect"   // answered together by the next turn
	Each      Mode = "each"      // one turn each
	Steer     Mode = "steer"     // handed to the running turn between its steps
	Interrupt Mode = "interrupt" // the running turn starts again with them
)

// Heartbeats knows the configured jobs.
type Heartbeats interface {
	// Target is the conversation that job answers to; false if there is no such job.
	Target(job string) (channels.Key, bool)
	// Targets reports whether any job answers to k.
	Targets(k channels.Key) bool
	// Silent reports whether an answer means "nothing to say".
	Silent(answer string) bool
}

// Events takes what happens, for whoever listens. Its methods must not block.
type Events interface {
	Publish(e stream.Event)
	// Watched reports whether somebody listens to text and tool calls of k.
	Watched(k channels.Key) bool
}

// Options tune a gateway. The zero value works.
type Options struct {
	MaxTurns        int           // running at once; 64
	Queue           Mode          // Collect
	MaxWaiting      int           // messages waiting in one chat; 20
	MaxMessageBytes int           // of one message; 256 KiB
	RatePerMinute   int           // messages of one person; 30; negative: no limit
	GiveUpAfter     time.Duration // on a model that does not answer; 10 minutes
	DeliveryLimit   time.Duration // on a message that cannot be delivered; 24 hours
	SendTimeout     time.Duration // of one network call; 1 minute
	DrainLimit      time.Duration // at the end; 20 seconds
	HistoryMessages int           // loaded for a turn at most; 400. See HistoryFor
	HistoryBytes    int           // the same in bytes; 2 MiB
	Summarizers     int           // conversations summarised at once; 1
	PairingExpires  time.Duration // of a pairing code; 1 hour
	PairingPending  int           // codes waiting for one channel; 3
	TypingAfter     time.Duration // younger turns show nothing; 400 ms
	SilentFor       time.Duration // without a sign of the model before the person is told; 1 minute
	Model           string        // the configured model, for /status
	OneModel        bool          // Model answers whatever a conversation names
	Version         string        // for /status
	Heartbeats      Heartbeats    // nil: no jobs
	// Gate decides who may talk, by the Policy of each Binding. Nil: one over the store.
	Gate *people.Gate
	// Operator reports whether k, if it is a private chat, belongs to whoever runs
	// Dragoman, besides the channels with Binding.Owner. Nil: no chat does.
	Operator func(k channels.Key) bool
	// Known returns what the prompt says about the person of a private chat.
	// Nil: nothing.
	Known func(ctx context.Context, k channels.Key, p channels.Person) (string, error)
	Media Media // nil: the model only sees the names of files
	Reset Reset // default: never
	// RetentionDays is how many days after its last update a conversation is deleted.
	// 0: never.
	RetentionDays int
	// Events receives each event. Nil: events are dropped.
	Events Events
	// Audit calls do, which a person asked for, and logs its begin and its
	// outcome. Nil: do is called without a log.
	Audit func(action string, do func() error, keys ...channels.Key) error
	// Partial: another process serves the other configured channels and the jobs at
	// another time. This one leaves their work alone.
	Partial bool
	// NoChannels and NoTurns leave to other nodes the channels that only one
	// node runs, and all work on conversations.
	NoChannels, NoTurns bool
	// Peers are the other nodes on the same store. Nil: there are none.
	Peers sessions.Peers
	// Methods are what other nodes can call besides the gateway's own.
	Methods  map[string]Method
	Observer Observer // nil: nothing is counted
	Logger   *slog.Logger
	Now      func() time.Time
}

func (o *Options) setDefaults() {
	if o.Audit == nil {
		o.Audit = func(_ string, do func() error, _ ...channels.Key) error { return do() }
	}
	o.MaxTurns = cmp.Or(o.MaxTurns, 64)
	o.Queue = cmp.Or(o.Queue, Collect)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 20)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 256<<10)
	o.RatePerMinute = cmp.Or(o.RatePerMinute, 30)
	o.GiveUpAfter = cmp.Or(o.GiveUpAfter, 10*time.Minute)
	o.DeliveryLimit = cmp.Or(o.DeliveryLimit, 24*time.Hour)
	o.SendTimeout = cmp.Or(o.SendTimeout, time.Minute)
	o.DrainLimit = cmp.Or(o.DrainLimit, 20*time.Second)
	o.HistoryMessages = cmp.Or(o.HistoryMessages, 400)
	o.HistoryBytes = cmp.Or(o.HistoryBytes, 2<<20)
	o.Summarizers = cmp.Or(o.Summarizers, 1)
	o.PairingExpires = cmp.Or(o.PairingExpires, time.Hour)
	o.PairingPending = cmp.Or(o.PairingPending, 3)
	o.TypingAfter = cmp.Or(o.TypingAfter, 400*time.Millisecond)
	o.SilentFor = cmp.Or(o.SilentFor, time.Minute)
	if o.Operator == nil {
		o.Operator = func(channels.Key) bool { return false }
	}
	if o.Observer == nil {
		o.Observer = metrics.New("", "") // not exported anywhere
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// HistoryFor returns how many messages, and bytes of them, to load for a model with a
// window of this many tokens: more than it can read, because the agent takes what was
// loaded for the whole. A message takes at least five tokens, and a token rarely more
// than eight bytes.
func HistoryFor(window int) (messages, bytes int) {
	return max(400, window/3), max(2<<20, 8*window)
}

// Observer counts what happens, for metrics. Its methods must not block.
type Observer interface {
	Accepted(channel, outcome string)
	Quarantined(channel string)
	TurnEnded(outcome string, took time.Duration)
	Delivered(channel, outcome string)
	// Repeated counts a message that was sent again although its first sending
	// may have arrived.
	Repeated(channel string)
	Summarized(outcome string)
	// Unaccounted counts messages that a request neither showed nor had a
	// summary of; said: it named their number. n is never 0.
	Unaccounted(n int, said bool)
	Heartbeat(job, outcome string)
}

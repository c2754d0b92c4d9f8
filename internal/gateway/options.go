package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/admission"
	"dragoman/internal/forms"
	"dragoman/internal/metrics"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/internal/trace"
	"dragoman/sessions"
)

// HeartbeatChannel is the channel part of the keys that jobs run under.
const HeartbeatChannel = "heartbeat"

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
	// News is what an answer tells the person; "" if it means "nothing to say".
	News(answer string) string
	// Failing reports whether the last run of job that ended has failed. One that worked,
	// and whose text did not arrive, has not.
	Failing(ctx context.Context, job string) (bool, error)
	// Skipped reports whether job was skipped for that reason since it last ran.
	Skipped(ctx context.Context, job, why string) (bool, error)
}

// Events takes what happens, for whoever listens: a [stream.Hub]. Its methods must not
// block.
type Events interface {
	Publish(e stream.Event)
	// Watched reports whether somebody listens to text and tool calls of k.
	Watched(k channels.Key, name stream.Name) bool
}

// Options tune a gateway. The zero value works.
type Options struct {
	Limits
	Node
	About
	Queue Mode  // Collect
	Reset Reset // default: never
	// Gate decides who may talk, by the Policy of each Binding. Nil: one over the store.
	Gate *people.Gate
	// Memory is what commands show and change. Nil: there is none.
	Memory Memory
	// Actions asks people before a call of a tool that needs a yes. Nil: nobody is asked,
	// and turns have no guard.
	Actions *actions.Book
	// Forms asks people what tools need to know in the middle of a call. Nil: nobody is asked.
	Forms *forms.Book
	// Rules are asked before each turn, in this order. See [Gateway.SetRules].
	Rules []admission.Rule
	// Calls are those of the model that run here, and Price is what one of a model costs. Nil:
	// nobody is told what runs, and a call that a crash cuts is not counted.
	Calls *admission.Calls
	Price func(model string, input, output int) float64
	// Count returns what is added to the store's sums in the commit of a turn that ended with
	// these messages. Nil: nothing. They must be counts that the store takes.
	Count func(t admission.Turn, messages []sessions.Message) []sessions.Count
	// Usage says what /usage answers to m. Nil: nothing is counted.
	Usage func(ctx context.Context, m channels.Inbound) (string, error)
	// People knows who runs Dragoman. In a room of theirs the reader is also told how to
	// mend a failure. Nil: nobody does but the one at the command line.
	People *people.Directory
	// Connections make one person of identities on several networks. Nil: nobody can.
	Connections *people.Connections
	// Known returns what the prompt says about the person of a private chat, and whose words
	// that is beside theirs. own is the persona that has a memory of its own, or "". Nil:
	// nothing.
	Known func(ctx context.Context, k channels.Key, p channels.Person, own string) (string, []sessions.Origin, error)
	// NameOf returns what somebody is called of whom a channel says only who they are; "" if
	// nobody knows. Nil: nobody does.
	NameOf func(ctx context.Context, channel string, p channels.Person) string
	// Agents are the personas. Nil: there are none.
	Agents Agents
	// Permit returns what counts for the tools of a turn of that kind in a chat, answered by
	// that persona ("": none); nil if all may be used. Turns for which the same counts share
	// one. Nil: all may be used everywhere.
	Permit func(kind TurnKind, chat channels.Key, persona string) *agent.Permit
	// Heartbeats are the configured jobs. Nil: there are none.
	Heartbeats Heartbeats
	// Reminders are what commands show and change. Nil: there are none.
	Reminders Reminders
	// Routes are how the model may send words to other chats. To their own on another network
	// people may send without one.
	Routes []Route
	// Commands run in the background of chats. Nil: there are none.
	Commands Commands
	// Leaving erases people who ask for it themselves. Nil: nobody can.
	Leaving Leaving
	// Media keeps files. Nil: the model only sees their names.
	Media Media
	// Kept has the files that answers send. Nil: none is sent.
	Kept Kept
	// Listener is nil where voice messages are not written down.
	Listener Listener
	// Pager shows scans. Nil: nothing does.
	Pager Pager
	// Speaker is nil where voice messages are answered in writing.
	Speaker Speaker
	// Events receives each event. Nil: nobody listens.
	Events Events
	// Keep, if not nil, returns notes that are stored in the commit of a turn, by which
	// what is told about it outlives a crash. It asks for the events if it needs them; they
	// are published afterwards with Kept set.
	Keep func(ask func() []stream.Event) []sessions.Note
	// Audit calls do, which a person asked for, and logs its begin and its
	// outcome. Nil: do is called without a log.
	Audit    func(action string, do func() error, keys ...channels.Key) error
	Observer Observer // nil: nothing is counted
	// Traces gets the spans of turns and deliveries. Nil: nobody does.
	Traces *trace.Tracer
	Logger *slog.Logger
	Now    func() time.Time
}

// Limits bound what a gateway does at once, how much, and for how long. Of those that are
// 0, the default is named.
type Limits struct {
	MaxTurns        int           // running at once; 64
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
	// RetentionDays is how many days after its last update a conversation is deleted.
	// 0: never.
	RetentionDays int
}

// Node is what this process does, where several share a store.
type Node struct {
	// Partial: another process serves the other configured channels and the jobs at
	// another time. This one leaves their work alone.
	Partial bool
	// NoChannels and NoTurns leave to other nodes the channels that only one
	// node runs, and all work on conversations.
	NoChannels, NoTurns bool
	// Peers are the other nodes on the same store. Nil: there are none.
	Peers sessions.Peers
	// Methods are what other nodes can call besides the gateway's own.
	Methods map[string]Method
}

// About is what /status and /model tell people.
type About struct {
	Version  string
	Model    string // the configured one
	OneModel bool   // Model answers whatever a conversation names
	// Models are those that people can choose. Nil: there is no choice.
	Models func() []Model
}

func (o *Options) setDefaults() {
	o.Limits.setDefaults()
	o.Queue = cmp.Or(o.Queue, Collect)
	if o.Audit == nil {
		o.Audit = func(_ string, do func() error, _ ...channels.Key) error { return do() }
	}
	if o.Models == nil {
		o.Models = func() []Model { return nil }
	}
	if o.People == nil {
		o.People = people.NewDirectory(nil, people.DirectoryOptions{})
	}
	if o.Events == nil {
		o.Events = stream.New(stream.Options{Now: o.Now})
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

func (l *Limits) setDefaults() {
	l.MaxTurns = cmp.Or(l.MaxTurns, 64)
	l.MaxWaiting = cmp.Or(l.MaxWaiting, 20)
	l.MaxMessageBytes = cmp.Or(l.MaxMessageBytes, 256<<10)
	l.RatePerMinute = cmp.Or(l.RatePerMinute, 30)
	l.GiveUpAfter = cmp.Or(l.GiveUpAfter, 10*time.Minute)
	l.DeliveryLimit = cmp.Or(l.DeliveryLimit, 24*time.Hour)
	l.SendTimeout = cmp.Or(l.SendTimeout, time.Minute)
	l.DrainLimit = cmp.Or(l.DrainLimit, 20*time.Second)
	l.HistoryMessages = cmp.Or(l.HistoryMessages, 400)
	l.HistoryBytes = cmp.Or(l.HistoryBytes, 2<<20)
	l.Summarizers = cmp.Or(l.Summarizers, 1)
	l.PairingExpires = cmp.Or(l.PairingExpires, time.Hour)
	l.PairingPending = cmp.Or(l.PairingPending, 3)
	l.TypingAfter = cmp.Or(l.TypingAfter, 400*time.Millisecond)
	l.SilentFor = cmp.Or(l.SilentFor, time.Minute)
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
	Summarized(outcome string, took time.Duration)
	// Unaccounted counts messages that a request neither showed nor had a
	// summary of; said: it named their number. n is never 0.
	Unaccounted(n int, said bool)
	Heartbeat(job, outcome string)
	// Phase times a part of a turn: metrics.PhaseWait or metrics.PhaseDelivery.
	Phase(phase string, took time.Duration)
}

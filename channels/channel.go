// Package channels says what every chat network looks like to Dragoman: the
// name of a conversation, what comes in, what goes out, and what an adapter
// must keep.
//
// The promise between an adapter and the rest is short. Inbound: an adapter
// hands each message to [Intake.Accept] and tells its network "delivered"
// only after Accept returned nil, because only then is the message on disk.
// Outbound: [Channel.Send] returns nil only when the network has the message;
// every error is temporary unless it says otherwise ([ErrPermanent], [Retry]).
// What an adapter can do beyond that it shows by implementing one of the
// small interfaces in this package ([Typer], [Previewer], [Fader], [Retractor],
// [Splitter], [Interleaver], [Stopper], [Reporter], [Commander], [CommandSigner], [Pauser], [Fetcher], [Deduper], [Mirror], [Eraser]).
//
// The package imports nothing else of ours and starts no goroutines.
package channels

import (
	"context"
	"io"
	"time"
)

// Intake is where an adapter hands in what its network sent.
// Both methods are safe for concurrent use; messages of one conversation must
// be handed in one after the other, in the network's order.
type Intake interface {
	// Accept decides who may talk and stores m. Once it returns nil, m is
	// durable, or was refused for good, or had been accepted before, and the
	// adapter may acknowledge it. On an error nothing was stored and it must
	// not be acknowledged; the adapter waits a little and hands it in again.
	Accept(ctx context.Context, m Inbound) error
	// Quarantine keeps something that the adapter cannot understand (raw, as
	// the network sent it; id as in Inbound.ID), so that it neither blocks
	// the messages behind it nor gets lost. Once it returns nil the adapter
	// may acknowledge it.
	Quarantine(ctx context.Context, channel, id string, raw []byte, why error) error
}

// Channel is one configured connection to a chat network.
type Channel interface {
	// Name is the instance's name, the first part of its keys.
	Name() string
	// Run receives messages until ctx ends, then returns nil with all its
	// goroutines finished. It reconnects by itself. It returns an error only
	// when going on makes no sense: a refused token, say, then wrapping
	// ErrPermanent, or ErrElsewhere. It is called at most once at a time.
	Run(ctx context.Context, in Intake) error
	// Send delivers one message and returns when the network has it. It may
	// be called while Run is not running, or not connected, and then returns
	// an error. It is safe for concurrent use; one conversation's messages
	// come one after the other. Errors: see ErrPermanent and Retry.
	Send(ctx context.Context, m Outbound) (Receipt, error)
}

// Typer shows that an answer is being prepared. Without it nothing is shown.
type Typer interface {
	// Typing shows the sign once; the caller repeats it about every 4 seconds
	// while it lasts. It must not use up the budget that Send needs.
	Typing(ctx context.Context, k Key) error
}

// Preview is the part of an answer that exists so far.
type Preview struct {
	Key Key
	// Turn is the same for all previews of one answer.
	Turn string
	// ReplyTo is the MessageID of the message that is answered, or "".
	ReplyTo string
	// MessageID is what an earlier Preview of this turn returned, or "".
	MessageID string
	// Text is the whole text so far, in Markdown.
	Text string
	// Note says what is being done when there is no text yet ("web_fetch …").
	Note string
	// Thoughts are what the model has thought since the Preview before this one
	// of the turn, as plain text. They are "" unless the channel is a [Thinker].
	Thoughts string
}

// Previewer shows an answer while it is written. Without it the answer
// appears when it is finished.
type Previewer interface {
	// Preview shows p and returns the network's id of the message that shows
	// it, which becomes Outbound.Edit of the final answer; "" where there is
	// no such message. Previews may be left out: errors only slow them down.
	Preview(ctx context.Context, p Preview) (messageID string, err error)
	// PreviewEvery is the least time between two previews in one chat.
	PreviewEvery() time.Duration
}

// Fader is a [Previewer] whose previews go by themselves where no message shows
// them. Without it they stay.
type Fader interface {
	// Fades reports whether they do now. Then a preview without a message is shown
	// again as often as [Typer.Typing] is.
	Fades() bool
}

// Thinker is a [Previewer] that can show the thoughts of a model while it
// works. Without it they are shown to nobody.
type Thinker interface {
	// ShowsThoughts reports whether it does. It is always the same.
	ShowsThoughts() bool
}

// Retractor takes back a preview that comes to nothing: the messages it was an
// answer to were deleted or changed by their author meanwhile. Without it such
// a preview stays, visibly unfinished.
type Retractor interface {
	// Retract removes the message that a Preview of k returned the id of. One
	// that is not there any more is no error. It is tried once.
	Retract(ctx context.Context, k Key, messageID string) error
}

// Splitter cuts an answer into pieces that fit into one network message each.
// Without it an answer is one piece.
type Splitter interface {
	// Split returns one or more pieces of markdown, none empty. Pieces start
	// and end so that each renders well alone (an open code block is closed
	// and opened again). It does not block. How long a piece may be can depend on
	// the connection that there is.
	Split(k Key, markdown string) []string
}

// Interleaver is a channel on which a long answer leaves slowly, a line at a
// time, in chats of several people: there, answers to different people take
// turns. Without it an answer begins when the one before it is out.
type Interleaver interface {
	// Interleaves reports whether answers in k take turns.
	Interleaves(k Key) bool
	// Asker names the person whom a message that answers replyTo is for: the
	// answers to one person follow one another. "" is nobody in particular.
	Asker(replyTo string) string
	// Continues reports whether piece must follow the one before it at once, as a
	// line of code does. Split has made both; before is "" where it is not known.
	Continues(before, piece string) bool
}

// Stopper is a channel that says things by itself, such as the part of an answer
// that it shows only when somebody asks for more. Without it a /stop ends what
// the gateway says.
type Stopper interface {
	// Stop ends what the channel says by itself in k, and reports whether it was
	// saying anything. It does not block.
	Stop(k Key) bool
}

// Reviver is a channel that knows which of its troubles a person can end.
// Without it the gateway ends Run, if the channel is in trouble, and begins it
// again.
type Reviver interface {
	// Revive makes the channel try at once, because an operator says that
	// something was mended. It does nothing to a channel that works, does not
	// block, and is safe for concurrent use.
	Revive()
}

// Command is one of the "/" commands that work on every network.
type Command struct {
	Name string // without the "/"
	Help string // a few words
}

// Commander registers the commands with its network, for completion.
// Without it people learn them from /help.
type Commander interface {
	// SetCommands is called once before Run.
	SetCommands(cmds []Command)
}

// Pauser says how far apart the parts of one [Inbound.Album] may come. Without
// it that is half a second.
type Pauser interface {
	// Pause is how long after m, which has an Album, the next part of it may
	// come. An answer waits for at most four of them. It is a pure function.
	Pause(m Inbound) time.Duration
}

// CommandSigner says that commands begin with another sign than "/" on its
// network. Without it they begin with "/". What the adapter hands in begins
// with "/" all the same.
type CommandSigner interface {
	// CommandSign is that sign. It is a constant.
	CommandSign() string
}

// Fetcher gets the files that came with messages. Without it they are named to
// the model and cannot be opened.
type Fetcher interface {
	// Fetch writes the file of a, which this channel handed in, to w and
	// returns when all of it is written and, where the network gives a hash,
	// was found right. An error of w ends it and is returned as it is: that is
	// how the caller bounds the size. Errors are temporary unless they wrap
	// ErrPermanent (the network no longer has it). It works after a restart,
	// and is safe for concurrent use.
	Fetch(ctx context.Context, a Attachment, w io.Writer) error
}

// Joiner is an ability of an [Intake]: two keys turned out to be one chat.
// An adapter whose network knows a chat by two names asks for it before it
// hands in the first message under the better name.
type Joiner interface {
	// Join moves everything under from to to, where it stands before what was
	// said there already. Once it returns nil that is durable. Joining what
	// does not exist, or was joined before, does nothing and is cheap.
	Join(ctx context.Context, from, to Key) error
}

// Presser is an ability of an [Intake]: somebody pressed a button that an adapter
// had put under a message of ours. Without it a press is a message like others.
type Presser interface {
	// Press is Accept for the command m that the button stands for; m.Quote is the
	// message that has the button. say is for the eyes of whoever pressed it, and
	// "" if the chat shows enough.
	Press(ctx context.Context, m Inbound) (say string, err error)
}

// Opener is an ability of an [Intake]: a chat that had put us out, or would not
// hear us, lets us in again. Without it what waits for that chat goes out when
// its pause is over.
type Opener interface {
	// Opened makes what waits for k, and for the topics of k, due now.
	Opened(ctx context.Context, k Key) error
}

// Resolver is an ability of an [Intake]: what was set aside came in after all.
// Without it such things stay on the operator's list.
type Resolver interface {
	// Resolve takes what was set aside under id off that list. Once it returns
	// nil that is durable. What was never set aside, or was settled before, is
	// no error.
	Resolve(ctx context.Context, channel, id string) error
}

// Eraser is an ability of a channel that keeps something about messages in a
// file of its own. Without it there is nothing of the kind to erase.
type Eraser interface {
	// Erase forgets what the channel keeps of the conversations keys, and of
	// the people who have one of ids, wherever they wrote: entries counts it,
	// and its bytes are gone from the file and its logs. What the network's
	// encryption cannot do without stays. Then it calls then, still before
	// anything else comes in or goes out, and returns its error as it is: what
	// stands elsewhere is to be forgotten last, as it tells what to ask for.
	// With an error of its own then was not called; it may be called again. It
	// works also while Run does not run, makes no file, and is safe for
	// concurrent use.
	Erase(ctx context.Context, keys []Key, ids []string, then func() error) (entries int, err error)
}

// Filer marks a channel that sends [Outbound.File]. Without it an answer of very
// many messages is cut, and says so.
type Filer interface {
	// SendsFiles says nothing at run time; it only names the ability.
	SendsFiles()
}

// Deduper marks a channel whose network shows a message once, however often
// Send is called with the same Outbound.ID. Without it a message that may have
// arrived already is sent again with a visible mark.
type Deduper interface {
	// Deduplicates says nothing at run time; it only names the ability.
	Deduplicates()
}

// Mirror marks a channel that shows people what the store has. A message that is
// sent and not stored is seen only by those who look at that moment.
type Mirror interface {
	// MirrorsStore says nothing at run time; it only names the ability.
	MirrorsStore()
}

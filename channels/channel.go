// Package channels defines what all chat networks have in common: conversation
// keys, inbound and outbound messages, and the contract of an adapter.
//
// The contract is short. Inbound: an adapter
// hands each message to [Intake.Accept] and tells its network "delivered"
// only after Accept returned nil, because only then is the message on disk.
// Outbound: [Channel.Send] returns nil only when the network has the message;
// every error is temporary unless it says otherwise ([ErrPermanent], [Retry]).
// An adapter shows what else it can do by implementing the small interfaces in
// this package ([Typer], [Previewer], [Fader], [Thinker], [Retractor], [Splitter],
// [Plainer], [RepeatMarker], [Interleaver], [Stopper], [Reporter], [Reviver], [Commander], [CommandSigner],
// [Pauser], [Sharer], [Called], [Fetcher], [Filer], [Deduper], [Mirror], [Eraser]).
//
// What a network is for the configuration is its [Type], with [Settings] that know their
// keys, defaults and checks.
//
// The package imports no other package of ours and starts no goroutines.
package channels

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Intake takes the messages that an adapter receives.
// Both methods are safe for concurrent use, but the adapter must hand in the
// messages of one conversation one after the other, in the network's order.
type Intake interface {
	// Accept checks whether the sender may talk, and stores m. Once it returns
	// nil, m is durable, or was refused for good, or had been accepted before,
	// and the adapter may acknowledge it. On an error nothing was stored: the
	// adapter must not acknowledge m; it waits a little and hands m in again.
	Accept(ctx context.Context, m Inbound) error
	// Quarantine keeps a message that the adapter cannot understand (raw, as
	// the network sent it; id as in Inbound.ID), so that it neither blocks
	// the messages after it nor gets lost. Once it returns nil, the adapter
	// may acknowledge the message.
	Quarantine(ctx context.Context, channel, id string, raw []byte, why error) error
}

// Channel is one configured connection to a chat network.
type Channel interface {
	// Name is the instance's name, the first part of its keys.
	Name() string
	// Run receives messages until ctx ends, then returns nil with all its
	// goroutines finished. It reconnects by itself. It returns an error only
	// if trying again is useless: one that wraps ErrPermanent (the token was
	// refused, say) or ErrElsewhere. It is called at most once at a time.
	Run(ctx context.Context, in Intake) error
	// Send delivers one message and returns when the network has it. It may
	// be called while Run is not running, or not connected, and then returns
	// an error. It is safe for concurrent use; the caller sends the messages of
	// one conversation one after the other. Errors: see ErrPermanent and Retry.
	Send(ctx context.Context, m Outbound) (Receipt, error)
}

// Typer shows that an answer is being prepared. Without it nothing is shown.
type Typer interface {
	// Typing shows the sign once; the caller repeats it about every 4 seconds
	// until the answer is ready. It must not use up the budget that Send needs.
	Typing(ctx context.Context, k Key) error
}

// Preview is the part of an answer that exists so far.
type Preview struct {
	Key Key
	// Turn is the same for all previews of one answer.
	Turn string
	// ReplyTo is the MessageID of the answered message, or "".
	ReplyTo string
	// MessageID is the id that an earlier Preview of this turn returned, or "".
	MessageID string
	// Text is the whole text so far, in Markdown.
	Text string
	// Note says what the turn is doing while there is no text ("web_fetch …").
	Note string
	// Thoughts is what the model has thought since this turn's last Preview, as
	// plain text. It is "" unless the channel is a [Thinker].
	Thoughts string
}

// Previewer shows an answer while the model writes it. Without it the answer
// appears when it is finished.
type Previewer interface {
	// Preview shows p and returns the network's id of the message that shows
	// it, which becomes Outbound.Edit of the final answer, or "" if no message
	// does. Previews are optional: after an error there are fewer of them.
	Preview(ctx context.Context, p Preview) (messageID string, err error)
	// PreviewEvery is the least time between two previews in one chat.
	PreviewEvery() time.Duration
}

// Fader is a [Previewer] whose previews without a message disappear by
// themselves. Without it they stay.
type Fader interface {
	// Fades reports whether they do so now. The caller then repeats a preview
	// without a message as often as [Typer.Typing].
	Fades() bool
}

// Thinker is a [Previewer] that can show the thoughts of a model while it
// works. Without it they are not shown.
type Thinker interface {
	// ShowsThoughts reports whether this channel does. The answer never changes.
	ShowsThoughts() bool
}

// Retractor takes back a preview that will never become an answer, because the
// author of the question deleted or changed it. Without it such a preview stays,
// visibly unfinished.
type Retractor interface {
	// Retract removes the message with the id that a Preview of k returned. It
	// returns nil if that message is already gone. The caller tries once.
	Retract(ctx context.Context, k Key, messageID string) error
}

// Splitter cuts an answer into pieces that fit into one network message each.
// Without it an answer is one piece.
type Splitter interface {
	// Split returns one or more pieces of markdown, none empty. Each piece
	// renders well alone (an open code block is closed and opened again). Split
	// does not block. The length of a piece may depend on the current connection.
	Split(k Key, markdown string) []Piece
}

// Plainer is a [Splitter] whose pieces are not all Markdown. Without it, their texts are
// shown to other readers as they are.
type Plainer interface {
	// Plain returns a text of FormNative or FormRest without what only its network
	// understands.
	Plain(native string) string
}

// RepeatMarker is a channel that marks [Outbound.Repeats] itself. Without it the text of
// such a message begins with [RepeatMark].
type RepeatMarker interface {
	// MarksRepeats says nothing at run time; it only names the ability.
	MarksRepeats()
}

// Interleaver is a channel that sends long answers slowly, a line at a time. In
// chats of several people, answers to different people then take turns. Without
// it an answer begins when the previous one has been sent.
type Interleaver interface {
	// Interleaves reports whether answers in k take turns.
	Interleaves(k Key) bool
	// Asker names the person who wrote replyTo: the answers to one person follow
	// one another. "" means nobody in particular.
	Asker(replyTo string) string
	// Continues reports whether piece must follow before at once, as a line of
	// code does. Both are pieces from Split; before is "" if it is not known.
	Continues(before, piece string) bool
}

// Sharer is a channel that knows by its id whether several people share a chat. It is
// asked about questions that do not come from the network. Without it such a chat counts
// as private.
type Sharer interface {
	// Shared reports whether chat, the second part of a key, is a group or a room.
	Shared(chat string) bool
}

// Called is a channel whose network may call the daemon over HTTP. Without it, the
// channel gets its messages itself, in Run.
type Called interface {
	// Callback is how the network calls; nil if it does not.
	Callback() *Callback
}

// Callback is how a network calls, at [CallbackPath].
type Callback struct {
	// Authentic reports whether the network sent a request with this header, in a
	// time that does not depend on the secret that it shows.
	Authentic func(http.Header) bool
	// MaxBody is how long a request may be, in bytes.
	MaxBody int64
	// Take stores what a request says. After nil it is durable, and the network may
	// forget it; after an error the network sends it again. Any node may take a
	// request, also one that does not run the channel. It is safe for concurrent use.
	Take func(ctx context.Context, in Intake, body []byte) error
}

// CallbackPath is where the network of the channel called name calls.
func CallbackPath(name string) string { return "/webhook/" + name }

// Stopper is a channel that sends text on its own, such as the part of an answer
// that it shows only when somebody asks for more. Without it, /stop only ends the
// gateway's answers.
type Stopper interface {
	// Stop ends the channel's own text in k, and reports whether there was any.
	// It does not block.
	Stop(k Key) bool
}

// Reviver is a channel that knows which of its failures a person can fix.
// Without it the gateway restarts Run if the channel is in trouble.
type Reviver interface {
	// Revive makes the channel try at once, because an operator says that the
	// cause was fixed. It does nothing to a working channel, does not block, and
	// is safe for concurrent use.
	Revive()
}

// Command is one of the "/" commands that work on every network.
type Command struct {
	Name string `json:"name"` // without the "/"
	Help string `json:"help"` // a few words
}

// Menu has the commands of a channel.
type Menu struct {
	// Known are all that work: where a word must be recognised as one for us.
	Known []Command
	// Private are those that private chats offer to people who run nothing, and Shared those
	// of chats of several people.
	Private, Shared []Command
	// Operator are those for whoever runs Dragoman, in a private chat.
	Operator []Command
	// OperatorChat is that chat, "" if none on this channel is known.
	OperatorChat string
}

// Commander registers the commands with its network, for completion.
// Without it people learn them from /help.
type Commander interface {
	// SetCommands is called before Run, and again, also while it runs, when the
	// configuration has changed. It does not block, and keeps m, which nobody changes.
	SetCommands(m Menu)
}

// Pauser says how far apart the parts of one [Inbound.Album] may arrive. Without
// it that is half a second.
type Pauser interface {
	// Pause is how long after m, which has an Album, its next part may arrive.
	// An answer waits for at most four pauses. It is a pure function.
	Pause(m Inbound) time.Duration
}

// CommandSigner is a channel on whose network commands begin with another sign
// than "/". Without it they begin with "/". The adapter hands commands in with "/"
// either way.
type CommandSigner interface {
	// CommandSign returns that sign, which never changes.
	CommandSign() string
}

// Fetcher gets the files that came with messages. Without it the model learns
// their names and cannot open them.
type Fetcher interface {
	// Fetch writes the file of a, which this channel handed in, to w. It returns
	// when all of it is written and, if the network gives a hash, matches it. An
	// error of w ends it and is returned unchanged: that is how the caller bounds
	// the size. Errors are temporary unless they wrap ErrPermanent (the network no
	// longer has the file). Fetch works after a restart and is safe for concurrent
	// use.
	Fetch(ctx context.Context, a Attachment, w io.Writer) error
}

// Joiner is an ability of an [Intake]: two keys turned out to be one chat.
// An adapter whose network knows a chat by two names calls it before it
// hands in the first message under the better name.
type Joiner interface {
	// Join moves everything under from to to, before the messages that are
	// already there. Once it returns nil that is durable. It does nothing, at
	// little cost, if from does not exist or was joined before.
	Join(ctx context.Context, from, to Key) error
}

// Presser is an ability of an [Intake]: somebody pressed a button that the
// adapter had put under a message of ours. Without it a press is an ordinary
// message.
type Presser interface {
	// Press is Accept for m, the command of the button; m.Quote is the message
	// that has the button. say is shown only to the person who pressed it, and is
	// "" if the chat shows enough.
	Press(ctx context.Context, m Inbound) (say string, err error)
}

// Opener is an ability of an [Intake]: a chat that had removed or blocked the bot
// lets it write again. Without it, messages that wait for the chat are sent when
// their pause is over.
type Opener interface {
	// Opened makes the waiting messages for k, and for the topics of k, due now.
	Opened(ctx context.Context, k Key) error
}

// Judge is an ability of an [Intake]: it knows which messages the bot answers.
type Judge interface {
	// Answers reports whether the sender of m may talk there, and m needs no other
	// address than it has. It stores nothing, and is false if it cannot find out.
	Answers(ctx context.Context, m Inbound) bool
}

// Answers reports whether the bot answers m, as in knows it. Without a [Judge] those
// are the private messages and those that address us.
func Answers(ctx context.Context, in Intake, m Inbound) bool {
	if j, ok := in.(Judge); ok {
		return j.Answers(ctx, m)
	}
	return m.Private || m.Addressed
}

// Resolver is an ability of an [Intake]: a quarantined message came in after all.
// Without it such messages stay on the operator's list.
type Resolver interface {
	// Resolve takes the message quarantined under id off that list. Once it
	// returns nil that is durable. It returns nil also if there is no such message
	// or it was resolved before.
	Resolve(ctx context.Context, channel, id string) error
}

// Eraser is a channel that keeps data about messages in its own file. Without it
// there is no such data to erase.
type Eraser interface {
	// Erase deletes what the channel keeps about the conversations keys, and
	// about the people who have one of ids, wherever they wrote. entries counts
	// it; its bytes are gone from the file and its logs. Data that the network's
	// encryption needs is kept. Then it calls then, before any further message
	// comes in or goes out, and returns its error unchanged: then deletes what
	// the store has, which must go last because it says what to erase. If Erase
	// fails itself, then was not called, and Erase may be called again. It works
	// also while Run does not run, creates no file, and is safe for concurrent
	// use.
	Erase(ctx context.Context, keys []Key, ids []string, then func() error) (entries int, err error)
}

// Filer marks a channel that sends [Outbound.File]. Without it a very long answer
// is cut, and says so.
type Filer interface {
	// SendsFiles says nothing at run time; it only names the ability.
	SendsFiles()
}

// Deduper marks a channel whose network shows a message once, however often
// Send is called with the same Outbound.ID. Without it a message that may have
// arrived is sent again with a visible mark.
type Deduper interface {
	// Deduplicates says nothing at run time; it only names the ability.
	Deduplicates()
}

// Mirror marks a channel that shows people the contents of the store. Only people
// who look at that moment see a message that is sent but not stored.
type Mirror interface {
	// MirrorsStore says nothing at run time; it only names the ability.
	MirrorsStore()
}

// Linker is a channel that a person has to link to the account on their phone.
// Other channels need no phone.
type Linker interface {
	Channel
	// Link shows invitations until a phone accepts one or ctx ends, and returns
	// the account's name. An empty phone asks for QR codes; otherwise it is the
	// number of the phone on which the person will type a code. The person sees
	// its errors.
	Link(ctx context.Context, phone string, show func(Invitation)) (account string, err error)
	// Unlink removes the account from the channel, even while the channel runs.
	// notified reports whether the network knows, so that the phone no longer
	// lists the device.
	Unlink(ctx context.Context) (notified bool, err error)
}

// Invitation is what a person needs to link a channel to a phone: the text of
// a QR code to scan, good until the next one, or a code to type there. Both
// are secrets.
type Invitation struct {
	QR   string `json:"qr,omitempty"`
	Code string `json:"code,omitempty"`
}

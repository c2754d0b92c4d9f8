//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// sendTimeout is how long the server may take to acknowledge one message, while all others
// wait. It includes a few queries before that: the members of the group, their devices,
// and the keys. See [stallTimeout].
const sendTimeout = 10 * time.Second

// Send delivers m and returns when WhatsApp's server has it. If WhatsApp refuses a part of m
// (its quotation, its file), Send sends m without it; see [refusals]. Its errors:
//
//   - [channels.ErrPermanent]: WhatsApp will never accept m. The person is not on
//     WhatsApp, or the group is gone.
//   - [*channels.Retry]: we sent too many messages, and WhatsApp asks for a pause; or we
//     may not write in the chat now: we are not in the group, or the person does not know
//     us. Nothing was sent.
//   - [*channels.NotSent]: there is no connection. Nothing was sent.
//   - any other: m may have arrived. If it is sent again, phones still show it once.
func (c *Channel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	to, err := c.parseKey(m.Key)
	if err != nil {
		return channels.Receipt{}, err
	}
	k := c.live.Load()
	if k == nil {
		return channels.Receipt{}, c.notConnected()
	}
	inside, leave, ok := k.enter(ctx)
	if !ok {
		return channels.Receipt{}, c.notConnected()
	}
	defer leave()
	if wait := c.blocked.retryIn(m.Key.Chat()); wait > 0 {
		return channels.Receipt{}, retryBlocked(wait, errBlocked)
	}
	f := form{quotes: true, text: m.Text, file: m.File}
	for {
		id, err := k.send(ctx, inside, m, to, f)
		if err == nil {
			return channels.Receipt{MessageID: id}, nil
		}
		next, able := f.without(err)
		if !able || inside.Err() != nil {
			return channels.Receipt{}, c.chatError(m.Key.Chat(), err)
		}
		c.log.Warn("WhatsApp refused a message; sending it in another form", "key", m.Key, "msg_id", m.ID, "err", err)
		f = next
	}
}

// send sends m once, in form f, and returns its id on WhatsApp. inside is ctx, and ends with
// the connection.
func (k *connection) send(ctx, inside context.Context, m channels.Outbound, to types.JID, f form) (types.MessageID, error) {
	c := k.c
	file, err := k.upload(inside, f.file) // before the queue, so that other messages do not wait for it
	if err != nil {
		return "", &channels.NotSent{Err: fmt.Errorf("whatsapp: send a file: %w", err)}
	}
	if !c.sends.join(inside, to) {
		return "", &channels.NotSent{Err: errors.New("whatsapp: send: too many messages are waiting, or the connection was lost")}
	}
	defer c.sends.leave()
	expires, err := k.file.expires(inside, m.Key.Chat())
	if err != nil {
		return "", &channels.NotSent{Err: err}
	}
	k.markAnswered(inside, m)
	id := messageID(m)
	limited, cancel := stallTimeout(inside, c.sendTimeout)
	defer cancel()
	k.skipped.watch(id, to, identify(k.client.Store.GetJID(), k.client.Store.GetLID()))
	_, err = k.client.SendMessage(limited, to, withFile(c.compose(m, f, to, expires), file), whatsmeow.SendRequestExtra{ID: id, Timeout: c.sendTimeout})
	notEncrypted := k.skipped.end()
	switch {
	case err == nil && notEncrypted != nil:
		err = fmt.Errorf("a device of the person cannot read it: %w", notEncrypted)
	case err == nil:
		c.sends.acknowledged(to, true)
		k.used.Store(true)
	case inside.Err() == nil && limited.Err() != nil:
		err = k.unacknowledged(to, context.Cause(limited))
	case inside.Err() == nil && errors.Is(err, whatsmeow.ErrMessageTimedOut):
		err = k.unacknowledged(to, err)
	}
	if err != nil && ctx.Err() == nil && inside.Err() != nil {
		err = errors.New("the connection was lost")
	}
	if err != nil {
		return "", fmt.Errorf("whatsapp: send: %w", err)
	}
	return id, nil
}

// unacknowledged is the error of a message that WhatsApp did not acknowledge. The first
// time in a chat we reconnect, because the connection may be broken. If it happens there
// again, the fault is in that chat, and we do not reconnect until WhatsApp has
// acknowledged a message there.
func (k *connection) unacknowledged(to types.JID, err error) error {
	if k.c.sends.acknowledged(to, false) {
		k.end(dropped("WhatsApp did not acknowledge a message"))
	}
	return fmt.Errorf("WhatsApp did not acknowledge it in time: %w", err)
}

func (c *Channel) notConnected() error {
	return &channels.NotSent{Err: fmt.Errorf("whatsapp: send: not connected (%s)", c.Status().State)}
}

// messageID is the id of m on WhatsApp: the same for every attempt, and different for
// every other message. It has the form of WhatsApp Web's ids. It does not depend on the
// chat, because that may be joined with another one between two attempts, and people
// would then see the message twice.
func messageID(m channels.Outbound) types.MessageID {
	sum := sha256.Sum256([]byte(m.Key.Channel() + "\x00" + m.ID))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:10]))
}

// compose builds the message in form f. In groups it quotes the message that it answers, if
// that is remembered. In chats with disappearing messages it disappears too.
func (c *Channel) compose(m channels.Outbound, f form, to types.JID, expires uint32) *waE2E.Message {
	text := render(f.text)
	about := &waE2E.ContextInfo{}
	if expires > 0 {
		about.Expiration = proto.Uint32(expires)
	}
	answered, known := c.memory.recall(m.ReplyTo)
	quoting := f.quotes && known && to.Server == types.GroupServer && answered.chat == to
	if quoting {
		about.StanzaID = proto.String(m.ReplyTo)
		about.Participant = proto.String(answered.sender.String())
		about.QuotedMessage = &waE2E.Message{Conversation: proto.String(answered.text)}
	}
	if !quoting && expires == 0 {
		return &waE2E.Message{Conversation: proto.String(text)}
	}
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String(text), ContextInfo: about}}
}

// stallTimeout returns a context that ends when limit has passed since the call, and since
// the library last stored a key with that context ([identities]).
//
// A group may have a thousand new members, and on a slow disk it takes longer than limit
// to store their keys. That work ends; a query that WhatsApp never answers does not.
func stallTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	progress := func() { timer.Reset(limit) }
	return context.WithValue(ctx, progressKey{}, progress), func() {
		timer.Stop()
		cancel(nil)
	}
}

// progressKey is the context key of a function that restarts the timer of
// [stallTimeout]. The library passes our context to its store, which calls the
// function.
type progressKey struct{}

// identities records progress for [stallTimeout] when a key is stored.
type identities struct{ store.IdentityStore }

// PutIdentity stores the key of a device.
func (i identities) PutIdentity(ctx context.Context, address string, key [32]byte) error {
	err := i.IdentityStore.PutIdentity(ctx, address, key)
	if progress, ok := ctx.Value(progressKey{}).(func()); ok && err == nil {
		progress()
	}
	return err
}

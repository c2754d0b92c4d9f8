package whatsapp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

const (
	// patience is how long a message that could not be decrypted may take to
	// come again before its sender is told that it was not read.
	patience = 2 * time.Minute
	// tendLimit bounds one look at such messages, and tendAgain is when to
	// look again after one that failed.
	tendLimit = 30 * time.Second
	tendAgain = 5 * time.Second
)

// errUndecryptable is why such messages are set aside.
var errUndecryptable = errors.New("whatsapp: it could not be decrypted; its sender's phone was asked to send it again")

// unreadable takes a message that could not be decrypted. The library has
// asked the sender's phone and the owner's for it, and has acknowledged it
// already, so what is known about it goes to the device file first of all.
// From there it is set aside, told if it does not come in time (see tend), and
// settled when it comes (see came).
func (k *connection) unreadable(ctx context.Context, evt *events.UndecryptableMessage) {
	inside, leave, ok := k.enter(ctx)
	defer leave()
	if !ok { // one attempt still, because this event will not come again
		ended, end := context.WithCancel(inside)
		end()
		inside = ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handLimit)
	defer cancel()
	if !k.reader(ctx).wanted(&events.Message{Info: evt.Info}) {
		return
	}
	k.c.log.Info("a message could not be decrypted; its sender was asked to send it again",
		"msg_id", evt.Info.ID, "unavailable", string(evt.UnavailableType))
	if !k.note(ctx, inside, newUnread(evt)) {
		return
	}
	select {
	case k.unreadCame <- struct{}{}: // the rest is watch's
	default: // it is told already
	}
}

// note writes u down, again and again if it must while inside lasts. False: it
// is known, or that was in vain.
func (k *connection) note(ctx, inside context.Context, u *unread) bool {
	tries := channels.Backoff{Most: 10 * time.Second}
	for {
		added, err := k.file.noteUnread(ctx, u)
		if err == nil {
			return added
		}
		wait := tries.Next()
		k.c.log.Warn("a message that could not be decrypted was not noted", "msg_id", u.ID, "err", err, "in", wait)
		if channels.Sleep(inside, wait); inside.Err() != nil || ctx.Err() != nil {
			return false
		}
	}
}

func newUnread(evt *events.UndecryptableMessage) *unread {
	i := &evt.Info
	return &unread{
		ID: i.ID, Chat: i.Chat, Sender: i.Sender, SenderAlt: i.SenderAlt, Time: i.Timestamp, Name: called(i.PushName),
		Group: i.IsGroup, FromMe: i.IsFromMe, Quiet: evt.DecryptFailMode == events.DecryptFailHide,
		ViewOnce: evt.UnavailableType == events.UnavailableTypeViewOnce, Since: time.Now(),
	}
}

// tend sets aside what was noted and tells what did not come in time. It
// returns when it wants to be called again; negative: not before something new
// is noted.
func (k *connection) tend(ctx context.Context) time.Duration {
	ctx, leave, ok := k.enter(ctx)
	if !ok {
		return -1
	}
	defer leave()
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	default:
		return tendAgain / 10 // a message is being handed in
	}
	ctx, cancel := context.WithTimeout(ctx, tendLimit)
	defer cancel()
	next, err := k.tendAll(ctx)
	if err != nil {
		k.c.log.Warn("messages that could not be decrypted are not all dealt with, will try again", "err", err)
		return tendAgain
	}
	return next
}

func (k *connection) tendAll(ctx context.Context) (next time.Duration, err error) {
	next = -1
	waiting, err := k.file.openUnread(ctx)
	if err != nil {
		return next, err
	}
	now := time.Now()
	for _, u := range waiting {
		if err := k.putAside(ctx, u); err != nil {
			return next, err
		}
		if u.Quiet || u.is(unreadTold) {
			continue
		}
		if left := k.tellAt(u).Sub(now); left <= 0 {
			err = k.tell(ctx, u)
		} else if next < 0 || left < next {
			next = left
		}
		if err != nil {
			return next, err
		}
	}
	return next, nil
}

// tellAt is until when u may come again without a word. After a new connection
// there is a little more time, in which WhatsApp hands over what it kept for us.
func (k *connection) tellAt(u *unread) time.Time {
	wait := cmp.Or(k.c.o.Patience, patience)
	due, least := u.Since.Add(wait), k.letInAt.Add(wait/4)
	switch {
	case u.ViewOnce:
		return u.Since
	case due.Before(least):
		return least
	}
	return due
}

// putAside sets u aside, if that is not done. What is to be viewed once is no
// fault of anybody's and nothing to look into.
func (k *connection) putAside(ctx context.Context, u *unread) error {
	if u.ViewOnce || u.state != 0 {
		return nil
	}
	known, err := json.Marshal(u)
	if err == nil {
		err = k.in.Quarantine(ctx, k.c.name, inboundID(u.info()), known, errUndecryptable)
	}
	if err != nil {
		return fmt.Errorf("whatsapp: set aside message %s: %w", u.ID, err)
	}
	return k.file.markUnread(ctx, unreadAside, u)
}

// What the model is told of u. The album makes the gateway answer several of them
// at once.
const (
	unreadAlbum  = "unread"
	unreadLost   = "[a message came that could not be decrypted; it was asked for again and has not come. Please ask for it to be sent once more]"
	unreadHidden = "[something to be viewed once was sent; WhatsApp shows that on phones only, so it cannot be seen here]"
)

// tell hands in a message that stands for u, so that nobody waits for an answer
// to something that was never read.
func (k *connection) tell(ctx context.Context, u *unread) error {
	m, err := k.reader(ctx).frame(u.info())
	if odd := (*strange)(nil); errors.As(err, &odd) {
		return k.file.markUnread(ctx, unreadTold, u) // there is nobody to tell
	}
	if err != nil {
		return err
	}
	m.ID, m.Text, m.Album = inboundID(u.info())+"/unread", unreadLost, unreadAlbum
	if u.ViewOnce {
		m.Text = unreadHidden
	}
	seen := seenMessage{chat: u.Chat.ToNonAD(), sender: u.Sender.ToNonAD(), unmarked: !u.FromMe}
	if u.Chat.Server == types.BroadcastServer {
		seen.chat = seen.sender
	}
	k.c.memory.remember(m, seen)
	if err := k.in.Accept(ctx, m); err != nil {
		return fmt.Errorf("whatsapp: tell that message %s was not read: %w", u.ID, err)
	}
	return k.file.markUnread(ctx, unreadTold, u)
}

// came settles a message that could not be decrypted before and was taken now.
func (k *connection) came(ctx context.Context, u *unread) error {
	if u.is(unreadCame) {
		return nil
	}
	if in, able := k.in.(channels.Resolver); able {
		if err := in.Resolve(ctx, k.c.name, inboundID(u.info())); err != nil {
			return fmt.Errorf("whatsapp: settle message %s: %w", u.ID, err)
		}
	}
	return k.file.markUnread(ctx, unreadCame, u)
}

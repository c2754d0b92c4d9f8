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
// From there it is set aside, settled when it comes again (see came), and told
// when it does not (see tend).
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
	u := newUnread(evt)
	if !k.note(ctx, inside, u) {
		return
	}
	select {
	case k.turn <- struct{}{}:
		if err := k.putAside(inside, u); err != nil {
			k.c.log.Warn("a message that could not be decrypted is not set aside yet", "msg_id", u.ID, "err", err)
		}
		<-k.turn
	case <-inside.Done():
	}
	select {
	case k.unreadCame <- struct{}{}: // what is left to do is watch's
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
	now, due := time.Now(), map[channels.Key][]*unread{}
	var order []channels.Key
	for _, u := range waiting {
		if err := k.putAside(ctx, u); err != nil {
			return next, err
		}
		if u.Quiet || u.is(unreadTold) {
			continue
		}
		if left := k.tellAt(u).Sub(now); left > 0 {
			if next < 0 || left < next {
				next = left
			}
			continue
		}
		in, err := k.reader(ctx).frame(u.info())
		if odd := (*strange)(nil); errors.As(err, &odd) {
			err = k.file.markUnread(ctx, unreadTold, u) // there is nobody to tell
		}
		if err != nil {
			return next, err
		}
		if in.Key.IsZero() {
			continue
		}
		if due[in.Key] == nil {
			order = append(order, in.Key)
		}
		due[in.Key] = append(due[in.Key], u)
	}
	for _, key := range order {
		if err := k.tell(ctx, due[key]); err != nil {
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

// tell hands in one message that stands for all of those, so that nobody waits
// for an answer to something that was never read. They are of one conversation
// and the oldest comes first; it gives the id, which is the same after a crash.
func (k *connection) tell(ctx context.Context, lost []*unread) error {
	first, last := lost[0], lost[len(lost)-1]
	m, err := k.reader(ctx).frame(last.info())
	if err != nil {
		return err
	}
	m.ID, m.Text = inboundID(first.info())+"/unread", unreadText(lost)
	seen := seenMessage{chat: last.Chat.ToNonAD(), sender: last.Sender.ToNonAD(), unmarked: !last.FromMe}
	if last.Chat.Server == types.BroadcastServer {
		seen.chat = seen.sender
	}
	k.c.memory.remember(m, seen)
	if err := k.in.Accept(ctx, m); err != nil {
		return fmt.Errorf("whatsapp: tell that message %s was not read: %w", first.ID, err)
	}
	return k.file.markUnread(ctx, unreadTold, lost...)
}

// unreadText is what the model is told.
func unreadText(lost []*unread) string {
	hidden := 0
	for _, u := range lost {
		if u.ViewOnce {
			hidden++
		}
	}
	switch {
	case hidden == len(lost):
		return "[something to be viewed once was sent; WhatsApp shows that on phones only, so it cannot be seen here]"
	case len(lost) == 1:
		return "[a message came that could not be decrypted; it was asked for again and has not come. Please ask for it to be sent once more]"
	}
	return fmt.Sprintf("[%d messages came that could not be decrypted; they were asked for again and have not come. Please ask for them to be sent once more]", len(lost))
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

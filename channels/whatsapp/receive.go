package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
)

// handLimit is how long one message may wait for the intake before the
// connection is made anew. The library stops waiting after five minutes, and
// would then hand over the next message beside this one.
const handLimit = 2 * time.Minute

// receive hands a message in, again and again until it is taken. False, which
// leaves it unacknowledged, only when the connection is over: WhatsApp then
// repeats it, and all that came after it, at the next one.
func (k *connection) receive(ctx context.Context, evt *events.Message) bool {
	ctx, leave, ok := k.enter(ctx)
	if !ok {
		return false
	}
	defer leave()
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return false
	}
	tries := channels.Backoff{Most: 10 * time.Second}
	for began := time.Now(); ; {
		err := k.handIn(ctx, evt)
		switch {
		case err == nil:
			k.used.Store(true)
			return true
		case ctx.Err() != nil:
			return false
		case time.Since(began) > k.c.handLimit:
			k.end(dropped("messages cannot be stored"))
			return false
		}
		wait := tries.Next()
		k.c.log.Warn("a message was not accepted; will try again", "msg_id", evt.Info.ID, "err", err, "in", wait)
		channels.Sleep(ctx, wait)
	}
}

// handIn makes one attempt. A message that could not be decrypted when it came
// first keeps the name under which it was known then, so that copies of it that
// come on two ways, from its sender and from the owner's phone, are one.
func (k *connection) handIn(ctx context.Context, evt *events.Message) error {
	before, err := k.file.unreadOf(ctx, &evt.Info)
	if err != nil {
		return err
	}
	if before == nil {
		id := inboundID(&evt.Info)
		return k.take(ctx, evt, id, id)
	}
	id := inboundID(before.info())
	if err := k.take(ctx, evt, id, id+"/again"); err != nil {
		return err
	}
	return k.came(ctx, before)
}

// take hands the message in as id, or sets it aside as aside if it cannot be
// understood.
func (k *connection) take(ctx context.Context, evt *events.Message, id, aside string) error {
	evt, err := k.open(ctx, evt)
	if err != nil {
		return k.in.Quarantine(ctx, k.c.name, aside, raw(evt.RawMessage), err)
	}
	odd := (*strange)(nil)
	if seconds, ok := timerOf(evt); ok {
		if err := k.setTimer(ctx, evt, seconds); !errors.As(err, &odd) {
			return err
		}
		return nil // it names nobody
	}
	got, ok, err := k.reader(ctx).understand(evt)
	switch {
	case errors.As(err, &odd):
		return k.in.Quarantine(ctx, k.c.name, aside, raw(evt.RawMessage), err)
	case err != nil:
		return err
	case !ok:
		k.c.log.Debug("ignored a message that says nothing to the assistant", "msg_id", evt.Info.ID)
		return k.begun(ctx, evt)
	}
	got.in.ID = id
	parts, err := k.together(ctx, &got)
	if err != nil {
		return err
	}
	for _, part := range append(parts, got) {
		// Kept first: an answer may begin before Accept has returned, and what it
		// answers is then quoted and marked as read.
		if err := k.keep(ctx, part); err != nil {
			return err
		}
		if err := k.in.Accept(ctx, part.in); err != nil {
			return err
		}
	}
	k.c.albums.done(got.in)
	return nil
}

// keep notes what answers to a message and changes of it will need.
func (k *connection) keep(ctx context.Context, got reading) error {
	switch {
	case got.in.Reaction != "": // has no life of its own
		return nil
	case got.in.Deletes != "":
		k.c.memory.forget(got.in.Edits, got.in.Sender) // or an answer would quote it
		return nil
	}
	if err := k.keepExpires(ctx, got.in, got.about); err != nil {
		return err
	}
	k.c.memory.remember(got.in, got.seen)
	return nil
}

// open decrypts the second layer that some edits have. What is inside may be
// the edit, in an envelope or not, or the new words alone.
func (k *connection) open(ctx context.Context, evt *events.Message) (*events.Message, error) {
	sealed := evt.Message.GetSecretEncryptedMessage()
	if sealed.GetSecretEncType() != waE2E.SecretEncryptedMessage_MESSAGE_EDIT {
		return evt, nil
	}
	inner, err := k.client.DecryptSecretEncryptedMessage(ctx, evt)
	if err != nil {
		return evt, fmt.Errorf("whatsapp: decrypt an edit: %w", err)
	}
	opened := *evt
	opened.RawMessage = inner
	opened.UnwrapRaw()
	if opened.Message.GetProtocolMessage() == nil {
		opened.Message = &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: sealed.GetTargetMessageKey(), EditedMessage: opened.Message,
		}}
	}
	return &opened, nil
}

//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
)

// handInTimeout is how long one message may wait for the intake before we reconnect. After
// five minutes the library would stop waiting, and deliver the next message while this
// one still waits.
const handInTimeout = 2 * time.Minute

// receive hands a message to the intake until that stores it. It returns false, which
// leaves the message unacknowledged, only if the connection ends. WhatsApp then repeats
// it, and all messages after it, on the next connection.
func (k *connection) receive(ctx context.Context, evt *events.Message) bool {
	ctx, leave, ok := k.enter(ctx)
	if !ok {
		return false
	}
	defer leave()
	select {
	case k.handing <- struct{}{}:
		defer func() { <-k.handing }()
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
		case time.Since(began) > k.c.handInTimeout:
			k.end(dropped("messages cannot be stored"))
			return false
		}
		wait := tries.Next()
		k.c.log.Warn("could not store a message, will try again", "msg_id", evt.Info.ID, "err", err, "wait", wait)
		channels.Sleep(ctx, wait)
	}
}

// handIn makes one attempt. A message that could not be decrypted at first keeps the id
// that it had then, because new copies can come from its sender and from the owner's
// phone, and must count as one message.
func (k *connection) handIn(ctx context.Context, evt *events.Message) error {
	before, err := k.file.findUndecrypted(ctx, &evt.Info)
	if err != nil {
		return err
	}
	if before == nil {
		id := inboundID(&evt.Info)
		return k.handInAs(ctx, evt, id, id)
	}
	id := inboundID(before.info())
	if err := k.handInAs(ctx, evt, id, id+"/again"); err != nil {
		return err
	}
	return k.resolve(ctx, before)
}

// handInAs hands evt to the intake with the given id. If evt is malformed, it is
// quarantined under quarantineID.
func (k *connection) handInAs(ctx context.Context, evt *events.Message, id, quarantineID string) error {
	quarantine := func(why error) error {
		raw, _ := proto.Marshal(evt.RawMessage) // It was decoded, so it can be encoded.
		return k.in.Quarantine(ctx, k.c.name, quarantineID, raw, why)
	}
	evt, err := k.decryptEdit(ctx, evt)
	if err != nil {
		return quarantine(err)
	}
	bad := (*malformed)(nil)
	if seconds, ok := expirySetting(evt); ok {
		if err := k.onExpirySetting(ctx, evt, seconds); !errors.As(err, &bad) {
			return err
		}
		return nil // It does not say whose chat it is.
	}
	got, ok, err := k.reader(ctx).inbound(evt)
	switch {
	case errors.As(err, &bad):
		return quarantine(err)
	case err != nil:
		return err
	case !ok:
		k.c.log.Debug("ignored a message that is not for the assistant", "msg_id", evt.Info.ID)
		return k.onAlbumStart(ctx, evt)
	}
	got.in.ID = id
	parts, err := k.albumParts(ctx, &got)
	if err != nil {
		return err
	}
	for _, part := range append(parts, got) {
		// Remember it first: the answer may begin before Accept returns, and then quotes
		// the message and marks it as read.
		if err := k.remember(ctx, part); err != nil {
			return err
		}
		if err := k.in.Accept(ctx, part.in); err != nil {
			return err
		}
	}
	k.c.albums.delivered(got.in)
	if k.c.blocked.has(got.in.Key.Chat()) && (got.in.Private || channels.Answers(ctx, k.in, got.in)) {
		k.reopen(ctx, got.in.Key.Chat())
	}
	return nil
}

// remember keeps what answers to a message, and changes of it, will need.
func (k *connection) remember(ctx context.Context, got converted) error {
	switch {
	case got.in.Reaction != "": // No answer quotes a reaction.
		return nil
	case got.in.Deletes != "":
		k.c.memory.forget(got.in.Edits, got.in.Sender) // so that no answer quotes it
		return nil
	}
	if err := k.noteExpiry(ctx, got.in, got.about); err != nil {
		return err
	}
	k.c.memory.remember(got.in, got.seen)
	return nil
}

// decryptEdit decrypts the second layer that some edits have. Inside is the edit, perhaps
// in an envelope, or only the new text.
func (k *connection) decryptEdit(ctx context.Context, evt *events.Message) (*events.Message, error) {
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

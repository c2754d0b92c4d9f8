package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// Where messages disappear, so must answers. WhatsApp's server knows that of
// groups only; of a private chat the people in it tell each other, when they
// change it and again in each message. A message that says nothing of it leaves
// it as it is: phones do the same, and write below it that it will not
// disappear. So the device file has to know it, one row for each chat where
// messages do not live for ever.
const expiryTable = `CREATE TABLE IF NOT EXISTS dragoman_expiry (chat TEXT PRIMARY KEY, seconds BIGINT NOT NULL)`

// expires is how long messages live in a chat; 0: for ever.
func (d *deviceFile) expires(ctx context.Context, chat string) (seconds uint32, err error) {
	err = d.db.QueryRowContext(ctx, `SELECT seconds FROM dragoman_expiry WHERE chat = $1`, chat).Scan(&seconds)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("whatsapp: read how long messages live: %w", err)
	}
	return seconds, nil
}

// setExpires notes how long they live from now on. It writes only what is new:
// most messages say what is known.
func (d *deviceFile) setExpires(ctx context.Context, chat string, seconds uint32) error {
	was, err := d.expires(ctx, chat)
	switch {
	case err != nil || was == seconds:
		return err
	case seconds == 0:
		_, err = d.db.ExecContext(ctx, `DELETE FROM dragoman_expiry WHERE chat = $1`, chat)
	default:
		_, err = d.db.ExecContext(ctx, `INSERT INTO dragoman_expiry (chat, seconds) VALUES ($1, $2) ON CONFLICT (chat) DO UPDATE SET seconds = excluded.seconds`, chat, seconds)
	}
	if err != nil {
		return fmt.Errorf("whatsapp: note how long messages live: %w", err)
	}
	return nil
}

// moveExpires brings what is known of one chat into another's that is the same
// one, if nothing is known there.
func (d *deviceFile) moveExpires(ctx context.Context, from, to string) error {
	old, err := d.expires(ctx, from)
	if err != nil || old == 0 {
		return err
	}
	if now, err := d.expires(ctx, to); err != nil || now == 0 {
		if err = errors.Join(err, d.setExpires(ctx, to, old)); err != nil {
			return err
		}
	}
	return d.setExpires(ctx, from, 0)
}

// timerOf is what evt sets how long messages live to, if that is what it is.
func timerOf(evt *events.Message) (seconds uint32, ok bool) {
	p := evt.Message.GetProtocolMessage()
	return p.GetEphemeralExpiration(), p != nil && p.GetType() == waE2E.ProtocolMessage_EPHEMERAL_SETTING
}

// setTimer notes that somebody changed how long messages live. The owner may
// have done it on the phone, in a chat that is not listened to.
func (k *connection) setTimer(ctx context.Context, evt *events.Message, seconds uint32) error {
	i, r := &evt.Info, k.reader(ctx)
	chat := i.Chat.ToNonAD().String()
	switch {
	case i.Chat.Server == types.GroupServer:
	case i.IsFromMe && i.Chat.Server != types.BroadcastServer, r.wanted(evt):
		who := identify(i.Sender, i.SenderAlt)
		if i.IsFromMe {
			who = identify(i.Chat, i.RecipientAlt)
		}
		who, err := r.complete(who)
		if err == nil {
			chat, err = r.chatOf(who)
		}
		if err != nil {
			return err
		}
	default:
		return nil
	}
	return k.file.setExpires(ctx, chat, seconds)
}

// groupChanged takes what WhatsApp's server says of a group.
func (k *connection) groupChanged(ctx context.Context, evt *events.GroupInfo) {
	ctx, leave, ok := k.enter(ctx)
	defer leave()
	if !ok || evt.Ephemeral == nil {
		return
	}
	if err := k.file.setExpires(ctx, evt.JID.ToNonAD().String(), evt.Ephemeral.DisappearingTimer); err != nil {
		k.c.log.Warn("how long messages live in a group is not noted; the next one there says it", "err", err)
	}
}

// keepExpires notes what a message says of it. A change of a message may have
// been composed anywhere, and says nothing.
func (k *connection) keepExpires(ctx context.Context, m channels.Inbound, about *waE2E.ContextInfo) error {
	if about == nil || about.Expiration == nil || m.Edits != "" {
		return nil
	}
	return k.file.setExpires(ctx, m.Key.Chat(), about.GetExpiration())
}

//go:build !nowhatsapp

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

// expiryTable has a row for each chat with disappearing messages, where our answers must
// disappear too. WhatsApp's server knows the setting of groups only. In private chats
// the phones send it when it changes, and with each message. A message without it does
// not change the setting: phones do the same, and show that this message will not
// disappear.
const expiryTable = `CREATE TABLE IF NOT EXISTS dragoman_expiry (chat TEXT PRIMARY KEY, seconds BIGINT NOT NULL)`

// expires is how long messages live in a chat, in seconds; 0 if they do not disappear.
func (d *deviceFile) expires(ctx context.Context, chat string) (seconds uint32, err error) {
	err = d.db.QueryRowContext(ctx, `SELECT seconds FROM dragoman_expiry WHERE chat = $1`, chat).Scan(&seconds)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("whatsapp: read how long messages live: %w", err)
	}
	return seconds, nil
}

// setExpiry stores how long messages in a chat live from now on. It writes only changes,
// because most messages repeat the setting.
func (d *deviceFile) setExpiry(ctx context.Context, chat string, seconds uint32) error {
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
		return fmt.Errorf("whatsapp: store how long messages live: %w", err)
	}
	return nil
}

// moveExpiry moves the setting of one chat to another one that was joined with it, unless
// that has a setting.
func (d *deviceFile) moveExpiry(ctx context.Context, from, to string) error {
	old, err := d.expires(ctx, from)
	if err != nil || old == 0 {
		return err
	}
	if now, err := d.expires(ctx, to); err != nil || now == 0 {
		if err = errors.Join(err, d.setExpiry(ctx, to, old)); err != nil {
			return err
		}
	}
	return d.setExpiry(ctx, from, 0)
}

// expirySetting is the new setting in seconds; ok is false if evt does not change it.
func expirySetting(evt *events.Message) (seconds uint32, ok bool) {
	p := evt.Message.GetProtocolMessage()
	return p.GetEphemeralExpiration(), p != nil && p.GetType() == waE2E.ProtocolMessage_EPHEMERAL_SETTING
}

// onExpirySetting handles a change of how long messages live. The owner may have made it on
// the phone, in a chat whose messages from the owner we ignore.
func (k *connection) onExpirySetting(ctx context.Context, evt *events.Message, seconds uint32) error {
	i, r := &evt.Info, k.reader(ctx)
	chat := i.Chat.ToNonAD().String()
	switch {
	case i.Chat.Server == types.GroupServer:
	case i.IsFromMe && i.Chat.Server != types.BroadcastServer, r.isForUs(evt):
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
	return k.file.setExpiry(ctx, chat, seconds)
}

func (k *connection) onGroupInfo(ctx context.Context, evt *events.GroupInfo) {
	ctx, leave, ok := k.enter(ctx)
	defer leave()
	if !ok {
		return
	}
	k.reopen(ctx, evt.JID.ToNonAD().String()) // It may have made room for us.
	if evt.Ephemeral == nil {
		return
	}
	if err := k.file.setExpiry(ctx, evt.JID.ToNonAD().String(), evt.Ephemeral.DisappearingTimer); err != nil {
		k.c.log.Warn("could not store how long messages live in a group; the next message repeats it", "err", err)
	}
}

// noteExpiry stores the setting that a message has. It ignores changes of messages, whose
// setting is not reliable.
func (k *connection) noteExpiry(ctx context.Context, m channels.Inbound, about *waE2E.ContextInfo) error {
	if about == nil || about.Expiration == nil || m.Edits != "" {
		return nil
	}
	return k.file.setExpiry(ctx, m.Key.Chat(), about.GetExpiration())
}

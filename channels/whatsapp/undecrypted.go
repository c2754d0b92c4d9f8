//go:build !nowhatsapp

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
	// patience is how long we wait for a new copy of a message that could not be
	// decrypted before its sender is told that it was not read.
	patience = 2 * time.Minute
	// handleTimeout bounds one call of handleUndecrypted. After a failure it is called
	// again in handleRetry.
	handleTimeout = 30 * time.Second
	handleRetry   = 5 * time.Second
)

// errUndecryptable is why a message is quarantined although nothing is wrong with
// it: we have only its envelope. It may still arrive; until then an operator
// should see it.
var errUndecryptable = errors.New("whatsapp: it could not be decrypted; its sender's phone was asked to send it again")

// onUndecryptable handles a message that could not be decrypted. The library has requested
// it again from the sender's phone and the owner's, and has already acknowledged it, so
// we first save what is known about it in the device file. handleUndecrypted then
// quarantines it, and reports it if it does not arrive in time. If it arrives, resolve
// takes it off the operator's list.
func (k *connection) onUndecryptable(ctx context.Context, evt *events.UndecryptableMessage) {
	inside, leave, ok := k.enter(ctx)
	defer leave()
	if !ok { // Save it with one attempt: this event does not come again.
		ended, end := context.WithCancel(inside)
		end()
		inside = ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handInTimeout)
	defer cancel()
	if !k.reader(ctx).isForUs(&events.Message{Info: evt.Info}) {
		return
	}
	k.c.log.Info("a message could not be decrypted; its sender was asked to send it again",
		"msg_id", evt.Info.ID, "unavailable", string(evt.UnavailableType))
	if !k.saveUndecrypted(ctx, inside, newUndecrypted(evt)) {
		return
	}
	select {
	case k.undecryptedSaved <- struct{}{}: // watch does the rest
	default: // watch knows already
	}
}

// saveUndecrypted saves u, and retries until inside ends. It returns false if u was known,
// or could not be saved.
func (k *connection) saveUndecrypted(ctx, inside context.Context, u *undecrypted) bool {
	tries := channels.Backoff{Most: 10 * time.Second}
	for {
		added, err := k.file.addUndecrypted(ctx, u)
		if err == nil {
			return added
		}
		wait := tries.Next()
		k.c.log.Warn("could not save that a message was not decrypted", "msg_id", u.ID, "err", err, "wait", wait)
		channels.Sleep(inside, wait)
		if inside.Err() != nil || ctx.Err() != nil {
			return false
		}
	}
}

func newUndecrypted(evt *events.UndecryptableMessage) *undecrypted {
	i := &evt.Info
	return &undecrypted{
		ID: i.ID, Chat: i.Chat, Sender: i.Sender, SenderAlt: i.SenderAlt, Time: i.Timestamp, Name: cleanName(i.PushName),
		Group: i.IsGroup, FromMe: i.IsFromMe, Quiet: evt.DecryptFailMode == events.DecryptFailHide,
		ViewOnce: evt.UnavailableType == events.UnavailableTypeViewOnce, Since: time.Now(),
	}
}

// handleUndecrypted quarantines the saved messages, and reports those that did not arrive
// in time. It returns when it must be called again, or a negative time if not until
// another message is saved.
func (k *connection) handleUndecrypted(ctx context.Context) time.Duration {
	ctx, leave, ok := k.enter(ctx)
	if !ok {
		return -1
	}
	defer leave()
	select {
	case k.handing <- struct{}{}:
		defer func() { <-k.handing }()
	default:
		return handleRetry / 10 // The intake is busy with a message.
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	next, err := k.handlePending(ctx)
	if err != nil {
		k.c.log.Warn("could not handle all messages that were not decrypted, will try again", "err", err)
		return handleRetry
	}
	return next
}

// handlePending does the work of handleUndecrypted, which holds the token and sets the
// deadline.
func (k *connection) handlePending(ctx context.Context) (next time.Duration, err error) {
	next = -1
	waiting, err := k.file.listUndecrypted(ctx, `state & $1 = 0`, int(stateArrived))
	if err != nil {
		return next, err
	}
	now := time.Now()
	for _, u := range waiting {
		if err := k.quarantine(ctx, u); err != nil {
			return next, err
		}
		if u.Quiet || u.is(stateReported) {
			continue
		}
		if left := k.reportAt(u).Sub(now); left <= 0 {
			err = k.reportMissing(ctx, u)
		} else if next < 0 || left < next {
			next = left
		}
		if err != nil {
			return next, err
		}
	}
	return next, nil
}

// reportAt is when u is reported if it has not arrived. After a login there is a little
// more time, in which WhatsApp delivers the messages that it kept for us.
func (k *connection) reportAt(u *undecrypted) time.Time {
	wait := cmp.Or(k.c.o.Patience, patience)
	due, least := u.Since.Add(wait), k.loggedInAt.Add(wait/4)
	switch {
	case u.ViewOnce:
		return u.Since
	case due.Before(least):
		return least
	}
	return due
}

// quarantine quarantines u once. A view-once message is left out, because it is not a
// fault that an operator could look into.
func (k *connection) quarantine(ctx context.Context, u *undecrypted) error {
	if u.ViewOnce || u.state != 0 {
		return nil
	}
	known, err := json.Marshal(u)
	if err == nil {
		err = k.in.Quarantine(ctx, k.c.name, inboundID(u.info()), known, errUndecryptable)
	}
	if err != nil {
		return fmt.Errorf("whatsapp: quarantine message %s: %w", u.ID, err)
	}
	return k.file.markUndecrypted(ctx, stateQuarantined, u)
}

// These are the texts of the messages that report a missing one. Their common album makes
// the gateway answer several of them together.
const (
	missingAlbum = "unread"
	missingText  = "[a message came that could not be decrypted; it was asked for again and has not come. Please ask for it to be sent once more]"
	viewOnceText = "[something to be viewed once was sent; WhatsApp shows that on phones only, so it cannot be seen here]"
)

// reportMissing hands a message to the intake that reports u, so that nobody waits for an
// answer to a message that we could not read.
func (k *connection) reportMissing(ctx context.Context, u *undecrypted) error {
	m, err := k.reader(ctx).header(u.info())
	if bad := (*malformed)(nil); errors.As(err, &bad) {
		return k.file.markUndecrypted(ctx, stateReported, u) // It does not say whose chat it was.
	}
	if err != nil {
		return err
	}
	m.ID = inboundID(u.info()) + "/unread"
	m.Text = missingText
	m.Album = missingAlbum
	if u.ViewOnce {
		m.Text = viewOnceText
	}
	seen := seenMessage{chat: u.Chat.ToNonAD(), sender: u.Sender.ToNonAD(), unmarked: !u.FromMe}
	if u.Chat.Server == types.BroadcastServer {
		seen.chat = seen.sender
	}
	k.c.memory.remember(m, seen)
	if err := k.in.Accept(ctx, m); err != nil {
		return fmt.Errorf("whatsapp: report message %s: %w", u.ID, err)
	}
	return k.file.markUndecrypted(ctx, stateReported, u)
}

// resolve takes a message off the operator's list: it was not decrypted at first,
// and is stored now. It may be called again, because it notes that it is done.
func (k *connection) resolve(ctx context.Context, u *undecrypted) error {
	if u.is(stateArrived) {
		return nil
	}
	if in, ok := k.in.(channels.Resolver); ok {
		if err := in.Resolve(ctx, k.c.name, inboundID(u.info())); err != nil {
			return fmt.Errorf("whatsapp: resolve message %s: %w", u.ID, err)
		}
	}
	return k.file.markUndecrypted(ctx, stateArrived, u)
}

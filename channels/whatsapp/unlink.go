package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// tellLimit is how long WhatsApp may take to hear that the device goes. After
// that it is forgotten here alone.
const tellLimit = 20 * time.Second

// Unlink removes the linked device from the account, as far as WhatsApp can be
// reached, and from the file. A Run that uses the device is made to let go of
// it, and goes on with the one that Link brings next. Where there is no device
// it does nothing. told says whether the phone lists the device no more: if
// not, its owner has to remove it there. An error means that the device is
// still in the file.
func (c *Channel) Unlink(ctx context.Context) (told bool, err error) {
	if err := c.takeSlot(ctx, c.interrupt); err != nil {
		return false, err
	}
	defer func() { <-c.slot }()
	file, err := c.own(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	device, err := file.device(ctx)
	if err != nil {
		return false, err
	}
	told = true
	if device != nil {
		told = c.sayGoodbye(ctx, device)
		if !told && ctx.Err() != nil {
			return false, fmt.Errorf("whatsapp: unlink: %w", context.Cause(ctx))
		}
		// From here on it must not be left half done.
		if err := file.forget(context.WithoutCancel(ctx)); err != nil {
			return told, err
		}
	}
	end := c.unlinked("it was logged out")
	c.reportEnd(end)
	c.changed()
	return told, nil
}

// interruptible is a context for what Run does with the device; interrupt ends
// it.
func (c *Channel) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interruption = stop
	return ctx, stop
}

// interrupt makes Run let go of the device file. Run may begin another connection
// after it.
func (c *Channel) interrupt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interruption != nil {
		c.interruption()
	}
	return nil
}

// changed tells a Run that waits that there is another device now, or none.
func (c *Channel) changed() {
	select {
	case c.linked <- struct{}{}:
	default:
	}
}

// sayGoodbye tells WhatsApp that the device goes, and reports whether it knows.
func (c *Channel) sayGoodbye(ctx context.Context, device *store.Device) bool {
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	p, err := c.pair(ctx, device)
	if err == nil {
		defer p.stop()
		in, gone := p.online(ctx, settleLimit)
		switch {
		case gone:
			return true
		case !in:
			err = errors.New("whatsapp: unlink: WhatsApp did not let the device in")
		default:
			err = p.remove(ctx, device)
		}
	}
	if err != nil {
		c.log.Warn("WhatsApp does not know that this device was unlinked; remove it on the phone too", "err", err)
	}
	return err == nil
}

// remove asks WhatsApp to take the device off the account. The library's own
// way to do so ends with its Disconnect, which must not happen before the
// network is cut: see [wire].
func (p *pairing) remove(ctx context.Context, device *store.Device) error {
	//lint:ignore SA1019 there is no other way to send this question alone
	_, err := p.client.DangerousInternals().SendIQ(ctx, whatsmeow.DangerousInfoQuery{
		Namespace: "md", Type: "set", To: types.ServerJID,
		Content: []waBinary.Node{{
			Tag: "remove-companion-device", Attrs: waBinary.Attrs{"jid": device.GetJID(), "reason": "user_initiated"},
		}},
	})
	if err == nil {
		return nil
	}
	for {
		select {
		case evt := <-p.events:
			if _, out := evt.(*events.LoggedOut); out {
				return nil // it did so before it answered
			}
		default:
			return fmt.Errorf("whatsapp: unlink: %w", err)
		}
	}
}

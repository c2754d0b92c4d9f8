//go:build !nowhatsapp

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

// unlinkTimeout is how long we try to tell WhatsApp that the device is unlinked. After
// that the device is only removed from the file.
const unlinkTimeout = 20 * time.Second

// Unlink removes the linked device from the account, if WhatsApp can be reached, and from
// the file. A connected Run releases the device and waits for [Channel.Link]. Without a
// device Unlink does nothing. told is false if the phone may still list the device; its
// owner must then remove it there. After an error the device is still in the file.
func (c *Channel) Unlink(ctx context.Context) (told bool, err error) {
	if err := c.acquireSlot(ctx, c.interrupt); err != nil {
		return false, err
	}
	defer func() { <-c.slot }()
	file, err := c.open(ctx, true)
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
		told = c.tellWhatsApp(ctx, device)
		if !told && ctx.Err() != nil {
			return false, fmt.Errorf("whatsapp: unlink: %w", context.Cause(ctx))
		}
		// From here on it must be completed, even if ctx ends.
		if err := file.forget(context.WithoutCancel(ctx)); err != nil {
			return told, err
		}
	}
	c.reportEnd(c.needsPairing("it was logged out"))
	c.wakeRun()
	return told, nil
}

// interruptible returns a context that interrupt ends, so that Run lets go of the
// device file.
func (c *Channel) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	c.interruption.Store(&stop)
	return ctx, stop
}

// interrupt makes Run release the device file. Run may then begin another connection, so
// callers repeat it. It returns nil.
func (c *Channel) interrupt() error {
	if stop := c.interruption.Load(); stop != nil {
		(*stop)()
	}
	return nil
}

// wakeRun tells a waiting Run that the device has changed or should be tried again.
func (c *Channel) wakeRun() {
	select {
	case c.linked <- struct{}{}:
	default:
	}
}

// tellWhatsApp tells WhatsApp that the device is unlinked, and reports whether it knows.
func (c *Channel) tellWhatsApp(ctx context.Context, device *store.Device) bool {
	ctx, cancel := context.WithTimeout(ctx, unlinkTimeout)
	defer cancel()
	p, err := c.pair(ctx, device)
	if err == nil {
		defer p.stop()
		in, gone := p.waitForLogin(ctx, firstLoginTimeout)
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
		c.log.Warn("could not tell WhatsApp that this device was unlinked; remove it on the phone too", "err", err)
	}
	return err == nil
}

// remove asks WhatsApp to remove the device from the account. The library's method for
// that ends with Disconnect, which must not be called before the network is cut: see
// [wire].
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
				return nil // WhatsApp has removed it before it answered.
			}
		default:
			return fmt.Errorf("whatsapp: unlink: %w", err)
		}
	}
}

//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types/events"
)

// ErrLinked is the error of [Channel.Link] if a device is already linked.
var ErrLinked = errors.New("already linked")

func (c *Channel) logoutHint() string {
	return "to link another phone, log out first: dragoman logout " + c.Name()
}

const (
	firstQR = time.Minute      // how long the first QR code of a batch is valid
	nextQR  = 20 * time.Second // how long each later code is valid
	// firstLoginTimeout bounds the login of a device that was just linked.
	firstLoginTimeout = 10 * time.Second
)

// Link links the device to a phone, with QR codes, or, if phone is not empty (its number,
// "+123…"), with a code that is typed on the phone. It shows one invitation after the
// other until the phone accepts one or ctx ends, and returns the number of the account.
// If the linked device is off because it crashed the program, Link makes Run try again
// instead. Link waits until Run releases the device file. A Run that waits for a device
// then continues with the new one. It returns [ErrLinked] if a device is linked, or the
// reason why WhatsApp refused.
func (c *Channel) Link(ctx context.Context, phone string, show func(channels.Invitation)) (account string, err error) {
	err = c.acquireSlot(ctx, func() error {
		if c.live.Load() == nil {
			return nil
		}
		return fmt.Errorf("whatsapp: this device is %w, and connected; %s", ErrLinked, c.logoutHint())
	})
	if err != nil {
		return "", err
	}
	defer func() { <-c.slot }()
	known, err := c.linkedDevice(ctx)
	if err != nil {
		return "", err
	}
	if known != nil {
		if crashing, _ := c.crashes.tooMany(); crashing {
			err := c.crashes.forget()
			c.wakeRun()
			return identify(known.GetJID()).chat(), err
		}
		return identify(known.GetJID()).chat(), fmt.Errorf("whatsapp: this device is %w; %s", ErrLinked, c.logoutHint())
	}
	file, err := c.open(ctx, true)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	c.fetchVersion(ctx)
	if err := c.inviteUntilLinked(ctx, file, phone, show); err != nil {
		return "", err
	}
	device, err := file.device(ctx)
	if err != nil || device == nil {
		return "", errors.Join(errors.New("whatsapp: link: the phone accepted, but the device could not be stored"), err)
	}
	account = identify(device.GetJID()).chat()
	// The phone waits until the new device has come online, and sends it its name.
	if err := c.firstLogin(ctx, device); err != nil {
		c.log.Warn("the device is linked, but could not come online yet", "err", err)
	}
	c.report(channels.StateConnecting, "", "") // Run corrects it if it does not connect.
	c.wakeRun()
	return account, nil
}

// linkedDevice is the linked device, or nil. The file is closed again, so the
// device is for reading only.
func (c *Channel) linkedDevice(ctx context.Context) (*store.Device, error) {
	file, err := c.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	device, err := file.device(ctx)
	return device, errors.Join(err, file.close())
}

// acquireSlot waits until nothing uses the device file, and then takes it. It calls check
// before each attempt and returns its error. The caller must empty c.slot afterwards.
func (c *Channel) acquireSlot(ctx context.Context, check func() error) error {
	for {
		if err := check(); err != nil {
			return err
		}
		select {
		case c.slot <- struct{}{}:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("whatsapp: the device is in use: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// pairing is a client that acknowledges no messages, so that they come again for Run.
type pairing struct {
	client *whatsmeow.Client
	events chan any // capacity 32; further events are dropped
	stop   func()
}

// pair connects such a client. The caller must call its stop.
func (c *Channel) pair(ctx context.Context, device *store.Device) (*pairing, error) {
	w := c.newWire()
	library, end := context.WithCancel(ctx)
	p := &pairing{client: c.newClient(device, w), events: make(chan any, 32)}
	p.stop = func() {
		w.hangUp(p.client)
		end()
	}
	p.client.BackgroundEventCtx = library
	p.client.AddEventHandlerWithSuccessStatus(func(evt any) bool {
		if _, message := evt.(*events.Message); message {
			return false
		}
		select {
		case p.events <- evt:
		default:
		}
		return true
	})
	if err := p.client.ConnectContext(library); err != nil {
		p.stop()
		if ctx.Err() != nil { // the library only says that its socket is closed
			return nil, fmt.Errorf("whatsapp: link: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("whatsapp: link: WhatsApp cannot be reached: %w", rootCause(err))
	}
	return p, nil
}

// rootCause is the innermost error in err. People read it, and the library's errors name
// every step on the way to it.
func rootCause(err error) error {
	for {
		cause := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			cause = several.Unwrap()[len(several.Unwrap())-1]
		}
		if cause == nil {
			return err
		}
		err = cause
	}
}

// inviteUntilLinked makes one connection after the other until the device is linked. It
// waits between them, because a failing server ends each connection at once.
func (c *Channel) inviteUntilLinked(ctx context.Context, file *deviceFile, phone string, show func(channels.Invitation)) error {
	for tries := (channels.Backoff{}); ; {
		began := time.Now()
		linked, err := c.invite(ctx, file.container.NewDevice(), phone, show)
		if linked || err != nil {
			return err
		}
		if time.Since(began) >= c.steadyAfter {
			tries.Failed = 0
		}
		channels.Sleep(ctx, tries.Next())
		if ctx.Err() != nil {
			return fmt.Errorf("whatsapp: link: %w", context.Cause(ctx))
		}
	}
}

// invite makes one connection and shows its invitations. It returns false without an
// error when all codes of the connection have expired.
func (c *Channel) invite(ctx context.Context, device *store.Device, phone string, show func(channels.Invitation)) (bool, error) {
	p, err := c.pair(ctx, device)
	if err != nil {
		return false, err
	}
	defer p.stop()
	var codes []string
	next := time.NewTimer(loginTimeout)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("whatsapp: link: %w", context.Cause(ctx))
		case <-next.C:
			if len(codes) == 0 {
				return false, nil
			}
			show(channels.Invitation{QR: codes[0]})
			codes = codes[1:]
			next.Reset(nextQR)
		case evt := <-p.events:
			switch e := evt.(type) {
			case *events.QR:
				if phone != "" {
					next.Reset(firstQR + 5*nextQR)
					if err := p.showCode(ctx, phone, show); err != nil {
						return false, err
					}
					continue
				}
				if len(e.Codes) > 0 {
					show(channels.Invitation{QR: e.Codes[0]})
					codes = e.Codes[1:]
					next.Reset(firstQR)
				}
			case *events.ManualLoginReconnect: // It is paired; the next connection logs in.
				return true, nil
			default:
				if over, err := c.pairingOver(evt); over {
					return false, err
				}
			}
		}
	}
}

func (p *pairing) showCode(ctx context.Context, phone string, show func(channels.Invitation)) error {
	code, err := p.client.PairPhone(ctx, phone, true, whatsmeow.PairClientChrome, "Chrome (Linux)")
	if err != nil {
		return fmt.Errorf("whatsapp: link: ask for a code: %w", err)
	}
	show(channels.Invitation{Code: code})
	return nil
}

// pairingOver reports whether an event ends a connection for pairing. It returns an error
// if another connection would not help.
func (c *Channel) pairingOver(evt any) (bool, error) {
	switch e := evt.(type) {
	case *events.PairError:
		return true, fmt.Errorf("whatsapp: link: %w", e.Error)
	case *events.ClientOutdated:
		return true, errors.New("whatsapp: link: " + c.outdated().detail)
	case *events.QRScannedWithoutMultidevice:
		return true, errors.New("whatsapp: link: that phone's WhatsApp is too old; update it")
	case *events.PairPasskeyRequest, *events.PairPasskeyError:
		return true, errors.New("whatsapp: link: this account asks for a passkey, which cannot be shown here; on the phone, under Linked devices, link it without one")
	case *events.Disconnected:
		return true, nil
	}
	if end, ends := c.endOf(evt); ends {
		return true, errors.New("whatsapp: link: " + end.detail)
	}
	return false, nil
}

// firstLogin connects a device that was just linked, and waits for the login.
func (c *Channel) firstLogin(ctx context.Context, device *store.Device) error {
	p, err := c.pair(ctx, device)
	if err != nil {
		return err
	}
	defer p.stop()
	if in, _ := p.waitForLogin(ctx, firstLoginTimeout); !in {
		return errors.New("whatsapp: link: WhatsApp did not answer the login")
	}
	return nil
}

// waitForLogin waits until WhatsApp accepts or refuses the login. gone says that the
// device is no longer linked.
func (p *pairing) waitForLogin(ctx context.Context, limit time.Duration) (in, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		select {
		case evt := <-p.events:
			switch evt.(type) {
			case *events.Connected:
				return true, false
			case *events.LoggedOut:
				return false, true
			case *events.Disconnected, *events.ConnectFailure, *events.ClientOutdated, *events.TemporaryBan, *events.StreamReplaced:
				return false, false
			}
		case <-ctx.Done():
			return false, false
		}
	}
}

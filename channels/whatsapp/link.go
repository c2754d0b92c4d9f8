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

// ErrLinked: there is a linked device already.
var ErrLinked = errors.New("already linked")

// logout says how to link another phone.
func (c *Channel) logout() string {
	return "to link another phone, log out first: dragoman logout " + c.Name()
}

const (
	firstQR = time.Minute // how long WhatsApp takes the first code of a batch
	nextQR  = 20 * time.Second
	// settleLimit is how long the phone may take to tell its name and keys
	// after the device was linked.
	settleLimit = 10 * time.Second
)

// Link links the device to a phone: with QR codes, or, if phone is not empty
// ("+123…", the number of that phone), with a code to type there. It shows one
// invitation after the other until the phone has accepted one or ctx ends, and
// returns the number of the account. A linked device that is off because it
// crashed the program is tried again instead. It needs the device file, so it waits for
// Run to let go of it; a Run that waits for a device goes on with the new one.
// Errors: [ErrLinked], and whatever WhatsApp has against it.
func (c *Channel) Link(ctx context.Context, phone string, show func(channels.Invitation)) (account string, err error) {
	err = c.takeSlot(ctx, func() error {
		if c.live.Load() == nil {
			return nil
		}
		return fmt.Errorf("whatsapp: this device is %w, and connected; %s", ErrLinked, c.logout())
	})
	if err != nil {
		return "", err
	}
	defer func() { <-c.slot }()
	known, err := c.known(ctx)
	if err != nil {
		return "", err
	}
	if known != nil {
		if crashing, _ := c.crashes.tooMany(); crashing {
			err := c.crashes.forget()
			c.changed()
			return identify(known.GetJID()).chat(), err
		}
		return identify(known.GetJID()).chat(), fmt.Errorf("whatsapp: this device is %w; %s", ErrLinked, c.logout())
	}
	file, err := c.own(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	c.askVersion(ctx)
	if err := c.inviteUntilLinked(ctx, file, phone, show); err != nil {
		return "", err
	}
	device, err := file.device(ctx)
	if err != nil || device == nil {
		return "", errors.Join(errors.New("whatsapp: link: the phone accepted, but the device could not be stored"), err)
	}
	account = identify(device.GetJID()).chat()
	// The phone waits for the new device to appear, and tells it its name.
	if err := c.settle(ctx, device); err != nil {
		c.log.Warn("the device is linked but has not come online yet", "err", err)
	}
	c.report(channels.StateConnecting, "", "") // where Run waits, it will say so in a moment
	c.changed()
	return account, nil
}

// known is the linked device, or nil if there is none.
func (c *Channel) known(ctx context.Context) (*store.Device, error) {
	file, err := c.peek(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	device, err := file.device(ctx)
	return device, errors.Join(err, file.close())
}

// takeSlot waits until nobody uses the device file. It asks first, every now and
// then, whether that makes sense.
func (c *Channel) takeSlot(ctx context.Context, ask func() error) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		if err := ask(); err != nil {
			return err
		}
		select {
		case c.slot <- struct{}{}:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("whatsapp: the device is in use: %w", context.Cause(ctx))
		case <-look.C:
		}
	}
}

// pairing is a client that takes no messages: what comes is left for Run.
type pairing struct {
	client *whatsmeow.Client
	events chan any // those that matter here; a full one is an old one
	stop   func()
}

// pair connects such a client. Its stop must be called.
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
		return nil, fmt.Errorf("whatsapp: link: WhatsApp cannot be reached: %w", root(err))
	}
	return p, nil
}

// root is what was behind err first: the library's errors tell every step on
// the way to it, and people read this one.
func root(err error) error {
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

// inviteUntilLinked makes one connection after the other. One that did not hold
// is followed by a pause: a server that is in trouble ends each at once.
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
		if channels.Sleep(ctx, tries.Next()); ctx.Err() != nil {
			return fmt.Errorf("whatsapp: link: %w", context.Cause(ctx))
		}
	}
}

// invite makes one connection and shows its invitations. False without an
// error: WhatsApp's codes are used up and there must be new ones.
func (c *Channel) invite(ctx context.Context, device *store.Device, phone string, show func(channels.Invitation)) (bool, error) {
	p, err := c.pair(ctx, device)
	if err != nil {
		return false, err
	}
	defer p.stop()
	var codes []string
	next := time.NewTimer(loginLimit)
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
			case *events.ManualLoginReconnect: // paired; the next connection logs in
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

// pairingOver says whether an event ends a connection that was made for
// pairing, and if so whether it is of no use to make another.
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

// settle connects the new device once.
func (c *Channel) settle(ctx context.Context, device *store.Device) error {
	p, err := c.pair(ctx, device)
	if err != nil {
		return err
	}
	defer p.stop()
	if in, _ := p.online(ctx, settleLimit); !in {
		return errors.New("whatsapp: link: WhatsApp did not answer the login")
	}
	return nil
}

// online waits until WhatsApp has let the device in, or has said no: gone
// means that it does not know the device any more.
func (p *pairing) online(ctx context.Context, limit time.Duration) (in, gone bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
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
		case <-timer.C:
			return false, false
		case <-ctx.Done():
			return false, false
		}
	}
}

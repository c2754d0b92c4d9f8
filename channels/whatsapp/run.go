//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
)

const (
	// loginTimeout is how long a connection and its login may take.
	loginTimeout = time.Minute
	// checkEvery is how often we check that a connection still exists.
	checkEvery = 5 * time.Second
	// takenPause is how long we leave the device to another node, which may use it only
	// to log out.
	takenPause = 30 * time.Second
	// findDeviceEvery is how often we check whether another node has linked a device.
	findDeviceEvery = 2 * time.Second
	// outdatedPause is how long we wait before we ask for a newer version.
	outdatedPause = time.Hour
)

// steadyAfter is how long a connection without messages must have lasted before the next
// reconnect starts from the shortest wait again. A login alone is not enough: we would
// dial without a pause if a server ended the stream after each login.
const steadyAfter = time.Minute

// ending says why a connection ended and when the next one begins.
type ending struct {
	state  channels.State
	reason string // one of the constants below, or ""
	detail string
	// after is the shortest time until the next attempt. If it is negative, there is
	// none until a person does something.
	after time.Duration
	// unused is Status.Unused.
	unused bool
}

// dropped is the ending of a connection that is tried again.
func dropped(detail string) ending {
	return ending{state: channels.StateDown, detail: detail + "; trying again"}
}

// These are the reasons in Status.
const (
	reasonPairing  = channels.ReasonPairing
	reasonBanned   = "banned"
	reasonOutdated = "outdated"
	reasonReplaced = "replaced"
	reasonRefused  = "refused"
	reasonCrashing = "crashing"
)

func needsPerson(reason, detail string) ending {
	return ending{state: channels.StateFailed, reason: reason, detail: detail, after: -1}
}

// needsPairing is the ending of a channel whose device is not linked to a phone.
func (c *Channel) needsPairing(why string) ending {
	return needsPerson(reasonPairing, fmt.Sprintf("needs pairing: %s; run: dragoman login %s", why, c.name))
}

// Run keeps the connection until ctx ends. The package comment lists its failures.
func (c *Channel) Run(ctx context.Context, in channels.Intake) error {
	defer c.report(channels.StateDown, "", "stopped")
	var tries channels.Backoff
	for ctx.Err() == nil {
		select {
		case c.slot <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		end := c.serve(ctx, in, &tries)
		<-c.slot
		if ctx.Err() != nil {
			continue
		}
		if c.o.Shared && end.reason == reasonReplaced {
			return fmt.Errorf("whatsapp: %s: %w", end.detail, channels.ErrElsewhere)
		}
		c.reportEnd(end)
		c.wait(ctx, end, &tries)
	}
	return nil
}

// wait waits for as long as end says, or until Link or Unlink changes the device.
func (c *Channel) wait(ctx context.Context, end ending, tries *channels.Backoff) {
	var due <-chan time.Time
	if end.after >= 0 {
		// A short ban must not make us dial more often than without one.
		wait := max(end.after, tries.Next())
		if end.unused {
			wait = end.after
		}
		c.log.Debug("pausing before the next connection", "wait", wait)
		due = time.After(wait)
	}
	select {
	case <-due:
	case <-c.linked:
		tries.Failed = 0
	case <-ctx.Done():
	}
}

// serve makes one connection. It returns when the connection has ended and nothing uses
// it.
func (c *Channel) serve(ctx context.Context, in channels.Intake, tries *channels.Backoff) ending {
	if c.o.Database != nil {
		if device, err := c.linkedDevice(ctx); err == nil && device == nil {
			return c.notLinked()
		}
	}
	file, err := c.open(ctx, true)
	if err != nil {
		c.log.Warn("cannot use the device file", "err", err)
		return dropped("the device file cannot be used: " + err.Error())
	}
	defer func() {
		if err := file.close(); err != nil {
			c.log.Warn("could not close the device file", "err", err)
		}
	}()
	device, err := file.device(ctx)
	switch {
	case err != nil:
		c.log.Warn("cannot read the device file", "err", err)
		return dropped("the device file cannot be read: " + err.Error())
	case device == nil:
		return c.notLinked()
	}
	if crashing, err := c.crashes.tooMany(); err != nil {
		c.log.Warn("cannot read the crash reports of WhatsApp's library", "err", err)
	} else if crashing {
		return c.crashing()
	}
	if err := c.crashes.record(); err != nil {
		c.log.Warn("cannot record crashes of WhatsApp's library", "err", err)
	}
	c.report(channels.StateConnecting, "", "")
	ctx, done := c.interruptible(ctx)
	defer done()
	c.fetchVersion(ctx)
	k := c.newConnection(in, file, device)
	end := k.serve(ctx, tries)
	if ctx.Err() != nil {
		end = ending{state: channels.StateDown, detail: "its device file is needed for something else; trying again"} // Run replaces it if it ends.
	}
	if c.o.Database != nil && errors.Is(file.db.PingContext(context.WithoutCancel(ctx)), ErrTaken) {
		return ending{state: channels.StateDown, after: takenPause, detail: ErrTaken.Error()}
	}
	if k.unlinked.Load() {
		// The library removes the device too, but perhaps later than this.
		if err := file.forget(context.WithoutCancel(ctx)); err != nil {
			c.log.Warn("could not remove the unlinked device from its file", "err", err)
		}
	}
	return end
}

// notLinked is the ending of a channel without a device. If the device is in a database,
// another node may link it without telling us, so we check again soon.
func (c *Channel) notLinked() ending {
	end := c.needsPairing("this device is not linked to a phone")
	end.unused = true
	if c.o.Database != nil {
		end.after = findDeviceEvery
	}
	return end
}

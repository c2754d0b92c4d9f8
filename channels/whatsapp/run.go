package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
)

const (
	// loginLimit is how long a connection may take until WhatsApp has let us in.
	loginLimit = time.Minute
	// lookEvery is how often a connection is looked at without a reason.
	lookEvery = 5 * time.Second
	// takenPause is how long another node has with the device before we want it
	// back. It may only log out.
	takenPause = 30 * time.Second
	// lookForDevice is how often we look whether another node has linked one.
	lookForDevice = 2 * time.Second
	// outdatedPause is how long to wait before asking for a newer version.
	outdatedPause = time.Hour
)

// steadyAfter is how long a connection that carried no message must have held
// until the pauses start small again. Being let in is not enough: a server that does that and then
// ends the stream would be dialled without a pause, for ever.
const steadyAfter = time.Minute

// ending is why a connection ended and what comes next.
type ending struct {
	state  channels.State
	reason string // one of the words below, or ""
	detail string
	// after is when to try again, if the next pause is over by then; negative:
	// never, a person has to do something.
	after time.Duration
	// unused is for [channels.Status].
	unused bool
}

func dropped(detail string) ending {
	return ending{state: channels.StateDown, detail: detail + "; trying again"}
}

// The reasons in a channel's status.
const (
	reasonPairing  = "needs_pairing"
	reasonBanned   = "banned"
	reasonOutdated = "outdated"
	reasonReplaced = "replaced"
	reasonRefused  = "refused"
	reasonCrashing = "crashing"
)

func needsPerson(reason, detail string) ending {
	return ending{state: channels.StateFailed, reason: reason, detail: detail, after: -1}
}

// unlinked is the ending of a device that no phone knows (any more).
func (c *Channel) unlinked(why string) ending {
	return needsPerson(reasonPairing, fmt.Sprintf("needs pairing: %s; run: dragoman login %s", why, c.name))
}

// Run serves until ctx ends. See the package's comment.
func (c *Channel) Run(ctx context.Context, in channels.Intake) error {
	defer c.report(channels.StateDown, "", "stopped")
	stop, err := c.crashes.record()
	if err != nil {
		c.log.Warn("a crash of WhatsApp's library would not be recorded", "err", err)
	}
	defer stop()
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

// wait lets the time pass that end asks for, or until Link has a new device or
// Unlink has removed it.
func (c *Channel) wait(ctx context.Context, end ending, tries *channels.Backoff) {
	var due <-chan time.Time
	if end.after >= 0 {
		// The end of a short ban is no reason to dial more often than else.
		wait := max(end.after, tries.Next())
		if end.unused {
			wait = end.after
		}
		c.log.Debug("pausing before the next connection", "wait", wait)
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-c.linked:
		tries.Failed = 0
	case <-ctx.Done():
	}
}

// serve makes one connection and returns when it is over and nothing uses it
// any more.
func (c *Channel) serve(ctx context.Context, in channels.Intake, tries *channels.Backoff) ending {
	if c.o.Database != nil {
		if device, err := c.known(ctx); err == nil && device == nil {
			return c.notLinked()
		}
	}
	file, err := c.own(ctx)
	if err != nil {
		c.log.Warn("the device file cannot be used", "err", err)
		return dropped("the device file cannot be used: " + err.Error())
	}
	defer func() {
		if err := file.close(); err != nil {
			c.log.Warn("the device file was not closed cleanly", "err", err)
		}
	}()
	device, err := file.device(ctx)
	switch {
	case err != nil:
		c.log.Warn("the device file cannot be read", "err", err)
		return dropped("the device file cannot be read: " + err.Error())
	case device == nil:
		return c.notLinked()
	}
	if crashing, err := c.crashes.tooMany(); err != nil {
		c.log.Warn("cannot tell whether WhatsApp's library has crashed", "err", err)
	} else if crashing {
		return c.crashing()
	}
	c.report(channels.StateConnecting, "", "")
	ctx, done := c.interruptible(ctx)
	defer done()
	c.askVersion(ctx)
	k := c.newConnection(in, file, device)
	end := k.serve(ctx, tries)
	if ctx.Err() != nil {
		end = ending{state: channels.StateDown, detail: "its device file is needed for something else; trying again"} // not seen if Run ends
	}
	if c.o.Database != nil && errors.Is(file.db.PingContext(context.WithoutCancel(ctx)), ErrTaken) {
		return ending{state: channels.StateDown, after: takenPause, detail: ErrTaken.Error()}
	}
	if k.gone.Load() {
		// The library removes the device too, perhaps only after we are done.
		if err := file.forget(context.WithoutCancel(ctx)); err != nil {
			c.log.Warn("the unlinked device was not removed from its file", "err", err)
		}
	}
	return end
}

// notLinked is the ending of a channel without a device. Of one that is in a
// database nobody tells us when another node links it, so we look.
func (c *Channel) notLinked() ending {
	end := c.unlinked("this device is not linked to a phone")
	end.unused = true
	if c.o.Database != nil {
		end.after = lookForDevice
	}
	return end
}

package gateway

import (
	"time"

	"dragoman/channels"
)

// ResetMode says when a conversation begins anew by itself.
type ResetMode string

// The values of Reset.Mode.
const (
	ResetNever ResetMode = "never"
	ResetDaily ResetMode = "daily" // with the first message after a time of day
	ResetIdle  ResetMode = "idle"  // with the first message after a long silence
)

// Reset is when a conversation begins anew by itself. The old one is kept, as
// with /new. The zero value is never.
type Reset struct {
	Mode ResetMode
	// At is the time of day of ResetDaily, since midnight on the wall clock.
	At time.Duration
	// Zone is where that clock hangs. Nil: the machine's.
	Zone *time.Location
	// After is the silence of ResetIdle.
	After time.Duration
}

// before is the time that a conversation must have been updated since, for a
// message that comes now to go on with it; zero if it always does.
func (r Reset) before(now time.Time) time.Time {
	switch {
	case r.Mode == ResetIdle && r.After > 0:
		return now.Add(-r.After)
	case r.Mode == ResetDaily:
		return r.lastBorder(now)
	}
	return time.Time{}
}

// lastBorder is the newest At that has passed. Days are counted by the
// calendar, because one of 23 or 25 hours has one border too; where clocks are
// turned over At itself, time.Date chooses a time, always the same one.
func (r Reset) lastBorder(now time.Time) time.Time {
	zone := r.Zone
	if zone == nil {
		zone = time.Local
	}
	year, month, day := now.In(zone).Date()
	hour, minute := int(r.At/time.Hour), int(r.At%time.Hour/time.Minute)
	for back := 0; ; back++ {
		border := time.Date(year, month, day-back, hour, minute, 0, 0, zone)
		if !border.After(now) {
			return border
		}
	}
}

// resetBefore is Entry.ResetBefore for m. An edit belongs to what it edits and
// begins nothing.
func (g *Gateway) resetBefore(m channels.Inbound) time.Time {
	if m.Edits != "" {
		return time.Time{}
	}
	r := g.opts.Reset
	if b := g.bindings[m.Key.Channel()]; b != nil && b.Reset != "" {
		r.Mode = b.Reset
	}
	return r.before(g.opts.Now())
}

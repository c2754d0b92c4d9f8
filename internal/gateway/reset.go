package gateway

import (
	"time"

	"dragoman/channels"
)

// ResetMode says when a conversation starts anew by itself.
type ResetMode string

// The values of Reset.Mode.
const (
	ResetNever ResetMode = "never"
	ResetDaily ResetMode = "daily" // with the first message after a time of day
	ResetIdle  ResetMode = "idle"  // with the first message after a long silence
)

// Reset says when a conversation starts anew by itself. As with /new, the old
// one is kept. The zero value is never.
type Reset struct {
	Mode ResetMode
	// At is the time of day of ResetDaily, since midnight on the wall clock of Zone.
	At time.Duration
	// Zone is the time zone of At. Nil: the machine's.
	Zone  *time.Location
	After time.Duration
}

// before is the time since which a conversation must have been updated for a
// message at now to continue it; zero if it always does.
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
// calendar, because a day of 23 or 25 hours also has one border. Where the
// clocks change at At itself, time.Date chooses a time, always the same one.
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

// resetBefore is Entry.ResetBefore for m. An edit starts nothing.
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

package health

import (
	"slices"
	"time"
)

const (
	// HalfHours is how many there are of a channel: a day.
	HalfHours = 48
	halfHour  = 30 * time.Minute
	// maxChannels bounds the memory; a configuration has fewer.
	maxChannels = 200
)

// HalfHour is what a channel did in half an hour. Of several, [Merge] makes one.
type HalfHour struct {
	// N is which half hour since 1970 it is.
	N int64 `json:"n"`
	// In are messages of people, Out messages that the network took, and Failed attempts to
	// deliver that failed.
	In     int `json:"in,omitempty"`
	Out    int `json:"out,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Looks is how often it was looked at, and Up how often it was connected then.
	Looks int `json:"looks,omitempty"`
	Up    int `json:"up,omitempty"`
}

// Begins is when it begins.
func (h HalfHour) Begins() time.Time { return time.Unix(0, h.N*int64(halfHour)).UTC() }

func (h *HalfHour) add(o HalfHour) {
	h.In += o.In
	h.Out += o.Out
	h.Failed += o.Failed
	h.Looks += o.Looks
	h.Up += o.Up
}

// day is the last half hours of a channel, by their number modulo its length.
type day [HalfHours]HalfHour

// at is the half hour of that number. What was there a day before is forgotten.
func (d *day) at(n int64) *HalfHour {
	h := &d[n%HalfHours]
	if h.N != n {
		*h = HalfHour{N: n}
	}
	return h
}

// half is the present half hour of a channel; nil: there are too many. The caller holds
// the lock.
func (w *Watch) half(channel string, now time.Time) *HalfHour {
	d := w.days[channel]
	if d == nil && len(w.days) >= maxChannels {
		return nil
	}
	if d == nil {
		d = new(day)
		w.days[channel] = d
	}
	return d.at(halfHourOf(now))
}

// Accepted hears of a message that a channel handed in.
func (w *Watch) Accepted(channel, outcome string) {
	if outcome != "queued" && outcome != "done" { // of the others, nothing new was said
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if half := w.half(channel, w.o.Now()); half != nil {
		half.In++
	}
}

// Delivered hears of an attempt to deliver.
func (w *Watch) Delivered(channel, outcome string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	half := w.half(channel, w.o.Now())
	if half == nil {
		return
	}
	switch outcome {
	case "sent":
		half.Out++
	case "deferred", "dead":
		half.Failed++
		w.failed++
	}
}

// Restore adds the half hours of a channel that an earlier process kept. Call it before Run.
func (w *Watch) Restore(channel string, list []HalfHour) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.o.Now()
	if w.half(channel, now) == nil {
		return
	}
	d := w.days[channel]
	for _, h := range list {
		if recent(h, now) {
			d.at(h.N).add(h)
		}
	}
}

// Days are the half hours of each channel, of those of which there is anything, the oldest
// first.
func (w *Watch) Days() map[string][]HalfHour {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.o.Now()
	all := make(map[string][]HalfHour, len(w.days))
	for name, d := range w.days {
		for _, h := range d {
			if recent(h, now) && h != (HalfHour{N: h.N}) {
				all[name] = append(all[name], h)
			}
		}
		slices.SortFunc(all[name], func(a, b HalfHour) int { return int(a.N - b.N) })
	}
	return all
}

// Merge is the day until now, of what several processes know of one channel: [HalfHours]
// of them, the oldest first.
func Merge(now time.Time, lists ...[]HalfHour) []HalfHour {
	first := halfHourOf(now) - HalfHours + 1
	all := make([]HalfHour, HalfHours)
	for i := range all {
		all[i].N = first + int64(i)
	}
	for _, list := range lists {
		for _, h := range list {
			if recent(h, now) {
				all[h.N-first].add(h)
			}
		}
	}
	return all
}

// recent reports whether h is of the day until now.
func recent(h HalfHour, now time.Time) bool {
	last := halfHourOf(now)
	return h.N <= last && h.N > last-HalfHours
}

// halfHourOf is which half hour t is in.
func halfHourOf(t time.Time) int64 { return t.UnixNano() / int64(halfHour) }

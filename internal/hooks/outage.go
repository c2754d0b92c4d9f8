package hooks

import "time"

// sayEvery is how often the log tells of a hook that is down. It is down for
// every event, and a day of that would fill the log.
const sayEvery = time.Hour

// outage counts what goes wrong with a hook.
type outage struct {
	count int
	said  time.Time
}

// note counts one more and reports whether the log is to tell of it.
func (o *outage) note(now time.Time) bool {
	o.count++
	if o.count > 1 && now.Sub(o.said) < sayEvery {
		return false
	}
	o.said = now
	return true
}

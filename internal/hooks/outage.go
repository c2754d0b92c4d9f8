package hooks

import "time"

// logEvery is how often the failures of one hook are logged. A line for every event
// would fill the log.
const logEvery = time.Hour

// outage counts the failures of a hook.
type outage struct {
	count  int
	logged time.Time
}

// note counts a failure and reports whether to log it.
func (o *outage) note(now time.Time) bool {
	o.count++
	if o.count > 1 && now.Sub(o.logged) < logEvery {
		return false
	}
	o.logged = now
	return true
}

package heartbeat

import "time"

// Upcoming are the due times of job in its active hours, from next, when it is due next,
// until a time, at most so many. There are none of a job that is not configured.
func (s *Scheduler) Upcoming(job string, next, until time.Time, most int) (list []time.Time) {
	e, found := s.jobs[job]
	if !found {
		return nil
	}
	const steps = 2000 // a day of minutes, and more
	for range steps {
		if next.IsZero() || next.After(until) || len(list) == most {
			break
		}
		if e.active.contain(next) {
			list = append(list, next)
		}
		next = e.times.next(next)
	}
	return list
}

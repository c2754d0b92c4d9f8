package engine

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// Ending is the end of k: what was said last, and what is not over. It reads the rows of the
// queues that are open, and two others.
func (s *Store) Ending(ctx context.Context, k channels.Key) (end sessions.Ending, err error) {
	last, err := s.Feed(ctx, k, 0, 1)
	if err != nil {
		return end, err
	}
	if len(last) > 0 {
		end.Last = &last[0]
	}
	v := s.viewOf(ctx, k)
	for r := range v.inbox(k, rows.QueueFilter{Open: true}) {
		if isSaid(&r) {
			end.Waiting++
			end.Begun = end.Begun || r.Turn != ""
		}
	}
	for o := range v.outbox(k, rows.QueueFilter{Open: true}) {
		if o.State == sessions.DeliveryDead {
			end.Dead++
		}
	}
	return end, s.wrap("ending", v.err)
}

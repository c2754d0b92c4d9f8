package agent

import (
	"context"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// within has older messages summarised while there are more of them than a
// request may show. The newest ones that are to stay word for word are counted
// from the end of the running turn, so that of a long one's history nothing
// may stay. Where no summary comes of it, newest cuts the view.
func (r *run) within(ctx context.Context) error {
	most := r.a.Compaction().MaxMessages
	for tries := 0; most > 0 && len(r.all) > most && r.own > 0 && !r.stuck; tries++ {
		before, turn := r.own, len(r.all)-r.own
		keep := max(r.own-window.CutAt(r.all, r.a.Keep(r.t.History)), 0)
		keep = max(min(keep, most-turn), 0)
		if tries > 0 {
			keep = 0 // a group of tool calls was in the way, or another's summary came first
		}
		if err := r.compact(ctx, &window.Keep{Unit: window.UnitMessages, N: keep}); err != nil {
			return err
		}
		r.stuck = r.own >= before
	}
	return nil
}

// newest is the view with as many messages as it may have.
func (r *run) newest(msgs []sessions.Message, users int) []sessions.Message {
	c := r.a.Compaction()
	if c.MaxMessages == 0 {
		return msgs
	}
	step := c.MaxMessages / 2
	if c.Keep.Unit == window.UnitMessages {
		step = c.MaxMessages - c.Keep.N
	}
	return window.Newest(msgs, users, c.MaxMessages, step)
}

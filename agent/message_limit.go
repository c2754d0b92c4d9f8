package agent

import (
	"context"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// enforceMessageLimit has older messages summarised while there are more than a
// request may show. The messages to keep verbatim are counted from the end of the
// running turn, so a long turn may leave none of the history. If no summary can be
// made, newestMessages cuts the view.
func (r *run) enforceMessageLimit(ctx context.Context) error {
	most := r.a.Compaction().Keep.MaxMessages
	for tries := 0; most > 0 && len(r.all) > most && r.inputAt > 0 && !r.limitStuck; tries++ {
		before, turn := r.inputAt, len(r.all)-r.inputAt
		keep := max(r.inputAt-window.CutAt(r.all, r.a.Keep(r.t.History)), 0)
		keep = max(min(keep, most-turn), 0)
		if tries > 0 {
			keep = 0 // a group of tool calls was in the way, or another summary was made first
		}
		if err := r.compact(ctx, &window.Keep{Unit: window.UnitMessages, N: keep}); err != nil {
			return err
		}
		r.limitStuck = r.inputAt >= before
	}
	return nil
}

// newestMessages cuts the view to the number of messages that it may have.
func (r *run) newestMessages(msgs []sessions.Message, users int) []sessions.Message {
	c := r.a.Compaction()
	if c.Keep.MaxMessages == 0 {
		return msgs
	}
	step := c.Keep.MaxMessages / 2
	if c.Keep.Unit == window.UnitMessages {
		step = c.Keep.MaxMessages - c.Keep.N
	}
	return window.Newest(msgs, users, c.Keep.MaxMessages, step)
}

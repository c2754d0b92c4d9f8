package agent

import (
	"cmp"
	"errors"
	"fmt"

	"dragoman/agent/recap"
	"dragoman/agent/window"
)

// compacting is how summaries are made from now on. It never changes; another
// one takes its place.
type compacting struct {
	window.Compaction
	task *recap.Task // how it has summaries written
}

// SetCompaction replaces Options.Compaction while turns run. A summary that is
// being written is finished as it was begun; a running turn goes on by the new
// one at its next request. On an error nothing changes.
func (a *Agent) SetCompaction(c window.Compaction) error {
	if err := checkCompaction(c); err != nil {
		return err
	}
	c.MaxTokens = min(cmp.Or(c.MaxTokens, a.opts.ContextWindow), a.opts.ContextWindow/4, a.opts.SummarizerWindow/4)
	task, err := recap.New(c)
	if err != nil {
		return fmt.Errorf("agent: option Compaction: %w", err)
	}
	a.compacting.Store(&compacting{c, task})
	return nil
}

// checkCompaction refuses what would summarise all the time or not at all. The
// configuration is checked more closely, with better words.
func checkCompaction(c window.Compaction) error {
	for name, n := range map[string]int{
		"Trigger.TokensPercent": c.Trigger.TokensPercent, "Trigger.Messages": c.Trigger.Messages,
		"Keep.N": c.Keep.N, "MaxMessages": c.MaxMessages, "MaxTokens": c.MaxTokens, "MaxChars": c.MaxChars,
	} {
		if n < 0 {
			return fmt.Errorf("agent: option Compaction.%s is negative", name)
		}
	}
	switch {
	case c.When == window.WhenOff:
		return nil
	case c.Keep.N < 1:
		return errors.New("agent: Compaction.Keep.N must be at least 1")
	case c.Keep.Unit == window.UnitMessages && c.Trigger.Messages > 0 && c.Keep.N >= c.Trigger.Messages:
		return fmt.Errorf("agent: Compaction.Keep.N (%d) must be less than Compaction.Trigger.Messages (%d)", c.Keep.N, c.Trigger.Messages)
	case c.Keep.Unit == window.UnitMessages && c.MaxMessages > 0 && c.Keep.N >= c.MaxMessages:
		return fmt.Errorf("agent: Compaction.Keep.N (%d) must be less than Compaction.MaxMessages (%d)", c.Keep.N, c.MaxMessages)
	case c.When == window.WhenAsk && c.MaxMessages > 0:
		return fmt.Errorf("agent: Compaction.MaxMessages (%d) would summarise without the person, whom Compaction.When is to ask", c.MaxMessages)
	case c.Trigger.TokensPercent > 100:
		return fmt.Errorf("agent: Compaction.Trigger.TokensPercent (%d) is over 100", c.Trigger.TokensPercent)
	}
	return nil
}

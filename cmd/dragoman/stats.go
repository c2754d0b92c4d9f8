package main

import (
	"context"
	"fmt"
	"strings"

	"dragoman/internal/api"
	"dragoman/internal/config"
)

// sessionsStatsCmd is "dragoman sessions stats": tokens and costs.
type sessionsStatsCmd struct {
	jsonFlag
}

// numbers are the daemon's, and what is missing in their costs.
type numbers struct {
	api.Numbers
	// Unpriced are the configured models without prices. The costs do not include
	// them.
	Unpriced []string `json:"unpriced,omitempty"`

	priced bool // some model has prices
	spent  bool // some cost is known
}

func (k *sessionsStatsCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		got, err := api.ReadNumbers.Call(ctx, a, api.None{})
		if err != nil {
			return err
		}
		cfg, err := e.loadWithoutSecrets(c.Config)
		if err != nil {
			return err
		}
		n := newNumbers(got, cfg)
		if k.JSON {
			return e.json(n)
		}
		e.stats(n)
		return nil
	})
}

func newNumbers(got api.Numbers, cfg *config.Config) numbers {
	n := numbers{Numbers: got}
	look := func(name string, p config.Prices) {
		if p != (config.Prices{}) {
			n.priced = true
		} else if name != "" && cfg.Model.Type != "demo" {
			n.Unpriced = append(n.Unpriced, name)
		}
	}
	look(cfg.Model.Name, cfg.Model.Prices)
	for _, o := range cfg.Model.Others {
		look(o.Name, o.Prices)
	}
	for _, d := range n.Days {
		n.spent = n.spent || d.Usage.Cost > 0
	}
	for _, s := range n.Top {
		n.spent = n.spent || s.Usage.Cost > 0
	}
	return n
}

func (e *env) stats(n numbers) {
	most := 0
	for _, d := range n.Days {
		most = max(most, d.Messages)
	}
	if most == 0 && len(n.Top) == 0 {
		e.say("Nothing to count yet. Write to Dragoman on one of its channels, or run: %s", e.command("chat"))
		return
	}
	e.say("The last seven days (UTC):\n")
	days := n.table([]string{"DAY", "CHATS", "MESSAGES", "", "TOKENS"}, 1, 2, 4)
	days.less = []int{3, 1} // the bar first
	for _, d := range n.Days {
		days.add(n.row(d.Usage, d.Day, fmt.Sprint(d.Conversations), fmt.Sprint(d.Messages), bar(d.Messages, most))...)
	}
	days.print(e)
	if len(n.Top) > 0 {
		e.say("\nConversations by tokens, over their whole life:\n")
		top := n.table([]string{"KEY", "TITLE", "MESSAGES", "TOKENS"}, 2, 3)
		top.less = []int{2}
		for _, s := range n.Top {
			top.add(n.row(s.Usage, s.Key.String(), s.Name(), fmt.Sprint(s.MessageCount))...)
		}
		top.print(e)
	}
	if text := n.unknown(); text != "" {
		e.say("\n%s", text)
	}
}

// table has a column for costs if any are known.
func (n numbers) table(head []string, right ...int) *table {
	if n.spent || n.priced {
		head, right = append(head, "COST"), append(right, len(head))
	}
	return &table{head: head, right: right}
}

// row is cells followed by the tokens and the cost of u.
func (n numbers) row(u api.Usage, cells ...string) []string {
	cells = append(cells, grouped(u.Input+u.Output))
	switch {
	case !n.spent && !n.priced:
	case u.Cost == 0 && u.Input+u.Output > 0:
		cells = append(cells, "unknown")
	default:
		cells = append(cells, fmt.Sprintf("%.4f", u.Cost))
	}
	return cells
}

// unknown says what is missing in the costs, or returns "".
func (n numbers) unknown() string {
	took, free := false, false
	for _, s := range n.Top {
		tokens := s.Usage.Input + s.Usage.Output
		took, free = took || tokens > 0, free || tokens > 0 && s.Usage.Cost == 0
	}
	switch {
	case !took:
		return ""
	case !n.spent && !n.priced:
		return "The cost is unknown, because no prices are configured (model.prices)."
	case len(n.Unpriced) > 0:
		return fmt.Sprintf("The costs do not include %s, because no prices are configured for that model.", oneLine(strings.Join(n.Unpriced, ", ")))
	case free:
		return "The costs do not include messages from before prices were configured."
	}
	return ""
}

const barWidth = 24

// bar draws n out of most. Anything above 0 is at least a sliver.
func bar(n, most int) string {
	if n <= 0 || most <= 0 {
		return ""
	}
	eighths := max(1, n*barWidth*8/most)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s
}

// grouped prints n like 1 234 567.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

package anthropic

import (
	"strconv"
	"strings"

	"dragoman/internal/lazily"
)

// model is what a model's name says of how it thinks. Sources, November 2026:
// platform.claude.com build-with-claude/thinking, /effort, /preserved-thinking
// and the migration guides of 4.6, 4.7, 5 and 5.5.
type model struct {
	// adaptive: it takes thinking of the type adaptive and an effort, and since
	// 4.7 no budget. Claude 4.6 was the first.
	adaptive bool
	// budget: it takes thinking with a budget, as Claude 3.7 to 4.5 do and the
	// servers of others that speak this API.
	budget bool
	// newer: since 4.7, which take no temperature and show no thoughts unless
	// they are asked to.
	newer bool
	// bound: since 5.1, whose thoughts hold only after what they came after.
	bound bool
	// none is the type of thinking that is the least: "" where it cannot be
	// switched off, so that the lowest effort is.
	none string
}

var claude = lazily.Compile(`claude-(?:([a-z]+)-)?(\d)(?:[-.](\d{1,2}))?(?:[-.@:]|$)`)

// modelOf reads a name like claude-opus-5-5, claude-3-7-sonnet-20250219 or
// anthropic/claude-sonnet-4.5.
func modelOf(name string) model {
	part := claude.Regexp().FindStringSubmatch(name)
	switch {
	case part == nil && strings.Contains(name, "claude"):
		return model{adaptive: true, newer: true, bound: true} // like claude-mythos-preview
	case part == nil:
		return model{budget: true, none: "disabled"}
	}
	family := part[1]
	major, _ := strconv.Atoi(part[2]) // digits, or none
	minor, _ := strconv.Atoi(part[3])
	version := major*100 + minor
	m := model{adaptive: version >= 406, budget: version >= 307 && version < 406, newer: version >= 407, bound: version >= 501, none: "disabled"}
	switch {
	case family == "sonnet" && version >= 505:
		m.none = "between_tools"
	case family == "opus" && version >= 505, major >= 5 && (family == "fable" || family == "mythos"):
		m.none = ""
	}
	return m
}

// thinking is how a request asks for thoughts.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

// leastBudget is the smallest budget that the API takes.
const leastBudget = 1024

var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 32000}

// think is how an effort is asked for; "" leaves it to the model. limit bounds
// thoughts and answer together, so that thoughts get half of it at most.
func (m *model) think(effort string, limit int) (*thinking, string) {
	switch {
	case effort == "" || !m.adaptive && !m.budget:
		return nil, ""
	case effort == "none" && m.none == "":
		return nil, "low"
	case effort == "none" && !m.adaptive:
		return nil, "" // it does not think unasked
	case effort == "none":
		return &thinking{Type: m.none}, ""
	case !m.adaptive:
		if budget := min(budgets[effort], limit/2); budget >= leastBudget {
			return &thinking{Type: "enabled", Budget: budget}, ""
		}
		return nil, ""
	}
	t := &thinking{Type: "adaptive"}
	switch {
	case m.newer:
		t.Display = "summarized"
	case effort == "xhigh":
		effort = "high" // Claude 4.6 does not know it
	}
	if effort == "minimal" {
		effort = "low"
	}
	return t, effort
}

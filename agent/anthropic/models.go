package anthropic

import (
	"strconv"
	"strings"

	"dragoman/internal/lazily"
)

// model says how a Claude model thinks, by its name. Sources, November 2026:
// platform.claude.com build-with-claude/thinking, /effort, /preserved-thinking
// and the migration guides of 4.6, 4.7, 5 and 5.5.
type model struct {
	// adaptive: it takes an effort and thinking of the type adaptive, as all do
	// since Claude 4.6. Since 4.7 they take no budget.
	adaptive bool
	// budget: it takes thinking with a budget. So do Claude 3.7 to 4.5 and other
	// servers that speak this API.
	budget bool
	// since47: Claude 4.7 and later take no temperature, and show thoughts only
	// on request.
	since47 bool
	// bindsThoughts: since Claude 5.1, thoughts are valid only after an unchanged
	// prompt.
	bindsThoughts bool
	// leastThinking is the type of the least thinking; "" if thinking cannot be
	// switched off, so that the lowest effort is the least.
	leastThinking string
}

var claude = lazily.Compile(`claude-(?:([a-z]+)-)?(\d)(?:[-.](\d{1,2}))?(?:[-.@:]|$)`)

// modelOf parses a name like claude-opus-5-5, claude-3-7-sonnet-20250219 or
// anthropic/claude-sonnet-4.5.
func modelOf(name string) model {
	part := claude.Regexp().FindStringSubmatch(name)
	switch {
	case part == nil && strings.Contains(name, "claude"):
		return model{adaptive: true, since47: true, bindsThoughts: true} // like claude-mythos-preview
	case part == nil:
		return model{budget: true, leastThinking: "disabled"}
	}
	family := part[1]
	major, _ := strconv.Atoi(part[2]) // only digits; "" is 0
	minor, _ := strconv.Atoi(part[3])
	version := major*100 + minor
	m := model{adaptive: version >= 406, budget: version >= 307 && version < 406, since47: version >= 407, bindsThoughts: version >= 501, leastThinking: "disabled"}
	switch {
	case family == "sonnet" && version >= 505:
		m.leastThinking = "between_tools"
	case family == "opus" && version >= 505, major >= 5 && (family == "fable" || family == "mythos"):
		m.leastThinking = ""
	}
	return m
}

// thinking tells the model whether and how to think. Budget is for models that do
// not decide for themselves how long.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

// minBudget is the smallest budget for thoughts that the API accepts.
const minBudget = 1024

var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 32000}

// thinkingFor returns the fields thinking and effort for a requested effort; ""
// leaves both to the model. limit bounds thoughts and answer together, so a
// budget is at most half of it.
func (m *model) thinkingFor(effort string, limit int) (*thinking, string) {
	switch {
	case effort == "" || !m.adaptive && !m.budget:
		return nil, ""
	case effort == "none" && m.leastThinking == "":
		return nil, "low"
	case effort == "none" && !m.adaptive:
		return nil, "" // the model thinks only on request
	case effort == "none":
		return &thinking{Type: m.leastThinking}, ""
	case !m.adaptive:
		if budget := min(budgets[effort], limit/2); budget >= minBudget {
			return &thinking{Type: "enabled", Budget: budget}, ""
		}
		return nil, ""
	}
	t := &thinking{Type: "adaptive"}
	switch {
	case m.since47:
		t.Display = "summarized"
	case effort == "xhigh":
		effort = "high" // Claude 4.6 does not know xhigh
	}
	if effort == "minimal" {
		effort = "low"
	}
	return t, effort
}

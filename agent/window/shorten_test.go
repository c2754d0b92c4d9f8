package window_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// However small the window is believed to be, a turn's messages are shortened only as far as
// something of them is left: seven short questions stay questions.
func TestFitLeavesSomethingOfEachMessage(t *testing.T) {
	call := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "time", Arguments: "{}"}}}
	result := sessions.Message{Role: sessions.RoleTool, ToolCallID: "a", Content: "2026-11-29T06:07:24Z, a Sunday"}
	short := func(i int) string { return fmt.Sprintf("Bring the %d. box to the station, please", i) }
	long := strings.Repeat("This is a very long question. ", 1000)
	for name, tt := range map[string]struct {
		texts   []string
		budgets []int
		whole   bool
	}{
		"short questions":     {[]string{short(1), short(2), short(3), short(4), short(5), short(6), short(7)}, []int{239, 100, 20, 1, 0}, true},
		"one short question":  {[]string{short(1)}, []int{10, 1}, true},
		"a long one":          {[]string{long}, []int{1000, 239, 1}, false},
		"a long and short":    {[]string{long, "yes"}, []int{500, 1}, false},
		"many, not that long": {[]string{long[:2000], long[:2000], long[:2000]}, []int{600, 50}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, budget := range tt.budgets {
				var msgs []sessions.Message
				for _, text := range tt.texts {
					msgs = append(msgs, sessions.Message{Role: sessions.RoleUser, Content: text})
				}
				users := len(msgs)
				msgs = append(msgs, call, result)
				view, _ := window.Fit(msgs, users, budget, nil)
				for i, m := range view[:users] {
					same := m.Content == tt.texts[i]
					if tt.whole && !same || !same && window.EstimateText(m.Content) < 40 {
						t.Errorf("with %d tokens, %.50q became %q", budget, tt.texts[i], m.Content)
					}
				}
				most := max(budget, 100*len(msgs))
				if n := window.Count(view, nil); n > most {
					t.Errorf("with %d tokens the view takes %d, want at most %d", budget, n, most)
				}
				if !slices.ContainsFunc(view, func(m sessions.Message) bool { return m.Content == result.Content }) {
					t.Errorf("with %d tokens the result of the tool is not shown", budget)
				}
			}
		})
	}
}

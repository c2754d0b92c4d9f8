package window_test

import (
	"strings"
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// The presets keep the numbers that they are known for.
func TestPresets(t *testing.T) {
	for name, want := range map[string]struct {
		trigger window.Trigger
		keep    window.Keep
		render  window.Render
		format  window.Format
		tokens  int
		chars   int
		heat    float64 // 0: left to the model
		most    int     // messages
	}{
		"dragoman":           {window.Trigger{TokensPercent: 75, Messages: 80}, window.Keep{Unit: "messages", N: 12}, "system_section", "sections", 4096, 0, 0, 0},
		"picoclaw":           {window.Trigger{TokensPercent: 75, Messages: 20}, window.Keep{Unit: "messages", N: 4}, "system_section", "concise", 1024, 0, 0.3, 0},
		"terrarium":          {window.Trigger{Messages: 20}, window.Keep{Unit: "messages", N: 10}, "system_message", "concise", 256, 0, 0.2, 20},
		"molf":               {window.Trigger{TokensPercent: 80, MinMessages: 6}, window.Keep{Unit: "turns", N: 4}, "checkpoint_pair", "sections", 4096, 0, 0.3, 0},
		"sentinel":           {window.Trigger{TokensPercent: 60}, window.Keep{Unit: "messages", N: 30}, "facts_xml", "json", 4096, 1000, 0, 0},
		"goose-conservative": {window.Trigger{TokensPercent: 90}, window.Keep{Unit: "messages", N: 10}, "system_message", "concise", 200, 0, 0, 0},
		"goose-balanced":     {window.Trigger{TokensPercent: 80}, window.Keep{Unit: "messages", N: 5}, "system_message", "concise", 200, 0, 0, 0},
		"goose-aggressive":   {window.Trigger{TokensPercent: 70}, window.Keep{Unit: "messages", N: 3}, "system_message", "concise", 200, 0, 0, 0},
	} {
		got := window.Presets[name]
		if got.When != window.WhenAuto || got.Trigger != want.trigger || got.Keep.Unit != want.keep.Unit || got.Keep.N != want.keep.N || got.Render != want.render || got.Format != want.format {
			t.Errorf("preset %s = %+v, want %+v", name, got, want)
		}
		heat := 0.0
		if got.Temperature != nil {
			heat = *got.Temperature
		}
		if got.MaxTokens != want.tokens || got.MaxChars != want.chars || heat != want.heat || got.Keep.MaxMessages != want.most {
			t.Errorf("preset %s has at most %d tokens, %d characters and %d messages, and %g; want %d, %d, %d, %g", name,
				got.MaxTokens, got.MaxChars, got.Keep.MaxMessages, heat, want.tokens, want.chars, want.most, want.heat)
		}
	}
	if got := strings.Join(window.PresetNames(), " "); got != "dragoman goose-aggressive goose-balanced goose-conservative molf picoclaw sentinel terrarium" {
		t.Errorf("PresetNames = %s", got)
	}
}

func TestCutAt(t *testing.T) {
	turns := parse(t, `user/t1 a
assistant/t1 b
user/t2 c
user/t2 d
assistant/t2 -
call x get {}
call y get {}
tool x 1
tool y 2
assistant/t2 done
user/t3 e
assistant/t3 f`)
	for i := range turns {
		if turns[i].Role == sessions.RoleTool {
			turns[i].Turn = "t2"
		}
	}
	imported := parse(t, "user a\nuser b\nassistant c\nuser d\nassistant e")
	for _, test := range []struct {
		name string
		msgs []sessions.Message
		keep window.Keep
		want int
	}{
		{"one turn", turns, window.Keep{Unit: window.UnitTurns, N: 1}, 8},
		{"two turns, gathered messages are one", turns, window.Keep{Unit: window.UnitTurns, N: 2}, 2},
		{"all turns", turns, window.Keep{Unit: window.UnitTurns, N: 3}, 0},
		{"more turns than there are", turns, window.Keep{Unit: window.UnitTurns, N: 9}, 0},
		{"imported turns", imported, window.Keep{Unit: window.UnitTurns, N: 1}, 3},
		{"imported turns, two", imported, window.Keep{Unit: window.UnitTurns, N: 2}, 0},
		{"no messages", nil, window.Keep{Unit: window.UnitTurns, N: 2}, 0},
		{"case 12: 4 messages, back to the group", turns, window.Keep{Unit: window.UnitMessages, N: 4}, 4},
		{"one token keeps a message", turns, window.Keep{Unit: window.UnitTokens, N: 1}, 9},
		{"tokens, back to the group", turns, window.Keep{Unit: window.UnitTokens, N: window.Count(turns[6:], nil)}, 4},
		{"exactly so many tokens", turns, window.Keep{Unit: window.UnitTokens, N: window.Count(turns[8:], nil)}, 8},
		{"more tokens than there are", turns, window.Keep{Unit: window.UnitTokens, N: 1 << 20}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := window.CutAt(test.msgs, test.keep); got != test.want {
				t.Errorf("CutAt(%+v) = %d, want %d", test.keep, got, test.want)
			}
		})
	}
}

package exchange_test

import (
	"strings"
	"testing"

	"dragoman/sessions/exchange"
)

// Messages in the form of Anthropic's API become calls, results and texts, and the report
// names what is left out or has only a mark.
func TestClaudesParts(t *testing.T) {
	for name, test := range map[string]struct{ messages, want, notes string }{
		"a call and its result": {
			`{"role":"user","content":"Weather?"},
			{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t1","name":"weather","input":{"city":"Oslo"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"3 °C"}]},
			{"role":"assistant","content":[{"type":"text","text":"Cold."}]}`,
			`user "Weather?"; assistant "Let me see." weather{"city":"Oslo"}#t1; tool "3 °C" for t1; assistant "Cold."`, "",
		},
		"two results and a word": {
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"y","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"b","is_error":true,"content":"no"},{"type":"text","text":"And?"}]}`,
			`assistant "" x{}#a y{}#b; tool "one" for a; tool "no" for b; user "And?"`, "",
		},
		"thoughts": {
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Yes."}]},{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}`,
			`assistant "Yes."; assistant ""`, "message 1: its thoughts were left out; message 2: its thoughts were left out",
		},
		"a picture in a result": {
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{}}]}]}`,
			`assistant "" x{}#a; tool "[image]" for a`, "message 2: only a mark is left of what is no text: [image]",
		},
		"a picture with words": {
			`{"role":"user","content":[{"type":"image","source":{"data":"AAAA"}},{"type":"image","source":{}},{"type":"text","text":"What is it?"}]}`,
			`user "[image]\n[image]\nWhat is it?"`, "message 1: only a mark is left of what is no text: [image] (2 times)",
		},
		"OpenAI's picture": {
			`{"role":"user","content":[{"type":"text","text":"This?"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"input_audio"}]}`,
			`user "This?\n[image_url]\n[input_audio]"`, "message 1: only a mark is left of what is no text: [image_url], [input_audio]",
		},
		"a document and a thought": {
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"document","source":{}},{"type":"text","text":"Here."}]}`,
			`assistant "[document]\nHere."`, "message 1: its thoughts were left out; message 1: only a mark is left of what is no text: [document]",
		},
		"words like a mark": {`{"role":"user","content":[{"type":"text","text":"[text]"}]}`, `user "[text]"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, lines := range []bool{false, true} {
				file, text := "claude.json", `{"messages":[`+test.messages+`]}`
				if lines {
					file = "claude.jsonl"
					text = strings.NewReplacer("},\n\t\t\t{\"role\"", "}\n{\"role\"", "},{\"role\"", "}\n{\"role\"").Replace(test.messages) + "\n"
				}
				path := written(t, file, text)
				c, notes := one(t, path, exchange.Options{})
				var got []string
				for _, m := range c.messages {
					line := string(m.Role) + ` "` + strings.ReplaceAll(m.Content, "\n", `\n`) + `"`
					for _, call := range m.ToolCalls {
						line += " " + call.Name + call.Arguments + "#" + call.ID
					}
					if m.ToolCallID != "" {
						line += " for " + m.ToolCallID
					}
					got = append(got, line)
				}
				if all := strings.Join(got, "; "); all != test.want {
					t.Errorf("%s became\n%s\nwant\n%s", file, all, test.want)
				}
				if all := strings.Join(notes, "; "); all != test.notes {
					t.Errorf("%s: the notes are %q, want %q", file, all, test.notes)
				}
			}
		})
	}
}

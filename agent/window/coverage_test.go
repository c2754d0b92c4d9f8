package window_test

import (
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

func TestMissing(t *testing.T) {
	all := parse(t, "user a\nassistant b\ncall x get {}\ntool x 1\ntool stray 2\nuser c\nassistant d")
	whole := window.Repair(all)
	for _, test := range []struct {
		name string
		view []sessions.Message
		want int
	}{
		{"all shown", whole, 0},
		{"the oldest left out", whole[3:], 3},
		{"nothing shown", nil, 5},
		{"a note shows nobody's message", append([]sessions.Message{window.OmissionNotice(1, "")}, whole[1:]...), 1},
		{"one of the middle left out", append(append([]sessions.Message{}, whole[:1]...), whole[2:]...), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := window.Missing(all, test.view); got != test.want {
				t.Errorf("Missing = %d, want %d", got, test.want)
			}
		})
	}
}

func TestUncovered(t *testing.T) {
	from := func(seq int64) []sessions.Message {
		return []sessions.Message{{Seq: seq, Role: sessions.RoleUser, Content: "a"}, {Seq: seq + 1, Role: sessions.RoleAssistant, Content: "b"}}
	}
	ten := &sessions.Summary{Text: "s", CoversSeq: 10}
	for name, test := range map[string]struct {
		h    sessions.History
		want int
	}{
		"next to it":                     {sessions.History{Summary: ten, Messages: from(11)}, 0},
		"a gap":                          {sessions.History{Summary: ten, Messages: from(15)}, 4},
		"a gap that is said":             {sessions.History{Summary: ten, Messages: from(15), Omitted: 4}, 0},
		"a gap that was replaced":        {sessions.History{Summary: ten, Messages: from(15), Omitted: 1, Replaced: 3}, 0},
		"a gap that is said in part":     {sessions.History{Summary: ten, Messages: from(15), Omitted: 3}, 1},
		"no summary, from the beginning": {sessions.History{FirstSeq: 15, Messages: from(15)}, 0},
		"no summary, a gap":              {sessions.History{FirstSeq: 11, Messages: from(15)}, 4},
		"no summary, a gap that is said": {sessions.History{FirstSeq: 11, Messages: from(15), Omitted: 4}, 0},
		"no summary, no beginning":       {sessions.History{Messages: from(15)}, 0},
		"the summary counts":             {sessions.History{FirstSeq: 1, Summary: ten, Messages: from(11)}, 0},
		"a blank summary":                {sessions.History{FirstSeq: 1, Summary: &sessions.Summary{Text: " \n", CoversSeq: 10}, Messages: from(11)}, 10},
		"no messages":                    {sessions.History{Summary: ten}, 0},
		"messages without seqs":          {sessions.History{Summary: ten, Messages: make([]sessions.Message, 1)}, 0},
		"messages that it covers too":    {sessions.History{Summary: ten, Messages: from(5)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := window.Uncovered(test.h); got != test.want {
				t.Errorf("Uncovered = %d, want %d", got, test.want)
			}
		})
	}
}

package story_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// In a group, an approver allows by a button what a member asked for. The question becomes
// the decision, without buttons, and another member's press changes nothing.
func TestApprovalByAButton(t *testing.T) {
	h := newHouse(t, plan{
		channels: `allow: ["71", "72"]`,
		rest:     "agent: {tools: {write_file: ask}}\napprovals: {approvers: [\"telegram:72\"]}",
	})
	h.start()
	team := h.api.Supergroup(-100200, "Team", false)
	team.Say(ann, `@dragoman_bot !tool write_file {"path":"a.txt","content":"x"} #1`)
	h.until("a question", func() bool { return slices.Equal(h.under(-100200), []string{"Allow once", "Deny"}) })
	question := len(h.api.Shown(-100200))
	if say := h.presses(ann, team, "Allow once"); !strings.HasPrefix(say, "Only those who may decide that") {
		t.Errorf("Ann, who is no approver, reads %q", say)
	}
	written := func() bool {
		found, _ := filepath.Glob(filepath.Join(h.dir, "*", "*", "a.txt"))
		more, _ := filepath.Glob(filepath.Join(h.dir, "*", "a.txt"))
		for _, name := range append(found, more...) {
			if data, err := os.ReadFile(name); err == nil && string(data) != "" {
				return true
			}
		}
		return false
	}
	if written() {
		t.Error("the file is there before anybody allowed it")
	}
	if say := h.presses(bob, team, "Allow once"); say != "" {
		t.Errorf("Bob, the approver, reads %q", say)
	}
	h.until("the file", written)
	h.until("the answer", func() bool { return len(h.api.Shown(-100200)) > question })
	decided := h.api.Shown(-100200)[question-1]
	if !strings.Contains(decided.Text, "allowed by") || len(decided.Buttons()) != 0 {
		t.Errorf("the question shows %q with %q, want the decision alone", decided.Text, decided.Buttons())
	}
}

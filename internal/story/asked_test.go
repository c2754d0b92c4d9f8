package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// The cases of approvals that depend on how a network says yes and who says it, as data: each
// is a question of a turn that wants to write a file, and what people then do. The cases that
// do not depend on a network are those of package actions and of package gateway.

// asked is a question that a person reads.
type askedQuestion struct {
	code string
	id   string // of the message that shows it, where the network shows ids
	file string // that is written if it is allowed
}

// askedCase is what people do with a question.
type askedCase struct {
	name string
	do   func(q askedQuestion)
	// end is the state of the question afterwards: used, denied or closed; pending: nothing
	// has changed, and whoever may decide then denies it.
	end string
}

// askedNet is a network with people who are asked.
type askedNet struct {
	*daemon
	// asks lets somebody ask for a file, and heard are the texts of whoever is asked.
	asks  func(text string)
	heard func() []string
	// shown is the id of the message with that text.
	shown func(text string) string
	// denies is a no of whoever may decide.
	denies func(code string)
	files  int
}

var askedForm = regexp.MustCompile(`[/!]allow ([A-Z0-9]{4})`)

// question lets somebody ask for another file, and returns what is asked about it.
func (n *askedNet) question() (q askedQuestion) {
	n.t.Helper()
	n.files++
	q.file = fmt.Sprintf("file-%d.txt", n.files)
	n.asks(fmt.Sprintf(`please !tool write_file {"path":"%s","content":"x"} #%d`, q.file, n.files))
	testkit.Eventually(n.t, "a question about "+q.file, func() bool {
		texts := n.heard()
		for i, text := range texts {
			if !strings.Contains(text, q.file) || !strings.Contains(text, "May I run") {
				continue
			}
			// On IRC, the code can be on a later line.
			if found := askedForm.FindStringSubmatch(strings.Join(texts[i:], "\n")); found != nil {
				q.code = found[1]
				if n.shown != nil {
					q.id = n.shown(text)
				}
				return true
			}
		}
		return false
	})
	if q.id != "" { // a reply to a question counts once it is known which message shows it
		noted := regexp.MustCompile(`an approval is shown".* msg_id="?` + regexp.QuoteMeta(q.id) + `"?\n`)
		testkit.Eventually(n.t, "the question to be noted as shown", func() bool { return noted.MatchString(n.out.String()) })
	}
	return q
}

// state is what became of q.
func (n *askedNet) state(q askedQuestion) string {
	n.t.Helper()
	list, err := api.ListApprovals.Call(n.t.Context(), n.admin, api.ApprovalQuery{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, a := range list.Data {
		if strings.Contains(a.Arguments, `"`+q.file+`"`) {
			return a.State
		}
	}
	return ""
}

// written reports whether the file of q was written as it was asked.
func (n *askedNet) written(q askedQuestion) bool {
	for _, folder := range []string{"*", filepath.Join("*", "*")} {
		found, _ := filepath.Glob(filepath.Join(n.dir, folder, q.file))
		for _, name := range found {
			if data, err := os.ReadFile(name); err == nil && string(data) == "x" {
				return true
			}
		}
	}
	return false
}

// run plays the cases, one after the other.
func (n *askedNet) run(t *testing.T, cases []askedCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := n.question()
			c.do(q)
			end := c.end
			if end == "pending" {
				n.denies(q.code)
				end = "denied"
			}
			if !testkit.Poll(slowAnswer, func() bool { return n.state(q) == end }) {
				t.Fatalf("the question is %s, want %s; people read %q", n.state(q), end, n.heard())
			}
			if got := n.written(q); got != (end == "used") && (end != "used" || !testkit.Poll(slowAnswer, func() bool { return n.written(q) })) {
				t.Errorf("%s was written: %t, and the question is %s", q.file, got, end)
			}
		})
	}
}

// askedSettings configure a tool that asks, and who answers in shared chats. Tests write more
// in a minute than people do.
func askedSettings(approver string) string {
	return fmt.Sprintf("agent: {tools: {write_file: ask}}\napprovals: {approvers: [%q]}\nqueue: {rate_per_minute: 0}", approver)
}

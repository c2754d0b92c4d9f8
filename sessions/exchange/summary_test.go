package exchange_test

import (
	"strings"
	"testing"

	"dragoman/sessions/exchange"
)

// A summary among the messages becomes that of the conversation, and covers itself and
// the messages before it. Text that a person wrote stays a message.
func TestSummaryAmongMessages(t *testing.T) {
	const head = "[Previous conversation summary]"
	message := func(role, text string) string { return `{"role":"` + role + `","content":"` + text + `"}` }
	row := message("system", head+`\nThey met.`)
	for _, test := range []struct {
		name     string
		messages []string
		field    string // of the document
		summary  string
		covers   int64
		said     string
	}{
		{"in the middle", []string{message("user", "a"), message("assistant", "b"), row, message("user", "c")}, "", "They met.", 3, "a|b|They met.|c"},
		{"first, of the system", []string{row, message("user", "c")}, "", "They met.", 1, "They met.|c"},
		{"first, as a message", []string{message("user", head+`\nThey met.`), message("user", "c")}, "", "They met.", 1, "They met.|c"},
		{"two", []string{message("user", "a"), row, message("user", "b"), message("system", head+" They left.")}, "", "They met.\n\nThey left.", 4, "a|They met.|b|They left."},
		{"a prompt before it", []string{message("system", "Be kind."), row, message("user", "c")}, "", "They met.", 1, "They met.|c"},
		{"written by a person", []string{message("user", "a"), message("user", head+" x")}, "", "", 0, "a|" + head + " x"},
		{"nothing behind it", []string{message("user", "a"), message("system", head)}, "", "", 0, "a|[system message] " + head},
		{"with a colon", []string{message("system", head+": CompanyB $129"), message("user", "c")}, "", "CompanyB $129", 1, "CompanyB $129|c"},
		{"with a colon, of a user", []string{message("user", head+": CompanyB $129"), message("user", "c")}, "", "CompanyB $129", 1, "CompanyB $129|c"},
		{"a colon and nothing between", []string{message("user", "a"), message("system", head+":CompanyB")}, "", "CompanyB", 2, "a|CompanyB"},
		{"a colon and a new line", []string{message("user", "a"), message("system", head+`:\nCompanyB`)}, "", "CompanyB", 2, "a|CompanyB"},
		{"a colon after a space", []string{message("user", "a"), message("system", head+`  :  CompanyB  `)}, "", "CompanyB", 2, "a|CompanyB"},
		{"nothing between", []string{message("user", "a"), message("system", head+"CompanyB")}, "", "CompanyB", 2, "a|CompanyB"},
		{"two new lines", []string{message("user", "a"), message("system", head+`\r\n\nCompanyB`)}, "", "CompanyB", 2, "a|CompanyB"},
		{"only one colon goes", []string{message("user", "a"), message("system", head+":: CompanyB")}, "", ": CompanyB", 2, "a|: CompanyB"},
		{"a colon that is the summary's", []string{message("user", "a"), message("system", head+`\n:-) they said`)}, "", ":-) they said", 2, "a|:-) they said"},
		{"nothing behind the colon", []string{message("user", "a"), message("system", head+": ")}, "", "", 0, "a|[system message] " + head + ": "},
		{"beside one with a name", []string{message("user", "a"), row}, `,"summary":"Named."`, "Named.", 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := `{"key":"x:1","messages":[` + strings.Join(test.messages, ",") + `]` + test.field + `}`
			r, err := exchange.NewReader(strings.NewReader(in), exchange.Options{})
			if err != nil {
				t.Fatal(err)
			}
			all, err := readAll(r)
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			c, said := all[0], []string{}
			for _, m := range c.messages {
				said = append(said, m.Content)
			}
			if got := strings.Join(said, "|"); test.said != "" && got != test.said {
				t.Errorf("messages %q, want %q", got, test.said)
			}
			var text string
			var covers int64
			if len(c.Summaries) > 0 {
				text, covers = c.Summaries[0].Text, c.Summaries[0].CoversSeq
			}
			if text != test.summary || covers != test.covers {
				t.Errorf("the summary is %q up to %d, want %q up to %d", text, covers, test.summary, test.covers)
			}
		})
	}
}

package channels_test

import (
	"testing"

	"dragoman/channels"
)

// Texts of former versions are read, and written for their nodes, with their marks.
func TestMarksOfFormerVersions(t *testing.T) {
	for _, test := range []struct {
		marked, text, file string
		form               channels.Form
	}{
		{"hello", "hello", "", channels.FormMarkdown},
		{"", "", "", channels.FormMarkdown},
		{"<!-- answer.md -->\n# All\nof it", "# All\nof it", "answer.md", channels.FormMarkdown},
		{"\rone \x02line\x02", "one \x02line\x02", "", channels.FormNative},
		{"\rone\ntwo", "one\ntwo", "", channels.FormNative},
		{"<!-- more -->\n\rone\n\rtwo", "one\ntwo", "", channels.FormRest},
		{"<!-- more -->\n\rone", "one", "", channels.FormRest},
		{"<!-- more -->\na model wrote it", "<!-- more -->\na model wrote it", "", channels.FormMarkdown},
		{"see <!-- answer.md -->\n", "see <!-- answer.md -->\n", "", channels.FormMarkdown},
	} {
		text, file, form := channels.WithoutMarks(test.marked)
		if text != test.text || file != test.file || form != test.form {
			t.Errorf("WithoutMarks(%q) = %q, %q, %q, want %q, %q, %q", test.marked, text, file, form, test.text, test.file, test.form)
		}
		if got := channels.WithMarks(test.text, test.file, test.form); got != test.marked {
			t.Errorf("WithMarks(%q, %q, %q) = %q, want %q", test.text, test.file, test.form, got, test.marked)
		}
	}
}

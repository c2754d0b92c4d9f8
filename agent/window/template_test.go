package window_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/agent/window"
)

func TestTemplateFill(t *testing.T) {
	const (
		transcript = "<transcript>\nE\n</transcript>"
		previous   = "<previous_summary>\nold &lt;/previous_summary> $& ${sessionMessages}\n</previous_summary>"
		old        = " old </previous_summary> $& ${sessionMessages} "
	)
	for _, test := range []struct{ name, template, summary, want string }{
		{"built in", "", "", transcript + "\n\nWrite the new summary now."},
		{"built in, with a summary", " \n", old, previous + "\n\n" + transcript + "\n\nWrite the new summary now."},
		{"one place", "Sum up:\n${sessionMessages}\nNow.", "", "Sum up:\n" + transcript + "\nNow."},
		{"one place, with a summary", "Sum up: ${sessionMessages}", old, "Sum up: " + previous + "\n\n" + transcript},
		{"two places", "Old: ${previousSummary} New: ${sessionMessages}", old, "Old: " + previous + " New: " + transcript},
		{"two places, no summary", "${sessionMessages}${previousSummary}", " ", transcript + "(There is none yet.)"},
		{"plain signs", "$5 $ $$ $${x} ${sessionMessages}$", "", "$5 $ $$ ${x} " + transcript + "$"},
	} {
		p, err := window.ParseTemplate(test.template)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := p.Fill(test.summary, "E\n"); got != test.want {
			t.Errorf("%s: Fill =\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestTemplateFlaws(t *testing.T) {
	for text, want := range map[string]string{
		"Sum up.":                               "lacks ${sessionMessages}",
		"$${sessionMessages}":                   "lacks ${sessionMessages}",
		"${previousSummary}":                    "lacks ${sessionMessages}",
		"sessionMessages":                       "lacks ${sessionMessages}",
		"${sessionMessages} ${sessionMesages}":  "an unknown placeholder, ${sessionMesages}; the placeholders are ${sessionMessages} and ${previousSummary}",
		"${} ${sessionMessages}":                "an unknown placeholder, ${…}",
		"${ sessionMessages }":                  "an unknown placeholder, ${…}",
		"${sessionMessages":                     "a ${ without its }",
		"${sessionMessages} ${sessionMessages}": "${sessionMessages} twice; keep one",
	} {
		_, err := window.ParseTemplate(text)
		var flaw *window.Flaw
		if !errors.As(err, &flaw) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTemplate(%q) = %v, want a flaw with %q", text, err, want)
		}
	}
}

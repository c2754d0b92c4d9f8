package recap_test

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

//go:embed testdata
var testdata embed.FS

// topic is one conversation with good and bad summaries of it.
type topic struct {
	name    string
	talk    recap.Source
	facts   []fact   // pieces of summaries, one for each heading
	true    []string // whole summaries, as small models write them
	answers []string // answers to its last question instead of a summary
}

type fact struct{ heading, text string }

// topics reads all conversations in testdata.
func topics(t *testing.T) (all []topic) {
	t.Helper()
	names, err := testdata.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if path.Ext(n.Name()) != ".txtar" {
			continue
		}
		data, err := testdata.ReadFile("testdata/" + n.Name())
		if err != nil {
			t.Fatal(err)
		}
		one := topic{name: n.Name()}
		for _, f := range txtar.Parse(data).Files {
			lines := strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			switch f.Name {
			case "talk":
				for i, line := range lines {
					role := []sessions.Role{sessions.RoleUser, sessions.RoleAssistant}[i%2]
					one.talk.Messages = append(one.talk.Messages, sessions.Message{Seq: int64(i + 1), Role: role, Content: line})
				}
			case "facts":
				for _, line := range lines {
					heading, text, _ := strings.Cut(line, ": ")
					one.facts = append(one.facts, fact{heading, text})
				}
			case "true":
				one.true = lines
			case "answers":
				one.answers = lines
			}
		}
		if len(one.facts) != 6 || len(one.true) < 4 || len(one.answers) < 3 || len(one.talk.Messages) < 8 {
			t.Fatalf("%s has %d facts, %d summaries, %d answers, %d messages", one.name, len(one.facts), len(one.true), len(one.answers), len(one.talk.Messages))
		}
		all = append(all, one)
	}
	return all
}

var headings = map[string]string{
	"goal": "Goal", "constraints": "Constraints", "progress": "Progress", "decisions": "Key decisions", "next": "Next steps", "context": "Critical context",
}

var translated = map[string][]string{
	"goal": {"Ziel", "Objectif", "目标", "Цель", "목표"}, "constraints": {"Einschränkungen", "Contraintes", "限制", "Ограничения", "제약"},
	"progress": {"Fortschritt", "Progrès", "进展", "Прогресс", "진행"}, "decisions": {"Entscheidungen", "Décisions", "决定", "Решения", "결정"},
	"next": {"Nächste Schritte", "Prochaines étapes", "下一步", "Дальше", "다음 단계"}, "context": {"Kontext", "Contexte", "背景", "Контекст", "맥락"},
}

// each writes the facts one by one.
func each(facts []fact, write func(i int, heading, text string) string) string {
	var b strings.Builder
	for i, f := range facts {
		b.WriteString(write(i, headings[f.heading], f.text) + "\n")
	}
	return strings.TrimSpace(b.String())
}

func plain(facts []fact) string {
	return each(facts, func(_ int, _, text string) string { return text })
}

func tag(s string) string { return "<summary>\n" + s + "\n</summary>" }

func ownLines(facts []fact) string {
	return each(facts, func(_ int, h, text string) string { return "## " + h + "\n" + text + "\n" })
}

func bold(facts []fact) string {
	return each(facts, func(_ int, h, text string) string { return "**" + h + ":** " + text })
}

func object(facts []fact, more string) string {
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	points := make([]string, len(facts))
	for i, f := range facts {
		points[i] = quoted(f.text)
	}
	return fmt.Sprintf(`{%s"summary": %s, "key_points": [%s]`, more, quoted(facts[0].text+" "+facts[len(facts)-1].text), strings.Join(points, ", "))
}

// forms are ways in which models write the same facts.
var forms = []struct {
	name   string
	format window.Format
	write  func(i int, facts []fact) string
}{
	{"own lines, in the tag", window.Sections, func(_ int, f []fact) string { return tag(ownLines(f)) }},
	{"own lines, bare", window.Sections, func(_ int, f []fact) string { return ownLines(f) }},
	{"bold labels, in the tag", window.Sections, func(_ int, f []fact) string { return tag(bold(f)) }},
	{"bold labels, bare", window.Sections, func(_ int, f []fact) string { return bold(f) }},
	{"marked labels", window.Sections, func(_ int, f []fact) string {
		return each(f, func(_ int, h, text string) string { return "## " + h + ": " + text })
	}},
	{"numbered, bold", window.Sections, func(_ int, f []fact) string {
		return tag(each(f, func(i int, h, text string) string { return fmt.Sprintf("%d. **%s**: %s", i+1, h, text) }))
	}},
	{"plain labels", window.Sections, func(_ int, f []fact) string {
		return tag(each(f, func(_ int, h, text string) string { return h + ": " + text }))
	}},
	{"capitals", window.Sections, func(_ int, f []fact) string {
		return each(f, func(_ int, h, text string) string { return strings.ToUpper(h) + "\n- " + text + "\n" })
	}},
	{"numbered headings", window.Sections, func(_ int, f []fact) string {
		return tag(each(f, func(i int, h, text string) string { return fmt.Sprintf("### %d. %s\n* %s", i+1, h, text) }))
	}},
	{"bullets with labels", window.Sections, func(_ int, f []fact) string {
		return each(f, func(_ int, h, text string) string { return "- **" + h + "**: " + text })
	}},
	{"translated headings", window.Sections, func(i int, f []fact) string {
		var b strings.Builder
		for _, one := range f {
			b.WriteString("## " + translated[one.heading][i%5] + "\n" + one.text + "\n\n")
		}
		return tag(b.String())
	}},
	{"headings of its own", window.Sections, func(_ int, f []fact) string {
		return tag("## Summary\n" + f[0].text + "\n\n## Key Points\n- " + strings.ReplaceAll(plain(f[1:]), "\n", "\n- "))
	}},
	{"no headings", window.Sections, func(_ int, f []fact) string { return tag(strings.ReplaceAll(plain(f), "\n", " ")) }},
	{"no headings, bare", window.Sections, func(_ int, f []fact) string { return strings.ReplaceAll(plain(f), "\n", " ") }},
	{"bullets", window.Sections, func(_ int, f []fact) string { return tag("- " + strings.ReplaceAll(plain(f), "\n", "\n- ")) }},
	{"fenced", window.Sections, func(_ int, f []fact) string { return "```markdown\n" + ownLines(f) + "\n```" }},
	{"fenced, with words around", window.Sections, func(_ int, f []fact) string {
		return "Here is the updated summary:\n\n```\n" + ownLines(f) + "\n```\n\nI have kept all names."
	}},
	{"words around the tag", window.Sections, func(_ int, f []fact) string {
		return "Sure, here it is.\n\n" + tag(bold(f)) + "\n\nLet me know if you need anything else!"
	}},
	{"thoughts", window.Sections, func(_ int, f []fact) string {
		return "<think>\nI have to write <summary> with the facts.\n</think>\n\n" + tag(ownLines(f))
	}},
	{"thoughts without a beginning", window.Sections, func(_ int, f []fact) string {
		return "Okay, the user wants a summary. Keep it short.\n</think>\n\n" + ownLines(f)
	}},
	{"thoughts in brackets", window.Sections, func(_ int, f []fact) string { return "[THINK]What matters?[/THINK]" + tag(bold(f)) }},
	{"channels", window.Sections, func(_ int, f []fact) string {
		return "<|channel|>analysis<|message|>We need headings.<|end|><|start|>assistant<|channel|>final<|message|>" + tag(ownLines(f)) + "<|return|>"
	}},
	{"an end that is not ours", window.Sections, func(_ int, f []fact) string { return tag(bold(f)) + "<|im_end|>" }},
	{"a tag that never ends", window.Sections, func(_ int, f []fact) string { return "<summary>" + ownLines(f) }},
	{"some N/A", window.Sections, func(_ int, f []fact) string {
		return tag(ownLines(f[:len(f)/2+1]) + "\n\n## Key decisions\nN/A\n\n## Next steps\nNone")
	}},
	{"concise", window.Concise, func(_ int, f []fact) string { return tag(plain(f[:2])) }},
	{"concise, bare", window.Concise, func(_ int, f []fact) string { return strings.ReplaceAll(plain(f), "\n", " ") }},
	{"concise, headed all the same", window.Concise, func(_ int, f []fact) string { return tag(bold(f)) }},
	{"concise, a line before", window.Concise, func(_ int, f []fact) string { return "Summary: " + strings.ReplaceAll(plain(f[:3]), "\n", " ") }},
	{"object", window.JSON, func(_ int, f []fact) string {
		return object(f, `"title": "T", "keywords": ["a"], `) + `, "key_facts": [], "sentiment": "neutral", "confidence": 7}`
	}},
	{"object in words, with a comma too many", window.JSON, func(_ int, f []fact) string {
		return "Here is the JSON:\n```json\n" + object(f, "") + ",}\n```\nThat is all."
	}},
	{"object of other types", window.JSON, func(_ int, f []fact) string {
		return "</think>" + object(f, `"Title": null, "keywords": "a, b", `) + `, "confidence": "high", "mood": {"x": 1}}`
	}},
	{"object in the tag", window.JSON, func(_ int, f []fact) string { return tag(object(f, `"title": "T", `) + "}") }},
}

// some returns some of the facts, different ones for each form.
func some(facts []fact, i int) []fact {
	chosen := slices.Clone(facts)
	if i%3 > 0 {
		at := (i * 5) % len(chosen)
		chosen = slices.Delete(chosen, at, at+1)
	}
	if i%4 == 3 {
		at := (i * 3) % len(chosen)
		chosen = slices.Delete(chosen, at, at+1)
	}
	return chosen
}

// judged is one answer to one conversation.
type judged struct {
	name   string
	format window.Format
	answer recap.Answer
	talk   recap.Source
	topic  string
}

func tasks(t *testing.T) map[window.Format]*recap.Task {
	t.Helper()
	all := make(map[window.Format]*recap.Task)
	for _, f := range []window.Format{window.Concise, window.Sections, window.JSON} {
		task, err := recap.NewTask(window.Compaction{Format: f})
		if err != nil {
			t.Fatal(err)
		}
		all[f] = task
	}
	return all
}

var textFormats = []window.Format{window.Sections, window.Concise}

// trueOnes returns good summaries of their conversations.
func trueOnes(t *testing.T) (all []judged) {
	for n, one := range topics(t) {
		for i, f := range forms {
			all = append(all, judged{f.name, f.format, recap.Answer{Text: f.write(n+i, some(one.facts, n+i)), Finish: "stop"}, one.talk, one.name})
		}
		for i, text := range one.true {
			format := textFormats[(n+i)%2]
			all = append(all, judged{fmt.Sprint("true ", i), format, recap.Answer{Text: text}, one.talk, one.name},
				judged{fmt.Sprint("true, in the tag ", i), format, recap.Answer{Text: tag(text)}, one.talk, one.name})
		}
	}
	return all
}

// falseOnes returns answers that must not replace messages.
func falseOnes(t *testing.T) (all []judged) {
	data, err := testdata.ReadFile("testdata/false.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "text one.\n")
	generic := strings.Split(rest, "\n%\n")
	talks := topics(t)
	for n, one := range talks {
		for i, text := range generic {
			text, isJSON := strings.CutPrefix(text, "[json]\n")
			format := textFormats[(n+i)%2]
			if isJSON {
				format = window.JSON
			}
			if (n+i)%3 == 0 {
				all = append(all, judged{fmt.Sprint("generic ", i, ": ", text), format, recap.Answer{Text: text}, one.talk, one.name})
			}
		}
		for i, text := range one.answers {
			format := textFormats[(n+i)%2]
			all = append(all, judged{fmt.Sprint("answer ", i, ": ", text), format, recap.Answer{Text: text}, one.talk, one.name},
				judged{fmt.Sprint("answer under a heading ", i, ": ", text), format, recap.Answer{Text: "## Goal\n" + text}, one.talk, one.name})
		}
		for i := range 4 {
			other := talks[(n+3*i+1)%len(talks)]
			f := forms[(n+7*i)%len(forms)]
			all = append(all, judged{"of " + other.name + ": " + f.name, f.format, recap.Answer{Text: f.write(n, other.facts)}, one.talk, one.name})
		}
		whole := tag(ownLines(one.facts))
		for name, a := range map[string]recap.Answer{
			"cut": {Text: whole, Finish: "length"}, "filtered": {Text: whole, Finish: "content_filter"},
			"marked": {Text: whole, Refused: true}, "with a call": {Text: whole, Called: true},
		} {
			all = append(all, judged{name, window.Sections, a, one.talk, one.name})
		}
	}
	return all
}

// TestCase18SummariesAreToldApart measures both errors: rejecting a true summary
// costs a call, and accepting a false one costs the messages it replaces.
func TestCase18SummariesAreToldApart(t *testing.T) {
	by := tasks(t)
	refused, believed := 0, 0
	yes, no := trueOnes(t), falseOnes(t)
	for _, c := range yes {
		if s, err := by[c.format].Read(c.answer, c.talk); err != nil || s.Text == "" {
			refused++
			t.Logf("refused: %s, %s: %v\n%s", c.topic, c.name, err, c.answer.Text)
		}
	}
	for _, c := range no {
		s, err := by[c.format].Read(c.answer, c.talk)
		var flaw *recap.Flaw
		switch {
		case err == nil:
			believed++
			t.Logf("believed: %s, %s", c.topic, c.name)
		case !errors.As(err, &flaw) || s.Text != "":
			t.Errorf("%s: Read() = %q, %v, want a flaw and nothing else", c.name, s.Text, err)
		}
	}
	t.Logf("%d of %d true summaries refused, %d of %d false ones believed", refused, len(yes), believed, len(no))
	if len(yes) < 300 || refused*100 > len(yes) {
		t.Errorf("%d of %d true summaries are rejected, want 1 %% of 300 and more at most", refused, len(yes))
	}
	if len(no) < 150 || believed*10 > len(no) {
		t.Errorf("%d of %d false summaries are accepted, want 10 %% of 150 and more at most", believed, len(no))
	}
}

// TestCase18RefusalsAreNone: refusals in 28 languages, one a line, are accepted in
// none of the conversations.
func TestCase18RefusalsAreNone(t *testing.T) {
	data, err := testdata.ReadFile("testdata/refusals.txt")
	if err != nil {
		t.Fatal(err)
	}
	task, all := tasks(t)[window.Concise], topics(t)
	tried := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		for _, one := range all {
			for _, text := range []string{line, tag(line)} {
				if s, err := task.Read(recap.Answer{Text: text}, one.talk); err == nil {
					t.Errorf("%s: Read(%q) = %q, want a flaw", one.name, text, s.Text)
				}
				tried++
			}
		}
	}
	if tried < 100*len(all) {
		t.Errorf("%d refusals tried, want many more", tried)
	}
}

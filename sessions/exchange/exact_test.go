package exchange_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// readOne returns the only conversation in text.
func readOne(t *testing.T, text string) conversation {
	t.Helper()
	r, err := exchange.NewReader(strings.NewReader(text), exchange.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(r)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %v, %v", text, all, err)
	}
	return all[0]
}

// refused fails the test unless text is refused with want in the error.
func refused(t *testing.T, text, want string) {
	t.Helper()
	r, err := exchange.NewReader(strings.NewReader(text+"\n"), exchange.Options{})
	if err == nil {
		_, err = readAll(r)
	}
	if !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), want) {
		t.Errorf("%.200s: %v, want it refused with %q", text, err, want)
	}
}

// Records of ours have no foreign fields. The error names the field and does not show its
// value.
func TestNamesInRecordsThatAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{"conversation":{"key":"x:1","mood":"glad"}}`:                          `line 1: unexpected content: "mood" is a name that this version does not know`,
		`{"messages":{"key":"x:1","messages":[{"role":"user","tone":"glad"}]}}`: `"tone" is a name that this version does not know`,
		`{"conversation":{"key":"x:1","` + strings.Repeat("ä", 1000) + `":1}}`:  `… is a name that this version does not know`,
		`{"conversation":{"key":"x:1","title":7}}`:                              `cannot unmarshal number`,
	} {
		refused(t, line, want)
	}
}

// A field with one of our names and another type is kept unchanged, and so is one that
// has more in it than ours.
func TestPartsOfOthers(t *testing.T) {
	c := readOne(t, `{"settings":{"theme":"dark"},"summaries":[{"text":"short","id":5}],"generations":[{"model":"m"}],"key":"x:1",
		"messages":[{"role":"user","content":"hi","usage":{"prompt_tokens":3},"attachments":[{"url":"u","type":"image"}]},
		{"role":"user","content":"ho","usage":{"input":3,"mood":1},"attachments":[{"kind":"image","theirs":1}]}]}`)
	fields := string(c.Settings.Metadata[sessions.FieldsName])
	for _, want := range []string{`"settings":{"theme":"dark"}`, `"summaries":[{"text":"short","id":5}]`, `"generations":[{"model":"m"}]`} {
		if !strings.Contains(fields, want) {
			t.Errorf("there is no %s in %s", want, fields)
		}
	}
	one, two := c.messages[0], c.messages[1]
	if string(one.Extra["usage"]) != `{"prompt_tokens":3}` || string(one.Extra["attachments"]) != `[{"url":"u","type":"image"}]` || one.Attachments != nil {
		t.Errorf("the first is %+v", one)
	}
	if two.Usage.Input != 3 || string(two.Extra["usage"]) != `{"input":3,"mood":1}` || two.Attachments != nil || string(two.Extra["attachments"]) != `[{"kind":"image","theirs":1}]` {
		t.Errorf("the second is %+v", two)
	}
}

package exchange_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/exchange"

	"github.com/google/go-cmp/cmp"
)

// readOne is the one conversation of text.
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

// Case 48: a name of ours in other letters is somebody else's: it takes the
// place of nothing, whatever it holds, and stays where it was.
func TestCase48NamesInOtherLettersInCalls(t *testing.T) {
	want := []sessions.ToolCall{{ID: "c1", Name: "look", Arguments: `{"at":1}`}}
	for name, call := range map[string]string{
		"an index":        `{"id":"c1","Id":"idx-0","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}`,
		"an odd index":    `{"id":"c1","ID":[0],"type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}`,
		"in the function": `{"id":"c1","type":"function","function":{"name":"look","NAME":"x","arguments":"{\"at\":1}","ARGUMENTS":"{}"}}`,
		"a function":      `{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"},"FUNCTION":{"name":"x"}}`,
		"a type":          `{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"},"TYPE":7}`,
		"flat":            `{"id":"c1","name":"look","NAME":"x","arguments":"{\"at\":1}","ARGUMENTS":9}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := readOne(t, `{"key":"x:1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[`+call+`]},{"role":"tool","tool_call_id":"c1","content":"done"}]}`)
			if diff := cmp.Diff(want, c.messages[1].ToolCalls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := string(c.messages[1].Extra["tool_calls"]); got != "["+call+"]" {
				t.Errorf("the original is %s", got)
			}
		})
	}
}

func TestNamesInOtherLettersInParts(t *testing.T) {
	c := readOne(t, `{"key":"x:1","messages":[{"role":"user","content":[{"type":"text","text":"hi","TEXT":"x"},{"type":"image_url","REFUSAL":"x","TYPE":"y"},{"type":"text","text":"ho","TEXT":4}]}]}`)
	if got := c.messages[0].Content; got != "hi\n[image_url]\nho" {
		t.Errorf("the content is %q", got)
	}
}

func TestNamesInOtherLettersInTheMetadataOfALog(t *testing.T) {
	c := readOne(t, `{"key":"x:1","KEY":"x:2","summary":"so far","Summary":"x","skip":1,"SKIP":"x","created_at":"2026-05-01T12:00:00Z","Created_At":"yesterday"}
{"role":"user","content":"hi"}
{"role":"assistant","content":"ho"}`)
	if c.Key.String() != "x:1" || c.Created.Year() != 2026 || len(c.Summaries) != 1 || c.Summaries[0].Text != "so far" || c.Summaries[0].CoversSeq != 1 {
		t.Errorf("it is %+v", c)
	}
	if got := string(c.Settings.Metadata[exchange.FieldsName]); got != `{"Created_At":"yesterday","KEY":"x:2","SKIP":"x","Summary":"x"}` {
		t.Errorf("theirs are %s", got)
	}
}

// refused reads text, which has to be refused with want in the error.
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

// Records of ours have no fields of others, and take none for ours. The error
// names what is odd, also where the decoder stumbled over its value, and does
// not show that.
func TestNamesInRecordsThatAreRefused(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for line, want := range map[string]string{
		`{"conversation":{"key":"x:1","KEY":"x:2"}}`:                                                        `line 1: unexpected content: its "conversation/KEY" is "key" in other letters`,
		`{"conversation":{"key":"x:1","KEY":7}}`:                                                            `its "conversation/KEY" is "key" in other letters`,
		`{"messages":{"key":"x:1","messages":[{"role":"user","content":"a"},{"role":"user","Content":9}]}}`: `its "messages/messages/1/Content" is "content" in other letters`,
		`{"messages":{"key":"x:1","messages":[{"role":"assistant","tool_calls":[{"id":"a","ID":"b"}]}]}}`:   `its "messages/messages/0/tool_calls/0/ID" is "id" in other letters`,
		`{"conversation":{"key":"x:1","mood":"glad"}}`:                                                      `its "conversation/mood" is a name that this version does not know`,
		`{"conversation":{"key":"x:1","` + long + `":1}}`:                                                   `…" is a name that this version does not know`,
		`{"conversation":{"key":"x:1","title":7}}`:                                                          `cannot unmarshal number`,
		`{"conversation":{"key":"x:1","title":"a","title":"b"}}`:                                            `its "conversation/title" stands there twice`,
		`{"conversation":{"key":"x:1"},"conversation":{"key":"x:2"}}`:                                       `its "conversation" stands there twice`,
	} {
		refused(t, line, want)
	}
}

// Of two values under one name one would be lost.
func TestNamesThatStandTwiceAreRefused(t *testing.T) {
	call := `{"key":"x:1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[%s]}]}`
	for text, want := range map[string]string{
		`{"key":"x:1","messages":[{"role":"user","content":"a","content":"b"}]}`:                         `message 1: unexpected content: its "content" stands there twice`,
		`{"key":"x:1","messages":[{"role":"user","content":"a","mood":1,"m\u006fod":2}]}`:                `its "mood" stands there twice`,
		`{"key":"x:1","key":"x:2","messages":[]}`:                                                        `its "key" stands there twice`,
		`{"key":"x:1","messages":[],"messages":[]}`:                                                      `its "messages" stands there twice`,
		`{"key":"x:1","messages":[],"settings":{"model":"a","model":"b"}}`:                               `its "settings/model" stands there twice`,
		`[{"role":"user","content":"a"},{"role":"user","content":"a","usage":{"input":1,"input":2}}]`:    `message 2: unexpected content: its "usage/input" stands there twice`,
		`[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]`:                            `its "content/0/text" stands there twice`,
		`[{"role":"user","role":"user","content":"a"}]`:                                                  `its "role" stands there twice`,
		strings.Replace(call, "%s", `{"id":"a","id":"b","function":{"name":"x","arguments":"{}"}}`, 1):   `its "tool_calls/0/id" stands there twice`,
		strings.Replace(call, "%s", `{"id":"a","function":{"name":"x","arguments":"{}","name":"y"}}`, 1): `its "tool_calls/0/function/name" stands there twice`,
		`{"role":"user","content":"hi"}` + "\n" + `{"role":"assistant","content":"a","content":"b"}`:     `line 2: unexpected content: its "content" stands there twice`,
		`{"key":"x:1","summary":"a","summary":"b"}` + "\n" + `{"role":"user","content":"hi"}`:            `stands there twice`,
	} {
		refused(t, text, want)
	}
	// What is kept as it was may hold what it likes.
	c := readOne(t, `{"key":"x:1","messages":[{"role":"user","content":"a","mood":{"x":1,"x":2}}]}`)
	if got := string(c.messages[0].Extra["mood"]); got != `{"x":1,"x":2}` {
		t.Errorf("theirs is %s", got)
	}
}

func TestNamesInOtherLettersInGoose(t *testing.T) {
	statements, err := os.ReadFile(filepath.Join("testdata", "goose.sql"))
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := openDatabase(t, made(t, string(statements)))
	for _, ours := range []string{`"type":"text"`, `"id":"t1"`, `"name":"weather"`, `"status":"success"`, `"agentVisible":false`} {
		name, _, _ := strings.Cut(ours, ":")
		with := strings.ReplaceAll(string(statements), ours, ours+`,`+strings.ToUpper(name)+`:null,`+strings.ToUpper(name)+`:{"x":1}`)
		if with == string(statements) {
			t.Errorf("there is no %s", ours)
		}
		got, _ := openDatabase(t, made(t, with))
		for i, c := range got {
			for j := range c.messages {
				c.messages[j].Extra = plain[i].messages[j].Extra // which has the originals
			}
			if diff := cmp.Diff([]any{plain[i].Summaries, plain[i].messages}, []any{c.Summaries, c.messages}); diff != "" {
				t.Errorf("with %s (-want +got):\n%s", name, diff)
			}
		}
	}
}

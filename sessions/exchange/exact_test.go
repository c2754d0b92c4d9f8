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

// Records of ours have no fields of others, and take none for ours.
func TestNamesInOtherLettersInRecordsAreRefused(t *testing.T) {
	for _, line := range []string{
		`{"conversation":{"key":"x:1","KEY":"x:2"}}`,
		`{"messages":{"key":"x:1","messages":[{"role":"user","content":"a","Content":"b"}]}}`,
		`{"messages":{"key":"x:1","messages":[{"role":"assistant","tool_calls":[{"id":"a","ID":"b"}]}]}}`,
	} {
		r, err := exchange.NewReader(strings.NewReader(line+"\n"), exchange.Options{})
		if err == nil {
			_, err = readAll(r)
		}
		if !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v, want it refused", line, err)
		}
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

package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/agent/mcp"
)

func TestFilter(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	note := func(method string) string { return `{"jsonrpc":"2.0","method":"notifications/` + method + `"}` + "\n" }
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}` + "\n"
	deep := func(levels int) string {
		return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}\n"
	}
	many := func(one string, n int) string { return `{"a":[` + strings.Repeat(one, n) + "0]}\n" }
	large := `{"a":"` + strings.Repeat("x", 1<<20-10) + `"}` + "\n"
	for name, test := range map[string]struct {
		out, want, dropped string
		err                error
	}{
		"messages":                  {message + "\r\n\n " + message, message + message, "", nil},
		"a banner":                  {"Welcome\n" + message + "12:00 \x1b[31mready\x1b[0m\n[1]\n", message, "Welcome|12:00 [31mready[0m|[1]", nil},
		"an end inside of a line":   {message + `{"jsonrpc"`, message, "", nil},
		"notes for a log":           {note("message") + message, message, "", nil},
		"a result that quotes one":  {`{"id":1,"result":"notifications/message"}` + "\n", `{"id":1,"result":"notifications/message"}` + "\n", "", nil},
		"a request":                 {`{"id":1,"method":"notifications/message"}` + "\n", `{"id":1,"method":"notifications/message"}` + "\n", "", nil},
		"a change of the list":      {note("tools/list_changed"), note("tools/list_changed"), "", nil},
		"a flood of progress":       {strings.Repeat(progress, 30), strings.Repeat(progress, 20), "", nil},
		"a flood of changes":        {strings.Repeat(note("tools/list_changed"), 30) + message, strings.Repeat(note("tools/list_changed"), 20) + message, "", nil},
		"a flood of questions":      {strings.Repeat(`{"id":"a","method":"ping"}`+"\n", 30), strings.Repeat(`{"id":"a","method":"ping"}`+"\n", 20), "", nil},
		"a flood in disguise":       {strings.Repeat(`{"id":"a","\u006dethod":"ping"}`+"\n", 30), strings.Repeat(`{"id":"a","method":"ping"}`+"\n", 20), "", nil},
		"as large as may be":        {large, large, "", nil},
		"too large":                 {message + strings.Replace(large, "x", "xxxxxxxxx", 1), message, "", mcp.ErrFrame},
		"too large without an end":  {strings.Repeat("x", 3<<20), "", "", mcp.ErrFrame},
		"as deep as may be":         {deep(100), deep(100), "", nil},
		"too deep":                  {deep(101), "", "", mcp.ErrDepth},
		"no JSON":                   {message + "{\"id\":1,\n" + message, message, "", mcp.ErrJSON},
		"as many values as may be":  {many("0,", 49_997), many("0,", 49_997), "", nil},
		"too many values":           {many("0,", 50_000), "", "", mcp.ErrMany},
		"too many objects":          {many("{},", 20_000), "", "", mcp.ErrMany},
		"notes without params":      {note("progress") + note("cancelled") + note("elicitation/complete") + message, message, "", nil},
		"what only clients ask":     {`{"id":1,"method":"completion/complete","params":{"ref":{}}}` + "\n", `{"id":1,"method":"completion/complete"}` + "\n", "", nil},
		"a question about nothing":  {`{"id":1,"method":"elicitation/create","params":[]}` + "\n", `{"id":1,"method":"elicitation/create"}` + "\n", "", nil},
		"a question in a list":      {`[{"id":1,"method":"ping"}]` + "\n", "", `[{"id":1,"method":"ping"}]`, nil},
		"a note with large params":  {strings.Replace(progress, "1", "1"+strings.Repeat(" ", 64<<10), 1), "", "", nil},
		"brackets in a text":        {`{"a":"` + strings.Repeat(`[\"`, 200) + "\"}\n", `{"a":"` + strings.Repeat(`[\"`, 200) + "\"}\n", "", nil},
		"no more than twenty lines": {strings.Repeat("a\n", 5) + strings.Repeat("b\n", 20), "", strings.Repeat("|b", 20)[1:], nil},
	} {
		passed, dropped, err := mcp.Filtered(test.out)
		if passed != test.want || strings.Join(dropped, "|") != test.dropped || !errors.Is(err, test.err) {
			t.Errorf("%s: %.200q, dropped %q, %v, want %.200q, dropped %q, %v", name, passed, dropped, err, test.want, test.dropped, test.err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("Welcome\n{}\n")
	f.Add("{\"method\":\"notifications/progress\"}\n\x00\n{[\"\\")
	f.Fuzz(func(t *testing.T, out string) {
		passed, dropped, _ := mcp.Filtered(out)
		for line := range strings.Lines(passed) {
			if !json.Valid([]byte(line)) || !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "\n") {
				t.Errorf("passed %q", line)
			}
		}
		for _, line := range dropped {
			if len(line) > 210 || !utf8.ValidString(line) || strings.ContainsAny(line, "\n\x00\x1b") {
				t.Errorf("dropped %q", line)
			}
		}
	})
}

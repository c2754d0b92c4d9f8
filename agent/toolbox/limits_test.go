package toolbox_test

import (
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/toolbox"
)

// What the prompt says that the model cannot do follows from the tools.
func TestCannot(t *testing.T) {
	spec := func(name, description string) agent.Spec { return agent.Spec{Name: name, Description: description} }
	everything := []agent.Spec{
		spec("remind", "Remind somebody."), spec("send_message", "Send a message to another chat."), spec("web_search", "Search the web."),
		spec("web_fetch", "Read a public web page."), spec("write_file", "Write a text file."), spec("remember", "Keep a fact."),
		spec("exec", "Run a command."), spec("paint__make", "Draw a picture."),
	}
	const all = "remind anybody of something or act later, write to other people or chats, search the web, open web pages, keep files, " +
		"remember anything beyond this conversation, run programs or make pictures"
	for name, test := range map[string]struct {
		tools []agent.Spec
		want  string // "" if nothing is missing
	}{
		"none":                   {nil, all},
		"one of a server":        {[]agent.Spec{spec("cal__add", "Set an alarm for a time.")}, strings.TrimPrefix(all, "remind anybody of something or act later, ")},
		"without the first":      {everything[1:], "remind anybody of something or act later"},
		"without the last":       {everything[:7], "make pictures"},
		"without two":            {everything[2:], "remind anybody of something or act later or write to other people or chats"},
		"a history is no search": {append([]agent.Spec{spec("search_history", "Search everything that was said.")}, append(everything[:2:2], everything[3:]...)...), "search the web"},
		"looking is not keeping": {
			append([]agent.Spec{
				{Name: "recall", Description: "Look up remembered facts.", Effect: agent.EffectRead},
				{Name: "change_job", Description: "Change a reminder.", Corrects: true},
			}, append(everything[1:5:5], everything[6:]...)...),
			"remind anybody of something or act later or remember anything beyond this conversation",
		},
		"a query is no program":   {append([]agent.Spec{spec("db__execute_query", "Execute a query.")}, append(everything[:6:6], everything[7:]...)...), "run programs"},
		"everything":              {everything, ""},
		"a name in other letters": {append(everything[:7:7], spec("MakeImage", "")), ""},
	} {
		want := ""
		if test.want != "" {
			want = "You cannot " + test.want + ": when you are asked to, say so, and never promise it."
		}
		if got := toolbox.Cannot(test.tools); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

package app_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/agenttest"
	"dragoman/agent/tokens"
	"dragoman/agent/tools"
)

// offered returns the names of the tools that a daemon with this configuration offers
// its model in a request, the request's system prompt, and what the daemon logged.
func offered(t *testing.T, agent string) (names []string, prompt, log string) {
	t.Helper()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}})
	r := newPlace(t, fmt.Sprintf("model: {type: openai, base_url: '%s', name: m}\nagent: %s", server.URL(), agent)).run()
	r.ask(r.page(""), "hello")
	requests := server.Requests()
	r.stop()
	last := requests[len(requests)-1]
	return last.Tools, last.Messages[0].Content, r.log.String()
}

// A built-in tool needs no more than its file: the model is offered each of them, in
// the order of their names. What agent.tools names counts, and a name that nothing
// offers is logged.
func TestOfferedTools(t *testing.T) {
	t.Parallel()
	const missing = "names tools that do not exist here"
	var always []string // what needs no configuration
	for _, tool := range tools.Builtin(tools.Needs{}) {
		if tool.Spec().Off == "" {
			always = append(always, tool.Spec().Name)
		}
	}
	for name, test := range map[string]struct {
		agent string
		want  []string
		logs  string
		// cannot is the beginning of what the prompt says that the model cannot do.
		cannot string
	}{
		"unset":                      {"{}", always, "", "You cannot write to other people or chats, search the web, run programs or make pictures:"},
		"some":                       {"{tools: [web_fetch, time]}", []string{"time", "web_fetch"}, "", "You cannot remind anybody of something or act later, write to other people or chats, search the web, keep files, "},
		"with a prompt of one's own": {"{tools: [remember], system_prompt: Rhyme.}", []string{"remember"}, "", "You cannot remind anybody of something or act later, "},
		"a table":                    {"{tools: {web_fetch: ask, time: deny}}", slices.DeleteFunc(slices.Clone(always), func(name string) bool { return name == "time" }), "", "You cannot write to other people"},
		"none":                       {"{tools: []}", nil, "", "You cannot remind anybody of something or act later, write to other people or chats, search the web, open web pages, "},
		"one that no server has":     {"{tools: [files__read, time]}", []string{"time"}, "files__read", "You cannot remind"},
		"one that is off":            {"{tools: [web_search, time]}", []string{"time"}, "", "You cannot remind"},
		"only such that none have":   {"{tools: [files__read]}", nil, "files__read", "You cannot remind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, prompt, log := offered(t, test.agent)
			if strings.Count(prompt, test.cannot) != 1 {
				t.Errorf("the prompt should say once %q:\n%s", test.cannot, prompt)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the model's tools (-want +got):\n%s", diff)
			}
			if said := strings.Contains(log, missing); said != (test.logs != "") || !strings.Contains(log, test.logs) {
				t.Errorf("the log should tell of %q only:\n%s", test.logs, log)
			}
		})
	}
}

// A wrong name of a built-in tool is a problem of the configuration.
func TestUnknownToolIsRefused(t *testing.T) {
	_, err := newPlace(t, "agent: {tools: [red_file]}").load()
	if err == nil || !strings.Contains(err.Error(), `did you mean "read_file"?`) {
		t.Errorf("load = %v, want the nearest name", err)
	}
}

// config.example.yaml lists every tool. UPDATE=1 writes the line.
func TestExampleNamesEveryTool(t *testing.T) {
	const path = "../../config.example.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^  # tools: \[.*\]$`)
	want := "  # tools: [" + strings.Join(tools.Names(), ", ") + "]"
	if string(line.Find(text)) == want {
		return
	}
	if os.Getenv("UPDATE") != "" {
		err := os.WriteFile(path, line.ReplaceAllLiteral(text, []byte(want)), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("config.example.yaml has not this line below agent (UPDATE=1 go test -run TestExampleNamesEveryTool ./internal/app writes it):\n%s", want)
}

// A first message with all built-in tools costs little: whoever pays for a small model pays
// for this each time.
func TestAHelloIsCheap(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}})
	r := newPlace(t, fmt.Sprintf("model: {type: openai, base_url: '%s', name: m}", server.URL())).run()
	r.ask(r.page(""), "hello")
	counter, err := tokens.Open("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	const most = 2000
	body := string(server.Requests()[0].Body)
	if n := counter.Count(body); n > most {
		t.Errorf("a hello costs %d tokens (%d bytes), want at most %d:\n%s", n, len(body), most, body)
	} else {
		t.Logf("a hello costs %d tokens, %d bytes", n, len(body))
	}
}

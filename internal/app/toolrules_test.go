package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
)

// ruled is a daemon with rules for tools, on Telegram and on the page.
type ruled struct {
	*running
	t     *testing.T
	model *agenttest.Server
	bot   *botapi.Server
	more  string // the configuration without the rules
}

const (
	annsID   = 7
	gardenID = -100200
)

func withRules(t *testing.T, rules string) *ruled {
	t.Helper()
	bot, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + strings.Repeat("TEST", 9)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	model := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}})
	more := fmt.Sprintf(`model: {type: openai, base_url: '%s', name: m, context_window: 100000, retries: 0}
mcp: {servers: {%s}}
channels: {telegram: {type: telegram, enabled: true, token: '%s', api_url: '%s', allow: ["%d"], poll_timeout: 1s}}
agents: {cook: {prompt: You cook., tools: {list_dir: deny, forget: allow, read_file: allow}}}
heartbeat: {jobs: [{name: morning, cron: "0 8 * * *", target: "web:kitchen", prompt: hi}]}
`, model.URL(), good(t, "good", ", tools: {echo: allow}"), bot.Token(), bot.URL(), annsID)
	return &ruled{newPlace(t, more+rules).run(), t, model, bot, more}
}

// offered is what the model was offered in its last request, and what its prompt says.
func (r *ruled) offered() (names []string, prompt string) {
	all := r.model.Requests()
	last := all[len(all)-1]
	return last.Tools, last.Messages[0].Content
}

// want checks what the model was offered. A name after a minus it must not have.
func (r *ruled) want(what string, names ...string) {
	r.t.Helper()
	got, _ := r.offered()
	for _, name := range names {
		name, without := strings.CutPrefix(name, "-")
		if slices.Contains(got, name) == without {
			r.t.Errorf("%s: the model was offered %q, and %s", what, got, name)
		}
	}
}

// hasServer waits until turns have the tools of the server.
func (r *ruled) hasServer() {
	r.t.Helper()
	r.until("the server to be known", func() bool {
		_, _ = api.TestToolServer.Call(r.t.Context(), r.admin, api.ToolServerName{Name: "good"})
		r.ask(r.page("first"), "hello")
		names, _ := r.offered()
		return slices.Contains(names, "good__echo")
	})
}

// calls has the model call a tool next, and then say something.
func (r *ruled) calls(tool, args string) {
	r.model.Next(agenttest.ToolReply(agenttest.ToolDelta{ID: "c1", Name: tool, Arguments: args}))
}

// Each place has its rules: what one denies is not offered, and what is ruled "ask" is asked
// about without a foreign word.
func TestRulesOfTools(t *testing.T) {
	t.Parallel()
	r := withRules(t, `agent:
  tools: {forget: deny, remember: ask, "good__e*": ask}
  tools_in:
    private: {search_history: deny}
    group: {remember: deny, time: deny}
    job: [time, list_dir]
    program: {"*": deny, web_fetch: allow, list_dir: allow}
bind:
  - {match: "web:kitchen", agent: cook, tools: {web_fetch: deny, remember: allow}}
  - {match: "web:k*", tools: {remember: ask, time: deny}}
  - {match: "telegram:-100200", tools: {"good__*": deny}}
`)
	r.hasServer()
	r.want("on the page", "remember", "time", "good__echo", "-forget", "-search_history")
	r.calls("good__echo", `{"text":"tulips"}`)
	if got := r.ask(r.page("a"), "say tulips"); !strings.Contains(got, "good__echo") {
		t.Errorf("a rule of agent.tools does not count before the server's: %q", got)
	}
	r.calls("remember", `{"text":"tulips"}`)
	if got := r.ask(r.page("b"), "keep it"); !strings.Contains(got, "May I run **remember**?") {
		t.Errorf("what is ruled ask is answered with %q", got)
	}
	kitchen := r.page("kitchen")
	r.ask(kitchen, "hello")
	r.want("where a persona is bound", "remember", "read_file", "-search_history", "-list_dir", "-web_fetch", "-time", "-forget")
	if _, prompt := r.offered(); !strings.HasPrefix(prompt, "You cook.") || !strings.Contains(prompt, "open web pages") {
		t.Errorf("the prompt does not say what it cannot do: %q", prompt)
	}
	r.calls("remember", `{"text":"salt"}`)
	if got := r.ask(kitchen, "keep salt"); strings.Contains(got, "a yes") {
		t.Errorf("the longest binding does not count: %q", got)
	}
	r.group()
	r.job()
	r.program()
	r.reloaded()
}

// says has Ann write on Telegram, and waits for an answer.
func (r *ruled) says(id int64, text string) {
	r.t.Helper()
	ann := botapi.Person(annsID, "Ann")
	before := len(r.bot.FromBot(id))
	chat := r.bot.Private(ann)
	if id < 0 {
		chat = r.bot.Supergroup(id, "Garden", false)
	}
	chat.Say(ann, text)
	r.until("an answer to "+text, func() bool { return len(r.bot.FromBot(id)) > before })
}

// group: what many read.
func (r *ruled) group() {
	r.t.Helper()
	r.says(annsID, "hello")
	r.want("in a private chat", "remember", "time", "good__echo", "-search_history", "-forget")
	r.says(gardenID, "@dragoman_bot hello")
	r.want("in a group", "search_history", "-remember", "-time", "-forget", "-good__echo")
	r.calls("time", "{}")
	r.says(gardenID, "@dragoman_bot what time is it")
	if got := lastOf(r.model); !strings.Contains(got, `error: there is no tool called "time"`) {
		r.t.Errorf("a call of a denied tool has the result %q", got)
	}
}

// job: nobody is there. It tells the kitchen, so what is denied there is denied to it.
func (r *ruled) job() {
	r.t.Helper()
	before := len(r.model.Requests())
	r.until("the job to run", func() bool {
		_ = api.RunJob.Call(r.t.Context(), r.admin, api.JobName{Name: "morning"})
		return len(r.model.Requests()) > before
	})
	if got, _ := r.offered(); len(got) > 0 {
		r.t.Errorf("a job that may have time and list_dir, for a chat without them, has %q", got)
	}
}

// program: one that keeps the conversation.
func (r *ruled) program() {
	r.t.Helper()
	s := speaker{r.running, r.token("program", "", "chat")}
	s.expect(200, "echo", messages("hello"))
	if got, _ := r.offered(); !slices.Equal(got, []string{"list_dir", "web_fetch"}) {
		r.t.Errorf("a program has %q", got)
	}
	own := `"tools":[{"type":"function","function":{"name":"%s"}}],"messages":[{"role":"user","content":"hello"}]}`
	s.expect(200, "echo", `{"model":"dragoman",`+fmt.Sprintf(own, "time"))
	s.expect(400, "A tool of Dragoman's own is called web_fetch", `{"model":"dragoman",`+fmt.Sprintf(own, "web_fetch"))
}

// reloaded: other rules count from the next turn on.
func (r *ruled) reloaded() {
	r.t.Helper()
	r.write(r.more + "agent: {tools: [time, forget, 'good__*'], tools_in: {private: {time: deny}}}\n")
	r.reload("reloaded")
	if strings.Contains(r.log.String(), "need a restart") {
		r.t.Errorf("the log asks for a restart:\n%s", r.log)
	}
	r.says(annsID, "hello again")
	if got, _ := r.offered(); len(got) == 0 || got[0] != "forget" || !strings.HasPrefix(strings.Join(got[1:], " "), "good__") {
		r.t.Errorf("after a reload the model is offered %q", got)
	}
}

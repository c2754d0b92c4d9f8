package app_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
)

// Without a configured model the environment chooses.
func TestModelFromTheEnvironment(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"text-embedding-3", "qwen-test"}, APIKey: "key-of-the-environment"})
	many := agenttest.Serve(t, agenttest.Options{Models: []string{"gpt-4.1-mini", "gpt-6-sol", "gpt-6-luna", "gpt-image-2"}, APIKey: "key-of-the-environment"})
	for _, tt := range []struct {
		name   string
		config string
		env    map[string]string
		model  string
		says   string
		asked  bool
	}{
		{
			"named", "model: {type: auto}",
			map[string]string{"OPENAI_BASE_URL": server.URL(), "OPENAI_API_KEY": "key-of-the-environment", "OPENAI_MODEL": "mine"},
			"mine", "OPENAI_MODEL names the model", true,
		},
		{
			"first listed", "model: {type: auto}",
			map[string]string{"OPENAI_BASE_URL": server.URL(), "OPENAI_API_KEY": "key-of-the-environment"},
			"qwen-test", "first model of its list", true,
		},
		{
			"by the table", "model: {type: auto}",
			map[string]string{"OPENAI_BASE_URL": many.URL(), "OPENAI_API_KEY": "key-of-the-environment"},
			"gpt-6-luna", "the small current model of its list (1 more will be shut down soon)", false,
		},
		{
			"a configured name", "model: {name: gpt-6-sol}",
			map[string]string{"OPENAI_BASE_URL": many.URL(), "OPENAI_API_KEY": "key-of-the-environment"},
			"gpt-6-sol", "Its window is 1050000 tokens (source: the table", false,
		},
		{
			"a configured key", "model: {api_key: key-of-the-environment, context_window: 9000}",
			map[string]string{"OPENAI_BASE_URL": many.URL(), "OPENAI_API_KEY": "another"},
			"gpt-6-luna", "Its window is 9000 tokens, as model.context_window says", false,
		},
		{
			"the configuration wins", "model: {type: demo}",
			map[string]string{"OPENAI_BASE_URL": server.URL(), "OPENAI_API_KEY": "key-of-the-environment"},
			"demo", "as model.type says", false,
		},
		{
			"and so does its address", "model: {base_url: '" + server.URL() + "', api_key: key-of-the-environment, name: configured}",
			map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_KEY": "other"},
			"configured", "as the configuration says", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newPlace(t, tt.config).run(func(o *app.Options) {
				o.Getenv = func(name string) string { return tt.env[name] }
			})
			if got := r.status().Model; got != tt.model {
				t.Errorf("model = %q, want %q", got, tt.model)
			}
			if report := strings.Join(strings.Fields(r.log.String()), " "); !strings.Contains(report, tt.says) {
				t.Errorf("the report lacks %q:\n%s", tt.says, r.log)
			}
			if strings.Contains(r.log.String(), "key-of-the-environment") {
				t.Errorf("the key is printed:\n%s", r.log)
			}
			if !tt.asked {
				return
			}
			if got := r.ask(r.page(""), "ping"); !strings.Contains(got, "echo: ping") {
				t.Errorf("the answer = %q, want the server's echo", got)
			}
			requests := server.Requests()
			if last := requests[len(requests)-1]; last.Model != tt.model {
				t.Errorf("the server was asked for %q, want %q", last.Model, tt.model)
			}
		})
	}
}

// While calls of the model fail, status says so and why; a call that goes well
// ends that. The key is in none of it.
func TestStatusKnowsTheModelFails(t *testing.T) {
	t.Parallel()
	const key = "key-that-nobody-sees"
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}, APIKey: key})
	r := newPlace(t, "model: {type: openai, base_url: '"+server.URL()+"', api_key: "+key+", name: m, retries: 0}").run()
	if got := r.status().ModelTrouble; got != nil {
		t.Errorf("before any call: %+v", got)
	}
	server.Next(agenttest.StatusReply(401, nil, `{"error": {"message": "Incorrect API key provided: `+key+`"}}`))
	page := r.page("")
	if got := r.ask(page, "hello"); !strings.Contains(got, "does not accept my key") || !strings.Contains(got, "model.api_key") || strings.Contains(got, key) {
		t.Errorf("the answer = %q", got)
	}
	got := r.status().ModelTrouble
	if got == nil || got.InARow != 1 || got.At.IsZero() || strings.Contains(got.Why, key) ||
		!strings.HasPrefix(got.Why, "HTTP 401: ") || !strings.Contains(got.Why, "Incorrect API key") {
		t.Errorf("status says %+v", got)
	}
	if got := r.ask(page, "again"); !strings.Contains(got, "again") {
		t.Errorf("the answer = %q", got)
	}
	if got := r.status().ModelTrouble; got != nil {
		t.Errorf("after a call that went well: %+v", got)
	}
}

// The models beside the configured one fail by themselves: status names each,
// until a call of it goes well.
func TestStatusKnowsOtherModelsFail(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	refuse := func(req *agenttest.Request) agenttest.Reply {
		if req.Model == "main" || well.Load() {
			return nil
		}
		return agenttest.StatusReply(404, nil, `{"error": {"message": "unknown model `+req.Model+`"}}`)
	}
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small", "named"}, Reply: refuse})
	r := newPlace(t, fmt.Sprintf(`
model: {type: openai, base_url: '%s', name: main, retries: 0, vision: no}
summary: {preset: picoclaw, trigger: {messages: 3}, keep: {n: 1}, model: {name: small}}
`, server.URL())).run()
	page := r.page("")
	for _, text := range []string{"one", "two", "three"} {
		r.ask(page, text)
	}
	failing := func() (list []string) {
		for _, t := range r.status().OtherTroubles {
			list = append(list, fmt.Sprintf("%s %d %s", t.Model, t.InARow, t.Why))
		}
		return list
	}
	r.until("the summary to fail", func() bool { return len(failing()) == 1 })
	named := "named"
	if _, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: channels.MustKey("web:default"), Model: &named}); err != nil {
		t.Fatal(err)
	}
	r.ask(page, "four")
	const cure = ". Correct its name where it is used: model.fallback, summary.model, a channel's models, or a conversation (dragoman sessions unset KEY model)."
	want := []string{"named 1 HTTP 404: the server says: unknown model named" + cure, "small 1 HTTP 404: the server says: unknown model small" + cure}
	if got := failing(); !slices.Equal(got, want) {
		t.Errorf("status tells of %q, want %q", got, want)
	}
	if got := r.status().ModelTrouble; got != nil {
		t.Errorf("of the model that answers it tells %+v", got)
	}
	well.Store(true)
	r.ask(page, "five")
	if got := failing(); len(got) != 1 || !strings.HasPrefix(got[0], "small ") {
		t.Errorf("after a call of named that went well status tells of %q", got)
	}
}

// A long conversation that changes to a model with a small window is summarised before that
// model is asked. Nothing is lost: the transcript has all of it, and the model reads the
// summary and the newest words.
func TestASmallerModelReadsASummaryFirst(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small"}, Reply: func(q *agenttest.Request) agenttest.Reply {
		if len(q.Tools) == 0 {
			return agenttest.TextReply("## Critical context\nThe person keeps bees and counts hives, part 1 to part 6.")
		}
		return nil
	}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0, others: [{name: small, context_window: 6000}]}`).run()
	page := r.page("")
	for i := range 6 {
		r.ask(page, fmt.Sprintf("part %d: ", i+1)+strings.Repeat("the person keeps bees and counts hives ", 60))
	}
	if got := r.ask(page, "/model small"); !strings.Contains(got, "what no longer fits is summarised first") {
		t.Errorf("/model says %q", got)
	}
	before := len(server.Requests())
	r.ask(page, "how many hives?")
	var models []string
	all := server.Requests()[before:]
	for _, q := range all {
		models = append(models, fmt.Sprintf("%s with %d tools", q.Model, min(len(q.Tools), 1)))
	}
	if want := []string{"main with 0 tools", "small with 1 tools"}; !slices.Equal(models[:min(2, len(models))], want) {
		t.Fatalf("the requests go to %q, want the summary before the answer: %q", models, want)
	}
	asked := string(all[1].Body)
	if !strings.Contains(asked, "part 1 to part 6") || !strings.Contains(asked, "how many hives?") || strings.Contains(asked, "part 1: ") {
		t.Errorf("the small model reads %.3000s", asked)
	}
	if said := strings.Join(textsOf(r, page), "\n"); strings.Count(said, "part 1: ") != 2 || strings.Count(said, "part 6: ") != 2 {
		t.Error("the transcript has lost something that was said")
	}
}

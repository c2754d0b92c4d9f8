package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
)

// sawRequest is what the model's server was asked last.
type sawRequest struct {
	Model    string
	Messages []struct{ Role, Content string }
	Tools    []struct{ Function struct{ Name string } }
}

func lastAsked(t *testing.T, server *agenttest.Server) (a sawRequest) {
	t.Helper()
	all := server.Requests()
	if err := json.Unmarshal(all[len(all)-1].Body, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// all is what it was told.
func (a sawRequest) all() string {
	var all strings.Builder
	for _, m := range a.Messages {
		all.WriteString(m.Content + "\n")
	}
	return all.String()
}

// tools are the names that were offered.
func (a sawRequest) tools() (names []string) {
	for _, t := range a.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// A persona has its prompt, its tools, its model and its memory, in the chats that bind it. A
// change of its file counts from the next turn on, and a reload of the configuration too.
func TestPersonas(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small"}})
	p := newPlace(t, "")
	soul := filepath.Join(p.dir, "SOUL.md")
	write := func(text string) {
		if err := os.WriteFile(soul, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("You are a pirate.")
	const bound = "bind: [{match: 'web:ship*', agent: [pirate, dragoman]}]\n"
	text := `model: {type: openai, base_url: "` + server.URL() + `", name: main, context_window: 100000, retries: 0, others: [{name: small}]}
agent: {prompt_facts: 5}
agents: {pirate: {prompt: "${file:SOUL.md}", model: small, tools: [time, remember], memory: own}}
`
	p.write(text + bound)
	r := p.run()
	ship, other := r.page("ship"), r.page("other")
	r.ask(ship, "ahoy")
	got := lastAsked(t, server)
	if got.Model != "small" || !strings.HasPrefix(got.Messages[0].Content, "You are a pirate.") || !slices.Equal(got.tools(), []string{"remember", "time"}) {
		t.Errorf("the pirate is asked as %s with %q and the tools %q", got.Model, got.Messages[0].Content, got.tools())
	}
	if !strings.Contains(got.Messages[0].Content, "open web pages") || strings.Contains(got.Messages[0].Content, "remember anything") {
		t.Errorf("the prompt does not say what these tools cannot do: %q", got.Messages[0].Content)
	}
	r.ask(other, "hello")
	if got := lastAsked(t, server); got.Model != "main" || !strings.HasPrefix(got.Messages[0].Content, "You are Dragoman") || len(got.Tools) < 10 {
		t.Errorf("elsewhere %s is asked with %q and %d tools", got.Model, got.Messages[0].Content, len(got.Tools))
	}
	if got := r.ask(ship, "/remember The gold is below."); !strings.Contains(got, "#1") {
		t.Errorf("/remember says %q", got)
	}
	write("You are a captain.")
	r.ask(ship, "again")
	if got := lastAsked(t, server); !strings.HasPrefix(got.Messages[0].Content, "You are a captain.") || !strings.Contains(got.all(), "The gold is below.") {
		t.Errorf("after a change of its file, and with something in its memory, it is asked with %q", got.Messages)
	}
	if got := r.ask(ship, "/agent dragoman"); got != "From the next answer on, dragoman writes here." {
		t.Errorf("/agent says %q", got)
	}
	r.ask(ship, "who are you")
	if got := lastAsked(t, server); !strings.HasPrefix(got.Messages[0].Content, "You are Dragoman") || strings.Contains(got.Messages[len(got.Messages)-1].Content, "gold") {
		t.Errorf("after the choice, it is asked with %q", got.Messages)
	}
	if s := r.status(); !slices.Equal(s.Agents, []string{"web:ship*: pirate, dragoman"}) {
		t.Errorf("the status shows %q", s.Agents)
	}
	key := channels.MustKey("web:ship")
	c, err := api.ReadConversation.Call(t.Context(), r.admin, api.About{Key: key})
	if err != nil || c.Agent != "dragoman" {
		t.Errorf("the conversation has the persona %q, %v", c.Agent, err)
	}
	nobody, pirate := "nobody", "pirate"
	_, err = api.Configure.Call(t.Context(), r.admin, api.Change{Key: key, Agent: &nobody})
	if err == nil || !strings.Contains(err.Error(), "nobody does not answer in this conversation; pirate, dragoman can") {
		t.Errorf("with one who is not there: %v", err)
	}
	if now, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: key, Agent: &pirate}); err != nil || now.Agent != "pirate" {
		t.Errorf("the settings are now %+v, %v", now, err)
	}
	p.write(text)
	r.reload("reloaded")
	write("You are a pirate again.")
	r.ask(other, "hello")
	if got := r.ask(other, "/agent"); !strings.HasPrefix(got, "Nobody else answers here") {
		t.Errorf("after the reload, /agent says %q", got)
	}
}

// Programs find each persona as a model of its own, with a conversation and without one.
func TestPersonasOfOpenAI(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small"}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0, others: [{name: small}]}
agents: {pirate: {prompt: You are a pirate., model: small, tools: [time]}, cook: {prompt: You are a cook.}}
bind: [{match: "web:galley", agent: cook}]
`).run()
	s := speaker{r, r.token("program", "", "chat")}
	var models struct{ Data []struct{ ID string } }
	no := r.request("GET", "/v1/models", s.token, "", &models)
	var names []string
	for _, m := range models.Data {
		names = append(names, m.ID)
	}
	if want := []string{"dragoman", "main", "small", "dragoman/cook", "dragoman/pirate"}; no != nil || !slices.Equal(names, want) {
		t.Errorf("the models are %q, %v, want %q", names, no, want)
	}
	var one struct{ ID string }
	if no := r.request("GET", "/v1/models/dragoman/pirate", s.token, "", &one); no != nil || one.ID != "dragoman/pirate" {
		t.Errorf("the model of a persona is %+v, %v", one, no)
	}
	body := func(model string) string {
		return `{"model":"` + model + `","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"ahoy"}]}`
	}
	isPirate := func(what string) {
		t.Helper()
		if got := lastAsked(t, server); got.Model != "small" || !strings.HasPrefix(got.Messages[0].Content, "You are a pirate.") || !slices.Equal(got.tools(), []string{"time"}) {
			t.Errorf("%s: %s is asked with %q and %q", what, got.Model, got.Messages[0].Content, got.tools())
		}
	}
	s.expect(200, `"model":"dragoman/pirate"`, body("dragoman/pirate"))
	isPirate("without a conversation")
	s.expect(200, "echo", body("dragoman"))
	if got := lastAsked(t, server); !strings.HasPrefix(got.Messages[0].Content, "You are Dragoman") || got.Model != "main" {
		t.Errorf("without a persona, %s is asked with %q", got.Model, got.Messages[0].Content)
	}
	s.expect(404, "model_not_found", body("dragoman/captain"))
	s.expect(200, "echo", body("dragoman/pirate"), "X-Session-Key", "web:ship")
	isPirate("in a conversation")
	s.expect(200, "echo", body("dragoman"), "X-Session-Key", "web:ship")
	isPirate("in the same conversation, which keeps it")
	s.expect(400, "pirate does not answer in this conversation; cook can", body("dragoman/pirate"), "X-Session-Key", "web:galley")
	list, err := api.Find.Call(t.Context(), r.admin, api.ConversationQuery{})
	if err != nil || !slices.ContainsFunc(list.Data, func(c api.Conversation) bool {
		return c.Agent == "pirate" && strings.HasSuffix(c.Key.String(), "ship")
	}) {
		t.Errorf("no conversation shows its persona: %+v, %v", list, err)
	}
}

// A repeat of a request is answered by the persona that took it, and changes nothing about who
// answers in the conversation now.
func TestARepeatChoosesNoPersona(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0}
agents: {pirate: {prompt: You are a pirate.}, cook: {prompt: You are a cook.}}
`).run()
	s := speaker{r, r.token("program", "", "chat")}
	body := func(agent, text string) string {
		return `{"model":"dragoman/` + agent + `","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	room := []string{"X-Session-Key", "web:ship"}
	key := []string{"X-Session-Key", "web:ship", "Idempotency-Key", "k1"}
	s.expect(200, "ahoy", body("pirate", "ahoy"), key...)
	s.expect(200, "hungry", body("cook", "hungry"), room...)
	if h := s.expect(200, "ahoy", body("pirate", "ahoy"), key...); h.Get("Idempotency-Replayed") != "true" {
		t.Error("the repeat is not marked")
	}
	s.expect(200, "and now", strings.Replace(body("", "and now"), "dragoman/", "dragoman", 1), room...)
	if got := lastAsked(t, server).Messages[0].Content; !strings.HasPrefix(got, "You are a cook.") {
		t.Errorf("after the repeat the prompt is %q, want the cook's", got)
	}
	without := []string{"Idempotency-Key", "k3"}
	for range 2 {
		s.expect(200, "alone", body("pirate", "alone"), without...)
	}
	if got := lastAsked(t, server).Messages[0].Content; !strings.HasPrefix(got, "You are a pirate.") {
		t.Errorf("without a conversation the prompt is %q, want the pirate's", got)
	}
}

// A persona's file in the workspace is refused, by the check and at the start.
func TestPersonaFilesAreOutOfReach(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	dir := filepath.Join(p.dir, "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SOUL.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("workspace: work\nagents: {pirate: {prompt: \"${file:work/SOUL.md}\"}}")
	if _, err := p.load(); err == nil || !strings.Contains(err.Error(), "its file is inside the workspace, so the model's tools could rewrite the persona") {
		t.Errorf("it is loaded with %v", err)
	}
}

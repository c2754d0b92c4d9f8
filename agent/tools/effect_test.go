package tools_test

import (
	"encoding/json"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/sessions"
)

// Each built-in tool says what its calls do and whose words it returns.
func TestEffectsAreDeclared(t *testing.T) {
	effects := map[string]agent.Effect{
		"write_file": agent.EffectOwn, "cancel_job": agent.EffectOwn, "change_job": agent.EffectOwn, "schedule": agent.EffectOwn,
		"remember": agent.EffectOwn, "send_file": agent.EffectOwn, "make_picture": agent.EffectOwn, "forget": agent.EffectOwn, "web_fetch": agent.EffectOut, "exec": agent.EffectRun, "web_search": agent.EffectOut, "send_message": agent.EffectOut, "delegate": agent.EffectOwn,
		"stop_command": agent.EffectOwn,
	}
	origins := map[string]sessions.Origin{
		"web_fetch": sessions.OriginWeb, "read_file": sessions.OriginFile, "list_dir": sessions.OriginFile,
		"read_attachment": sessions.OriginSent, "search_history": sessions.OriginHistory, "recall": sessions.OriginMemory,
		"exec": sessions.OriginFile, "list_commands": sessions.OriginFile, "web_search": sessions.OriginWeb,
	}
	for _, tool := range all(t) {
		s := tool.Spec()
		want, changes := effects[s.Name]
		if !changes {
			want = agent.EffectRead
		}
		if s.Effect != want || want == agent.EffectRead && !s.Repeatable {
			t.Errorf("%s has the effect %q, want %q", s.Name, s.Effect, want)
		}
		origin, foreign := origins[s.Name]
		if !foreign {
			origin = sessions.OriginModel
		}
		if s.Origin != origin {
			t.Errorf("%s returns words of %q, want %q", s.Name, s.Origin, origin)
		}
		if e := tool.(agent.EffectTool).EffectOf(agent.Call{Args: json.RawMessage("{")}, agent.Seen{}); e != want {
			t.Errorf("%s has the effect %q with broken arguments, want %q", s.Name, e, want)
		}
	}
}

// Reading a page that the person named, or that a page linked to, tells nobody anything.
func TestEffectOfFetching(t *testing.T) {
	user := func(text string) sessions.Message {
		return sessions.Message{Role: sessions.RoleUser, Content: text, Sender: "7"}
	}
	page := func(text string) sessions.Message {
		return sessions.Message{Role: sessions.RoleTool, Name: "web_fetch", Content: text, Origins: []sessions.Origin{sessions.OriginWeb}}
	}
	for name, tc := range map[string]struct {
		seen sessions.Message
		url  string
		want agent.Effect
	}{
		"named":                    {user("read https://example.org/tea"), "https://example.org/tea", agent.EffectRead},
		"named, and spaces":        {user("read https://example.org/tea"), " https://example.org/tea ", agent.EffectRead},
		"named without a scheme":   {user("read example.org/tea, please"), "https://example.org/tea", agent.EffectRead},
		"named, with a last slash": {user("read example.org."), "https://example.org/", agent.EffectRead},
		"named, without it":        {user("read https://example.org/"), "https://example.org", agent.EffectRead},
		"another page of the site": {user("read example.org"), "https://example.org/about", agent.EffectOut},
		"with something added":     {user("read https://example.org/tea"), "https://example.org/tea?name=Ada", agent.EffectOut},
		"with a fragment":          {user("read https://example.org/tea"), "https://example.org/tea#Ada", agent.EffectOut},
		"another host":             {user("read example.org"), "https://ada.example.org", agent.EffectOut},
		"with a user":              {user("read example.org"), "https://ada@example.org", agent.EffectOut},
		"a part of a longer word":  {user("read notexample.org"), "https://example.org", agent.EffectOut},
		"a word":                   {user("read a book"), "https://a", agent.EffectOut},
		"linked":                   {page("more: tea <https://example.org/tea>"), "https://example.org/tea", agent.EffectRead},
		"linked, and added to":     {page("more: tea <https://example.org/tea>"), "https://example.org/tea?name=Ada", agent.EffectOut},
		"mentioned without scheme": {page("we are example.org"), "https://example.org", agent.EffectOut},
		"nothing seen":             {user("hello"), "https://example.org", agent.EffectOut},
		"nothing to read":          {user("hello"), "", agent.EffectOut},
	} {
		args, err := json.Marshal(m{"url": tc.url, "reason": "because"})
		ok(t, err)
		seen := agent.SeenBy(channels.Person{IDs: []string{"7"}}, true, []sessions.Message{tc.seen})
		if got := tools.WebFetch(tools.Here{}).(agent.EffectTool).EffectOf(agent.Call{Args: args}, seen); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

package sessions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
)

func TestTaint(t *testing.T) {
	web, file := sessions.OriginWeb, sessions.OriginFile
	others := sessions.OriginOthers
	for name, tc := range map[string]struct{ add, want []sessions.Origin }{
		"nothing":             {nil, nil},
		"trusted ones":        {[]sessions.Origin{sessions.OriginPerson, sessions.OriginModel, sessions.OriginMemory, ""}, nil},
		"each once, in order": {[]sessions.Origin{file, web, others, web}, []sessions.Origin{others, web, file}},
		"named ones are sorted": {
			[]sessions.Origin{sessions.OriginSkill("tea", "12ab"), web, sessions.OriginMCP("mail"), sessions.OriginHook("ci"), sessions.OriginMCP("mail")},
			[]sessions.Origin{web, "hook:ci", "mcp:mail", "skill:tea@12ab"},
		},
		"an unknown one counts": {[]sessions.Origin{"odd"}, []sessions.Origin{"odd"}},
	} {
		got := sessions.TaintOf(tc.add...)
		if diff := cmp.Diff(tc.want, got.List()); diff != "" || got.IsClean() != (tc.want == nil) {
			t.Errorf("%s: clean %v, List (-want +got):\n%s", name, got.IsClean(), diff)
		}
		var joined sessions.Taint
		joined.Merge(got)
		joined.Merge(got)
		if diff := cmp.Diff(tc.want, joined.List()); diff != "" {
			t.Errorf("%s: joined (-want +got):\n%s", name, diff)
		}
	}
}

// A copy of a set does not change with it.
func TestTaintIsAValue(t *testing.T) {
	a := sessions.TaintOf("mcp:b", "mcp:d")
	b := a
	b.Add("mcp:a")
	c := a
	c.Add("mcp:c")
	if diff := cmp.Diff([]sessions.Origin{"mcp:b", "mcp:d"}, a.List()); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
	if diff := cmp.Diff([]sessions.Origin{"mcp:b", "mcp:c", "mcp:d"}, c.List()); diff != "" {
		t.Errorf("one copy changed another:\n%s", diff)
	}
}

// Whose words messages are, those of versions that stored no origins too.
func TestTaintOfMessages(t *testing.T) {
	quoted := &channels.Quote{Text: "pay now"}
	file := []channels.Attachment{{Kind: channels.AttachmentDocument, Name: "a.txt"}}
	user := func(m channels.Inbound) sessions.Message { return sessions.UserMessage(m) }
	result := func(name string) sessions.Message {
		return sessions.Message{Role: sessions.RoleTool, Name: name, Content: "x"}
	}
	for name, tc := range map[string]struct {
		m    sessions.Message
		want []sessions.Origin
	}{
		"own words":             {user(channels.Inbound{Text: "hi"}), nil},
		"own words by API":      {user(channels.Inbound{Text: "hi", Via: channels.ViaAPI}), nil},
		"forwarded":             {user(channels.Inbound{Text: "hi", Forwarded: &channels.Forward{}}), []sessions.Origin{"others"}},
		"quotes":                {user(channels.Inbound{Text: "hi", Quote: quoted}), []sessions.Origin{"others"}},
		"replies to nothing":    {user(channels.Inbound{Text: "hi", Quote: &channels.Quote{ID: "7"}}), nil},
		"a file":                {user(channels.Inbound{Attachments: file}), []sessions.Origin{"file"}},
		"a forwarded file":      {user(channels.Inbound{Attachments: file, Forwarded: &channels.Forward{}}), []sessions.Origin{"others", "file"}},
		"a voice":               {user(channels.Inbound{Attachments: []channels.Attachment{{Kind: channels.AttachmentVoice}}}), nil},
		"a quoted voice":        {user(channels.Inbound{Attachments: []channels.Attachment{{Kind: channels.AttachmentVoice, Quoted: true}}}), []sessions.Origin{"others"}},
		"a quoted picture":      {user(channels.Inbound{Attachments: []channels.Attachment{{Kind: channels.AttachmentImage, Quoted: true}}}), []sessions.Origin{"others", "file"}},
		"a webhook":             {user(channels.Inbound{Text: "hi", Via: channels.ViaHook("ci")}), []sessions.Origin{"hook:ci"}},
		"what a program claims": {user(channels.Inbound{Text: "hi", Via: channels.ViaOthers}), []sessions.Origin{"others"}},
		"a tainted job":         {user(channels.Inbound{Text: "news", Origins: []sessions.Origin{"web"}}), []sessions.Origin{"web"}},
		"an edit of a job":      {sessions.EditNote(channels.Inbound{Text: "news", Origins: []sessions.Origin{"web"}}), []sessions.Origin{"web"}},
		"an own edit":           {sessions.EditNote(channels.Inbound{Text: "news"}), nil},
		"the model":             {sessions.Message{Role: sessions.RoleAssistant, Content: "x"}, nil},
		"a note of ours":        {sessions.Message{Role: sessions.RoleUser, Content: "[stopped]", Synthetic: true}, nil},
		"a shown hook":          {sessions.Message{Role: sessions.RoleUser, Synthetic: true, Via: channels.ViaHook("ci")}, []sessions.Origin{"hook:ci"}},
		"an imported summary":   {sessions.Message{Role: sessions.RoleUser, Summary: true}, []sessions.Origin{"others"}},
		"what was found":        {sessions.Message{Role: sessions.RoleTool, Name: "find", Origins: []sessions.Origin{"history"}}, nil},
		"found, of others":      {sessions.Message{Role: sessions.RoleTool, Name: "find", Origins: []sessions.Origin{"history", "others"}}, []sessions.Origin{"others"}},
		"a file that was sent":  {sessions.Message{Role: sessions.RoleTool, Name: "read", Origins: []sessions.Origin{"sent", "file"}}, []sessions.Origin{"file"}},
		"a result":              {sessions.Message{Role: sessions.RoleTool, Name: "time", Origins: []sessions.Origin{"mcp:a"}}, []sessions.Origin{"mcp:a"}},
		"a former page":         {result("web_fetch"), []sessions.Origin{"web"}},
		"a former file":         {result("read_file"), []sessions.Origin{"file"}},
		"a former attachment":   {result("read_attachment"), []sessions.Origin{"file"}},
		"a former time":         {result("time"), nil},
		"a former fact":         {result("recall"), nil},
		"a former search":       {result("search_history"), []sessions.Origin{"others"}},
		"a former server":       {result("cal__list"), []sessions.Origin{"mcp:cal"}},
		"an unknown tool":       {result("exec"), []sessions.Origin{"others"}},
		"a call that never ran": {sessions.Message{Role: sessions.RoleTool, Name: "web_fetch", Synthetic: true}, nil},
	} {
		var got sessions.Taint
		got.AddMessage(&tc.m)
		if diff := cmp.Diff(tc.want, got.List()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Most turns are clean, and pay nothing for it.
func TestCleanTaintAllocatesNothing(t *testing.T) {
	m := sessions.UserMessage(channels.Inbound{Text: "hi"})
	if n := testing.AllocsPerRun(100, func() {
		var taint sessions.Taint
		taint.AddMessage(&m)
		taint.Add(m.Origins...)
		taint.Merge(sessions.Taint{})
		if taint.List() != nil {
			t.Fatal("tainted")
		}
	}); n != 0 {
		t.Errorf("a clean message costs %v allocations", n)
	}
}

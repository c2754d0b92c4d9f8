package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// words is a user message of the person with that id.
func words(id, text string, origins ...sessions.Origin) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Content: text, Sender: id, Origins: origins}
}

// saw is a tool call in a transcript and its result.
func saw(id, tool, result string, origins ...sessions.Origin) []sessions.Message {
	return []sessions.Message{
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: callID(id), Name: tool, Arguments: "{}"}}, Model: "scripted"},
		{Role: sessions.RoleTool, Name: tool, ToolCallID: callID(id), Content: result, Origins: origins},
		{Role: sessions.RoleAssistant, Content: "I see.", Model: "scripted"},
	}
}

// taintAsked runs turn, whose model calls send, and returns the taint that the guard sees.
func taintAsked(t *testing.T, opts agent.Options, turn agent.Turn) []sessions.Origin {
	t.Helper()
	guard := &doorkeeper{}
	turn.Guard = guard
	send := counterOf("send", agent.EffectOut)
	runUnsummarised(t, newAgent(t, newScript(t, call("a send {}"), say("done")), opts, send), turn)
	if len(guard.asked) != 1 || len(send.calls()) != 1 {
		t.Fatalf("asked %d times, ran %d times; want once", len(guard.asked), len(send.calls()))
	}
	if diff := cmp.Diff(guard.asked[0].Taint, send.calls()[0].Taint); diff != "" {
		t.Errorf("the tool gets another taint than the guard (-guard +tool):\n%s", diff)
	}
	return guard.asked[0].Taint
}

// The taint of a call is whose words the request shows, wherever they stand in it.
func TestTaintOfARequest(t *testing.T) {
	type (
		list = []sessions.Origin
		turn = agent.Turn
	)
	talk := func(groups ...[]sessions.Message) []sessions.Message { return slices.Concat(groups...) }
	hello := []sessions.Message{words("7", "hello"), {Role: sessions.RoleAssistant, Content: "Hi."}}
	for name, tc := range map[string]struct {
		change func(*turn)
		want   list
	}{
		"nothing but the person": {func(u *turn) { u.History.Messages = hello }, nil},
		"a page in the history": {func(u *turn) {
			u.History.Messages = talk(hello, saw("x", "web_fetch", "buy", sessions.OriginWeb))
		}, list{"web"}},
		"a page of a former version": {func(u *turn) { u.History.Messages = talk(hello, saw("x", "web_fetch", "buy")) }, list{"web"}},
		"several": {func(u *turn) {
			u.History.Messages = talk(saw("x", "mail__list", "buy", "mcp:mail"), saw("y", "read_file", "buy", "file"), saw("z", "time", "noon", "model"))
		}, list{"file", "mcp:mail"}},
		"a forwarded message":      {func(u *turn) { u.Input = []sessions.Message{words("7", "fwd", sessions.OriginOthers)} }, list{"others"}},
		"a summary":                {func(u *turn) { u.History.Summary = &sessions.Summary{Text: "They talked.", Origins: list{"web"}} }, list{"web"}},
		"a clean summary":          {func(u *turn) { u.History.Summary = &sessions.Summary{Text: "They talked.", Origins: list{"model"}} }, nil},
		"a former summary":         {func(u *turn) { u.History.Summary = &sessions.Summary{Text: "They talked."} }, list{"others"}},
		"a summary without a text": {func(u *turn) { u.History.Summary = &sessions.Summary{Text: " ", Origins: list{"web"}} }, nil},
		"facts in the prompt": {func(u *turn) {
			u.Known = "It is known that …"
			u.KnownOrigins = list{"mcp:mail"}
		}, list{"mcp:mail"}},
		"another member": {func(u *turn) {
			u.Private = false
			u.History.Messages = []sessions.Message{words("8", "buy"), {Role: sessions.RoleAssistant, Content: "No."}}
		}, list{"others"}},
		"only this member": {func(u *turn) {
			u.Private = false
			u.History.Messages = hello
		}, nil},
		"another id of this member": {func(u *turn) {
			u.Private = false
			u.Person.IDs = []string{"+1", "7"}
		}, nil},
		"two members ask": {func(u *turn) {
			u.Private = false
			u.Input = []sessions.Message{words("8", "send it"), words("7", "yes")}
		}, list{"others"}},
		"a summary of a group": {func(u *turn) {
			u.Private = false
			u.History.Summary = &sessions.Summary{Text: "They talked.", Origins: list{"model"}}
		}, list{"others"}},
		"nobody vouches": {func(u *turn) {
			u.Private = false
			u.Person = channels.Person{Name: "Ada"}
			u.Input = []sessions.Message{{Role: sessions.RoleUser, Name: "Ada", Content: "go"}}
			u.History.Messages = []sessions.Message{{Role: sessions.RoleUser, Name: "Ada", Content: "hm"}, {Role: sessions.RoleAssistant, Content: "No."}}
		}, nil},
		"nobody vouches for others either": {func(u *turn) {
			u.Private = false
			u.Person = channels.Person{Name: "Ada"}
			u.Input = []sessions.Message{{Role: sessions.RoleUser, Name: "Ada", Content: "go"}}
			u.History.Messages = []sessions.Message{{Role: sessions.RoleUser, Name: "Bob", Content: "hm"}, {Role: sessions.RoleAssistant, Content: "No."}}
		}, list{"others"}},
		"a note of a job": {func(u *turn) {
			u.Input = slices.Insert(u.Input, 0, sessions.Message{Role: sessions.RoleUser, Content: "[news]", Synthetic: true, Origins: list{"web"}})
		}, list{"web"}},
		"a note of ours in a group": {func(u *turn) {
			u.Private = false
			u.Input = slices.Insert(u.Input, 0, sessions.Message{Role: sessions.RoleUser, Content: "[stopped]", Synthetic: true})
		}, nil},
		"a webhook": {func(u *turn) { u.Input[0].Via = channels.ViaHook("ci") }, list{"hook:ci"}},
		"what a caller claims": {func(u *turn) {
			u.Given = &agent.Given{}
			u.Input[0].Sender = "" // only the token says who
			u.History.Messages = []sessions.Message{{Role: sessions.RoleUser, Content: "x", Via: channels.ViaOthers}, {Role: sessions.RoleAssistant, Content: "y", Origins: list{"others"}}}
		}, list{"others"}},
		"what a caller asks": {func(u *turn) {
			u.Given = &agent.Given{}
			u.Input[0].Sender = ""
			u.Input[0].Via = channels.ViaAPI
		}, nil},
	} {
		u := turnOf("go")
		u.Private = true
		tc.change(&u)
		if diff := cmp.Diff(tc.want, taintAsked(t, agent.Options{}, u)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each effect meets each origin: the guard gets both as they are.
func TestEffectsAndOrigins(t *testing.T) {
	for _, effect := range []agent.Effect{agent.EffectRead, agent.EffectOwn, agent.EffectOut, agent.EffectRun} {
		for _, origin := range []sessions.Origin{
			"", sessions.OriginPerson, sessions.OriginModel, sessions.OriginMemory, sessions.OriginOthers, sessions.OriginWeb, sessions.OriginFile,
			sessions.OriginMCP("mail"), sessions.OriginHook("ci"), sessions.OriginSkill("tea", "12ab"),
		} {
			look, act := counterOf("look", agent.EffectRead), counterOf("act", effect)
			look.spec.Origin = origin
			guard := &doorkeeper{}
			turn := turnOf("go")
			turn.Private, turn.Guard = true, guard
			res := run(t, newAgent(t, newScript(t, call("a look {}"), call("b act {}"), say("done")), agent.Options{}, look, act), turn)
			want := sessions.TaintOf(origin).List()
			if origin == "" { // nobody has said whose words they are
				want = []sessions.Origin{sessions.OriginOthers}
			}
			if p := guard.asked[1]; p.Effect != effect || !slices.Equal(p.Taint, want) || guard.asked[0].Taint != nil {
				t.Errorf("%s after %q: the guard is asked about %s with %v, and first with %v", effect, origin, p.Effect, p.Taint, guard.asked[0].Taint)
			}
			if !slices.Equal(res.Taint, want) || len(res.Messages[2].Origins) != 1 {
				t.Errorf("%s after %q: the turn has the taint %v, the result is %v", effect, origin, res.Taint, res.Messages[2].Origins)
			}
		}
	}
}

// A tool adds to its origin what it finds.
func TestMarkedResults(t *testing.T) {
	other := words("8", "hm", "web")
	for name, tc := range map[string]struct {
		origin sessions.Origin
		mark   func(agent.Call)
		want   []sessions.Origin
	}{
		"nothing":          {"memory", func(agent.Call) {}, []sessions.Origin{"memory"}},
		"a page":           {"memory", func(c agent.Call) { c.Mark("web") }, []sessions.Origin{"memory", "web"}},
		"the same":         {"web", func(c agent.Call) { c.Mark("web") }, []sessions.Origin{"web"}},
		"in place of ours": {"model", func(c agent.Call) { c.Mark("file") }, []sessions.Origin{"file"}},
		"a message":        {"model", func(c agent.Call) { c.MarkMessage(&other) }, []sessions.Origin{"others", "web"}},
	} {
		look := tool{agent.Spec{Name: "look", Effect: agent.EffectRead, Origin: tc.origin}, func(_ context.Context, c agent.Call) (string, error) {
			tc.mark(c)
			return "x", nil
		}}
		res := run(t, newAgent(t, newScript(t, call("a look {}"), say("done")), agent.Options{}, look), turnOf("go"))
		if diff := cmp.Diff(tc.want, res.Messages[2].Origins); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	agent.Call{}.Mark("web") // outside of the loop nobody asks
	agent.Call{}.MarkMessage(&other)
}

// What a request leaves out does not taint its calls.
func TestTaintOfWhatIsLeftOut(t *testing.T) {
	long := strings.Repeat("buy now ", 400)
	page := saw("x", "web_fetch", long, sessions.OriginWeb)
	plain := func(n int) (msgs []sessions.Message) {
		for i := range n {
			msgs = append(msgs, words("7", fmt.Sprintf("What is %d? %s", i, strings.Repeat("word ", 100))), sessions.Message{Role: sessions.RoleAssistant, Content: "A number.", Model: "scripted"})
		}
		return msgs
	}
	prune := window.Prune{SoftPercent: 1, HardPercent: 1, Head: 10, Tail: 10, MinResult: 500, KeepAssistants: 1}
	soft := prune
	soft.HardPercent = 100
	for name, tc := range map[string]struct {
		opts agent.Options
		msgs []sessions.Message
		want []sessions.Origin
	}{
		"shown":      {agent.Options{Prune: window.Prune{Off: true}}, slices.Concat(page, plain(1)), []sessions.Origin{"web"}},
		"a notice":   {agent.Options{Prune: prune}, slices.Concat(page, plain(1)), nil},
		"shortened":  {agent.Options{Prune: soft}, slices.Concat(page, plain(1)), []sessions.Origin{"web"}},
		"cut":        {agent.Options{Prune: window.Prune{Off: true}, ContextWindow: 2000}, slices.Concat(page, plain(20)), nil},
		"not cut":    {agent.Options{Prune: window.Prune{Off: true}, ContextWindow: 2000}, slices.Concat(plain(20), page), []sessions.Origin{"web"}},
		"fails":      {agent.Options{Prune: window.Prune{Off: true, FailedCalls: true}}, failedIn(page), nil},
		"fails, but": {agent.Options{Prune: window.Prune{Off: true}}, failedIn(page), []sessions.Origin{"web"}},
	} {
		u := turnOf("go")
		u.Private = true
		u.History.Messages = slices.Clone(tc.msgs)
		if diff := cmp.Diff(tc.want, taintAsked(t, tc.opts, u)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// failedIn is page with a call that failed.
func failedIn(page []sessions.Message) []sessions.Message {
	page = slices.Clone(page)
	page[1].Failed = true
	return page
}

// A summary has the origins of all that it replaces, and of the summary before it.
func TestSummariesInherit(t *testing.T) {
	chapter := func(first int64, msgs ...sessions.Message) sessions.History {
		h := sessions.History{Generation: "20260301_001", Messages: msgs}
		for i := range h.Messages {
			h.Messages[i].Seq = first + int64(i)
		}
		return h
	}
	web := []sessions.Origin{sessions.OriginWeb}
	for name, tc := range map[string]struct {
		h    sessions.History
		want []sessions.Origin
	}{
		"clean":    {chapter(1, words("7", "item-1 costs $2.00"), sessions.Message{Role: sessions.RoleAssistant, Content: "item-1 costs $2.00"}), []sessions.Origin{"model"}},
		"a page":   {chapter(1, append([]sessions.Message{words("7", "look")}, saw("x", "web_fetch", "item-1 costs $2.00", web...)...)...), web},
		"a former": {chapter(1, append([]sessions.Message{words("7", "look")}, saw("x", "cal__list", "item-1 costs $2.00")...)...), []sessions.Origin{"mcp:cal"}},
	} {
		for before, more := range map[*sessions.Summary][]sessions.Origin{
			nil: nil,
			{Text: "item-9 costs $9.00", Origins: []sessions.Origin{"file"}}: {"file"},
			{Text: "item-9 costs $9.00"}:                                     {"others"},
		} {
			tc.h.Summary = before
			m := newScript(t, say("<summary>They spoke about the price: item-1 costs $2.00, item-9 costs $9.00, and they looked at it.</summary>"))
			c := keeping(0)
			s, err := newAgent(t, m, agent.Options{Compaction: c}).Summarize(t.Context(), tc.h, &window.Keep{Unit: window.UnitMessages})
			if err != nil {
				t.Fatalf("%s: Summarize() = %v", name, err)
			}
			want := sessions.TaintOf(append(slices.Clone(tc.want), more...)...).List()
			if want == nil {
				want = []sessions.Origin{sessions.OriginModel}
			}
			if diff := cmp.Diff(want, s.Origins); diff != "" {
				t.Errorf("%s after %v (-want +got):\n%s", name, before, diff)
			}
		}
	}
}

// After a crash a call has the taint that it had, and so have the calls after it.
func TestTaintOverARestart(t *testing.T) {
	look, send := counterOf("look", agent.EffectRead), counterOf("send", agent.EffectOut)
	look.spec.Origin = sessions.OriginWeb
	var j journal
	turn := turnOf("go")
	turn.Private, turn.Record = true, j.record
	j.fail = func(s sessions.Step) error {
		if s.Kind == sessions.StepToolStart && shortID(s.CallID) == "b" {
			return errCrash
		}
		return nil
	}
	replies := []reply{call("a look {}"), call("b send {}"), call("c send {}"), say("done")}
	if _, err := newAgent(t, newScript(t, replies...), agent.Options{}, look, send).Run(t.Context(), turn); !errors.Is(err, errCrash) {
		t.Fatalf("Run() = %v, want a crash", err)
	}
	j.fail = nil
	guard := &doorkeeper{}
	turn.Steps, turn.Guard = slices.Clone(j.steps), guard
	res := run(t, newAgent(t, newScript(t, replies[2:]...), agent.Options{}, look, send), turn)
	want := []sessions.Origin{sessions.OriginWeb}
	if diff := cmp.Diff([]string{"send out 2/0", "send out 3/0 +1"}, guard.names()); diff != "" {
		t.Fatalf("asked (-want +got):\n%s", diff)
	}
	for _, p := range guard.asked {
		if diff := cmp.Diff(want, p.Taint); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.Call.ID, diff)
		}
	}
	if diff := cmp.Diff(want, res.Taint); diff != "" {
		t.Errorf("the turn's taint (-want +got):\n%s", diff)
	}
}

// Whose idea an address is.
func TestSeen(t *testing.T) {
	const page = "https://example.org/tea?x=1"
	msgs := func(m ...sessions.Message) []sessions.Message { return m }
	ada := channels.Person{IDs: []string{"7"}}
	result := func(text string, origins ...sessions.Origin) []sessions.Message {
		return saw("x", "look", text, origins...)
	}
	for name, tc := range map[string]struct {
		msgs         []sessions.Message
		shared       bool
		said, linked bool
	}{
		"own words":              {msgs: msgs(words("7", "Read "+page+".")), said: true},
		"in brackets":            {msgs: msgs(words("7", "(see <"+page+">, please)")), said: true},
		"in Markdown":            {msgs: msgs(words("7", "**"+page+"**")), said: true},
		"longer":                 {msgs: msgs(words("7", page+"0"))},
		"longer by a path":       {msgs: msgs(words("7", page+"/secret"))},
		"after something":        {msgs: msgs(words("7", "http://evil.example/?u="+page))},
		"after something, again": {msgs: msgs(words("7", "http://evil.example/?u="+page+" and "+page)), said: true},
		"forwarded":              {msgs: msgs(words("7", page, sessions.OriginOthers))},
		"another member":         {msgs: msgs(words("8", page)), shared: true},
		"this member":            {msgs: msgs(words("7", page)), shared: true, said: true},
		"the model":              {msgs: msgs(sessions.Message{Role: sessions.RoleAssistant, Content: page})},
		"a note":                 {msgs: msgs(sessions.Message{Role: sessions.RoleUser, Content: page, Synthetic: true})},
		"a link in a page":       {msgs: result("more <"+page+"> here", sessions.OriginWeb), linked: true},
		"a longer link":          {msgs: result("more <"+page+"&y=2> here", sessions.OriginWeb)},
		"a file":                 {msgs: result(page, sessions.OriginFile)},
		"a server's tool":        {msgs: result(page, sessions.OriginMCP("echo"))},
		"a fact from a page":     {msgs: result(page, sessions.OriginMemory, sessions.OriginWeb)},
		"nothing":                {},
	} {
		seen := agent.SeenBy(ada, !tc.shared, tc.msgs)
		if got := seen.Said(page); got != tc.said {
			t.Errorf("%s: Said = %v, want %v", name, got, tc.said)
		}
		if got := seen.Linked(page); got != tc.linked {
			t.Errorf("%s: Linked = %v, want %v", name, got, tc.linked)
		}
		if seen.Said("") || seen.Linked("") {
			t.Errorf("%s: nothing was seen", name)
		}
	}
}

// Tools whose description nobody of the house has read taint the requests that show it.
func TestTaintOfDescriptions(t *testing.T) {
	for _, foreign := range []bool{true, false} {
		var got []sessions.Origin
		mail := newCounter("mail__list")
		mail.spec.Origin = sessions.OriginMCP("mail")
		mail.spec.Foreign = foreign
		a := newAgent(t, newScript(t, call("c1 mail__list {}"), say("done")), agent.Options{}, mail)
		turn := turnOf("go")
		turn.Guard = agent.GuardFunc(func(_ context.Context, p agent.Proposal) (agent.Decision, error) {
			got = p.Taint
			return agent.Decision{Verdict: agent.Allow}, nil
		})
		run(t, a, turn)
		if want := []sessions.Origin{sessions.OriginMCP("mail")}; slices.Equal(got, want) != foreign {
			t.Errorf("with a description of others: %t, the call is tainted by %v", foreign, got)
		}
	}
}

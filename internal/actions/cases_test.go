package actions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/sessions"
)

// A question is asked, something happens, and the turn goes on.
func TestCases(t *testing.T) {
	tests := []struct {
		name string
		// before the question
		given func(*world)
		// the first answer of the guard; "" is "ask"
		first string
		// between the question and the turn that goes on; nil: nothing
		then func(*world)
		// what the guard says then; not looked at if first is set
		want string
	}{
		{name: "nobody has answered yet", want: "ask"},
		{name: "allowed", then: yes, want: "run"},
		{name: "denied", then: no, want: denied},
		{name: "allowed by its code in small letters", then: func(w *world) {
			w.answer(ann, strings.ToLower(w.question().Code), actions.AllowOnce)
		}, want: "run"},
		{name: "allowed by its id", then: func(w *world) { w.answer(ann, w.question().ID, actions.AllowOnce) }, want: "run"},
		{name: "allowed by its id from the API", then: func(w *world) {
			o, err := w.book.Decide(w.t.Context(), ann, actions.Ref{Text: w.question().ID}, actions.AllowOnce)
			if err != nil || o.Result != actions.Decided {
				w.t.Errorf("Decide = %+v, %v", o, err)
			}
		}, want: "run"},
		{name: "allowed by the operator", then: func(w *world) {
			w.gives(actions.Who{Channel: "web", IDs: []string{"operator"}, Operator: true}, actions.AllowOnce, actions.Decided)
		}, want: "run"},
		{name: "a wrong person", then: func(w *world) { w.gives(bob, actions.AllowOnce, actions.NotYours) }, want: "ask"},
		{name: "a wrong person denies", then: func(w *world) { w.gives(bob, actions.Deny, actions.NotYours) }, want: "ask"},
		{name: "the same number on another network", then: func(w *world) {
			w.gives(actions.Who{Channel: "irc", IDs: []string{"42"}}, actions.AllowOnce, actions.NotYours)
		}, want: "ask"},
		{name: "somebody without an identity", then: func(w *world) {
			w.gives(actions.Who{Channel: "telegram", Name: "Ann"}, actions.AllowOnce, actions.NotYours)
		}, want: "ask"},
		{name: "somebody with an empty identity", then: func(w *world) {
			w.gives(actions.Who{Channel: "telegram", IDs: []string{""}}, actions.AllowOnce, actions.NotYours)
		}, want: "ask"},
		{name: "a wrong code", then: wrongCodes(1), want: "ask"},
		{name: "four wrong codes, and the right one", then: func(w *world) {
			wrongCodes(4)(w)
			yes(w)
		}, want: "run"},
		{name: "five wrong codes", then: wrongCodes(5), want: closed},
		{name: "ten wrong codes of somebody else", then: func(w *world) {
			for range 10 {
				w.answer(bob, otherCode(w), actions.AllowOnce)
			}
		}, want: "ask"},
		{name: "ten words that are no codes", then: func(w *world) {
			for range 10 {
				w.answer(ann, "K0QM", actions.AllowOnce)
			}
		}, want: "ask"},
		{name: "in time, at the last second", then: func(w *world) {
			w.later(10*time.Minute - time.Second)
			yes(w)
		}, want: "run"},
		{name: "too late", then: func(w *world) {
			code := w.question().Code
			w.later(10 * time.Minute)
			if o := w.answer(ann, code, actions.AllowOnce); o.Result != actions.Before || o.Question.State != actions.Expired {
				w.t.Errorf("a late answer has the outcome %+v", o)
			}
		}, want: expired},
		{name: "never", then: func(w *world) { w.later(10 * time.Minute) }, want: expired},
		{name: "another time to wait", given: func(w *world) { w.o.For = time.Hour }, then: func(w *world) { w.later(59 * time.Minute) }, want: "ask"},
		{name: "allowed, and the turn goes on a day later", then: func(w *world) {
			yes(w)
			w.later(24 * time.Hour)
		}, want: tooOld},
		{name: "the arguments have changed", then: func(w *world) {
			yes(w)
			w.call.Args = `{"url":"https://example.net/?q=secret"}`
		}, want: changed},
		{name: "an argument was added", then: func(w *world) {
			yes(w)
			w.call.Args = `{"url":"https://example.org/?q=secret","raw":true}`
		}, want: changed},
		{name: "the arguments are written in another way", then: func(w *world) {
			yes(w)
			w.call.Args = " {\n \"url\" : \"https:\\/\\/example.org\\/?q=\\u0073ecret\" }"
		}, want: "run"},
		{name: "another tool", then: func(w *world) {
			yes(w)
			w.call.Tool = "send"
		}, want: changed},
		{name: "another requester", then: func(w *world) {
			yes(w)
			w.who = bob
		}, want: changed},
		{name: "another conversation after /new", then: func(w *world) {
			yes(w)
			w.turn.Generation = "20261128_002"
		}, want: changed},
		{name: "/new while nobody has answered", then: func(w *world) { w.turn.Generation = "20261128_002" }, want: changed},
		{name: "another policy", then: func(w *world) {
			yes(w)
			w.rules = map[string]agent.Rule{"web_fetch": agent.RuleAsk}
		}, want: changed},
		{name: "other approvers", then: func(w *world) {
			yes(w)
			w.o.Approvers = []string{"telegram:7"}
			w.open()
		}, want: changed},
		{name: "a file of the call has changed", given: func(w *world) { w.files = []agent.File{{Name: "run.sh", Hash: "aa"}} }, then: func(w *world) {
			yes(w)
			w.files = []agent.File{{Name: "run.sh", Hash: "bb"}}
		}, want: changed},
		{name: "a file of the call is gone", given: func(w *world) { w.files = []agent.File{{Name: "run.sh", Hash: "aa"}} }, then: func(w *world) {
			yes(w)
			w.files = []agent.File{{Name: "run.sh"}}
		}, want: changed},
		{name: "the files of the call are the same", given: func(w *world) {
			w.files = []agent.File{{Name: "run.sh", Hash: "aa"}, {Name: "lib.sh", Hash: "bb"}}
		}, then: func(w *world) {
			yes(w)
			w.files = []agent.File{{Name: "lib.sh", Hash: "bb"}, {Name: "run.sh", Hash: "aa"}}
		}, want: "run"},
		{name: "a restart before the answer", then: func(w *world) {
			code := w.question().Code
			w.open()
			if got := w.said(); got != "ask" || w.question().Code != code {
				w.t.Errorf("after a restart it says %q, with the code %s, want the question with %s", got, w.question().Code, code)
			}
			yes(w)
		}, want: "run"},
		{name: "a restart after the answer", then: func(w *world) {
			yes(w)
			w.open()
		}, want: "run"},
		{name: "killed after it was marked as used", then: func(w *world) {
			yes(w)
			if got := w.said(); got != "run" {
				w.t.Errorf("the allowed call: %q", got)
			}
			w.open()
		}, want: interrupted},
		{name: "killed after the model was told of the no", then: func(w *world) {
			no(w)
			if got := w.said(); got != denied {
				w.t.Errorf("the denied call: %q", got)
			}
			w.open()
		}, want: denied},
		{name: "the same call again after a no", then: func(w *world) {
			no(w)
			w.said()
			w.call.ID = "c2"
		}, want: deniedAgain},
		{name: "another call after a no", then: func(w *world) {
			no(w)
			w.said()
			w.call.ID = "c2"
			w.call.Args = `{"url":"https://example.org/"}`
		}, want: "ask"},
		{name: "the same call in another turn after a no", then: func(w *world) {
			no(w)
			w.said()
			w.turn.ID = "telegram:42#9"
		}, want: "ask"},
		{name: "the same call again after a yes", then: func(w *world) {
			yes(w)
			w.said()
			w.call.ID = "c2"
		}, want: "ask"},
		{name: "a fourth question in one turn", then: func(w *world) {
			for _, id := range []string{"c2", "c3"} {
				no(w)
				w.said()
				w.call.ID = id
				w.call.Args = fmt.Sprintf(`{"url":"https://%s.example.org"}`, id)
				w.said()
			}
			no(w)
			w.said()
			w.call.ID = "c4"
			w.call.Args = `{"url":"https://c4.example.org"}`
		}, want: "error: not run: at most 3 questions may be asked in one turn. Tell the person what you would have done."},
		{name: "a fourth question in one chat", given: func(w *world) {
			for i := range 3 {
				w.turn.ID = fmt.Sprint("telegram:42#9", i)
				if got := w.said(); got != "ask" {
					w.t.Errorf("question %d: %q", i, got)
				}
			}
			w.turn.ID = "telegram:42#99"
		}, first: "error: not run: too many questions wait for an answer in this chat"},
		{name: "closed by /stop", then: func(w *world) { w.close(nil) }, want: closed},
		{name: "not closed while its turn waits", then: func(w *world) { w.close(map[string]bool{"in/telegram:42/1": true}) }, want: "ask"},
		{name: "answered after /stop", then: func(w *world) {
			code := w.question().Code
			w.close(nil)
			if o := w.answer(ann, code, actions.AllowOnce); o.Result != actions.Before || o.Question.State != actions.Closed {
				w.t.Errorf("an answer after /stop has the outcome %+v", o)
			}
		}, want: closed},
		{name: "the record is gone, as after a restore", then: func(w *world) {
			w.forget()
			w.turn.Asked = func(call string) bool { return call == "c1" }
		}, want: lost},
		{name: "in a group, without approvers", given: (*world).inGroup, first: noDecider},
		{name: "in a group, by an approver", given: withApprovers, then: func(w *world) { w.gives(bob, actions.AllowOnce, actions.Decided) }, want: "run"},
		{name: "in a group, by the requester who is no approver", given: withApprovers, then: func(w *world) { w.gives(ann, actions.AllowOnce, actions.NotYours) }, want: "ask"},
		{name: "in a group, by the requester with approve: self", given: withSelf, then: func(w *world) { w.gives(ann, actions.AllowOnce, actions.Decided) }, want: "run"},
		{name: "in a group, by another member with approve: self", given: withSelf, then: func(w *world) { w.gives(bob, actions.AllowOnce, actions.NotYours) }, want: "ask"},
		{name: "in a group, approvers count more than approve: self", given: func(w *world) {
			withApprovers(w)
			w.o.Self = true
			w.open()
		}, then: func(w *world) { w.gives(ann, actions.AllowOnce, actions.NotYours) }, want: "ask"},
		{name: "in a group, an anonymous administrator who asked", given: func(w *world) {
			withSelf(w)
			w.who = actions.Who{Channel: "telegram", IDs: []string{"-100"}}
		}, first: noDecider},
		{name: "in a group, an anonymous administrator who answers", given: func(w *world) {
			withApprovers(w)
			w.o.Approvers = append(w.o.Approvers, "telegram:-100")
			w.open()
		}, then: func(w *world) {
			w.gives(actions.Who{Channel: "telegram", IDs: []string{"-100"}}, actions.AllowOnce, actions.NotYours)
		}, want: "ask"},
		{name: "on IRC, without an account", given: func(w *world) {
			w.turn.Chat = channels.MustKey("irc:ann")
			w.who = actions.Who{Channel: "irc", IDs: []string{"mask:ann!a@host"}}
		}, first: noDecider},
		{name: "on IRC, through a bridge", given: func(w *world) {
			w.turn.Chat = channels.MustKey("irc:ann")
			w.who = actions.Who{Channel: "irc", IDs: []string{"bridge:relay/ann"}}
		}, first: noDecider},
		{name: "on IRC, with an account", given: func(w *world) {
			w.turn.Chat = channels.MustKey("irc:ann")
			w.who = actions.Who{Channel: "irc", IDs: []string{"account:ann", "mask:ann!a@host"}}
		}, then: func(w *world) {
			w.gives(actions.Who{Channel: "irc", IDs: []string{"mask:ann!a@host"}}, actions.AllowOnce, actions.NotYours)
			w.gives(actions.Who{Channel: "irc", IDs: []string{"account:ann"}}, actions.AllowOnce, actions.Decided)
		}, want: "run"},
		{name: "an approver answers a group's question in their private chat", given: withApprovers, then: func(w *world) {
			o, err := w.book.Decide(w.t.Context(), bob, actions.Ref{Chat: channels.MustKey("telegram:7"), Text: w.question().Code, Private: true}, actions.AllowOnce)
			if err != nil || o.Result != actions.Decided {
				w.t.Errorf("Decide = %+v, %v", o, err)
			}
		}, want: "run"},
		{name: "an approver answers a group's question in another group", given: withApprovers, then: func(w *world) {
			o, err := w.book.Decide(w.t.Context(), bob, actions.Ref{Chat: channels.MustKey("telegram:-5"), Text: w.question().Code}, actions.AllowOnce)
			if err != nil || o.Result != actions.NoSuch {
				w.t.Errorf("Decide = %+v, %v", o, err)
			}
		}, want: "ask"},
		{name: "somebody else answers a group's question in their private chat", given: withApprovers, then: func(w *world) {
			o, err := w.book.Decide(w.t.Context(), ann, actions.Ref{Chat: private, Text: w.question().Code, Private: true}, actions.AllowOnce)
			if err != nil || o.Result != actions.NoSuch {
				w.t.Errorf("Decide = %+v, %v", o, err)
			}
		}, want: "ask"},
		{name: "nobody is there", given: func(w *world) { w.turn.Nobody = true }, first: nobody},
		{name: "arguments that are there twice", given: func(w *world) { w.call.Args = `{"url":"a","URL":"b"}` }, first: "error: not run: actions: read arguments: an argument is there twice"},
		{name: "arguments that are no object", given: func(w *world) { w.call.Args = `[1]` }, first: "error: not run: actions: read arguments: they are not one JSON object"},
		{name: "two objects", given: func(w *world) { w.call.Args = `{} {}` }, first: "error: not run: actions: read arguments: they are not one JSON object"},
		{name: "another rule for another tool", then: func(w *world) {
			yes(w)
			w.rules = map[string]agent.Rule{"write_file": agent.RuleAsk}
		}, want: "run"},
		{name: "denied by a rule", given: func(w *world) {
			w.rules = map[string]agent.Rule{"web_fetch": agent.RuleDeny}
		}, first: "error: not run: the configuration forbids this tool"},
		{name: "always, after foreign words", then: func(w *world) { w.gives(ann, actions.AllowAlways, actions.NotAlways) }, want: "ask"},
		{name: "always, of a clean call", given: withAsk, then: func(w *world) { w.gives(ann, actions.AllowAlways, actions.Decided) }, want: "run"},
		{name: "always, for another turn after /new", given: withAsk, then: func(w *world) {
			w.gives(ann, actions.AllowAlways, actions.Decided)
			w.turn.ID = "telegram:42#9"
			w.turn.Generation = "20261128_002"
		}, want: "run"},
		{name: "always, and then after foreign words", given: withAsk, then: func(w *world) {
			w.gives(ann, actions.AllowAlways, actions.Decided)
			w.turn.ID = "telegram:42#9"
			w.call.Origins = []sessions.Origin{"web"}
		}, want: "ask"},
		{name: "always, and then with other arguments", given: withAsk, then: func(w *world) {
			w.gives(ann, actions.AllowAlways, actions.Decided)
			w.turn.ID = "telegram:42#9"
			w.call.Args = `{"url":"https://example.org/"}`
		}, want: "ask"},
		{name: "always, and revoked", given: withAsk, then: func(w *world) {
			w.gives(ann, actions.AllowAlways, actions.Decided)
			list, err := w.book.Standings(w.t.Context(), private)
			if err != nil || len(list) != 1 || list[0].By != "telegram:42" || list[0].Tool != "web_fetch" {
				w.t.Fatalf("Standings = %+v, %v", list, err)
			}
			if err := w.book.Revoke(w.t.Context(), private, list[0].ID); err != nil {
				w.t.Fatal(err)
			}
			w.turn.ID = "telegram:42#9"
		}, want: "ask"},
		{name: "always, of a program", given: func(w *world) {
			w.call.Effect = agent.EffectRun
			w.call.Origins = nil
		}, then: func(w *world) { w.gives(ann, actions.AllowAlways, actions.NotAlways) }, want: "ask"},
		{name: "always, and then when nobody is there", given: withAsk, then: func(w *world) {
			w.gives(ann, actions.AllowAlways, actions.Decided)
			w.turn.ID = "telegram:42#9"
			w.turn.Nobody = true
		}, want: "run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.given != nil {
				tt.given(w)
				w.open()
			}
			first := tt.first
			if first == "" {
				first = "ask"
			}
			if got := w.said(); got != first {
				t.Fatalf("first the guard says %q, want %q", got, first)
			}
			if tt.first != "" {
				return
			}
			if tt.then != nil {
				tt.then(w)
			}
			if got := w.said(); got != tt.want {
				t.Errorf("then the guard says %q, want %q", got, tt.want)
			}
		})
	}
}

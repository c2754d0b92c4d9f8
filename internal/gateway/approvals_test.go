package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// A person is asked, says something, and the turn goes on.
func TestAnswersOfPeople(t *testing.T) {
	group := "-1"
	tests := []struct {
		name string
		set  func(*asking)
		// group: the question is asked in a group, by person 1
		group bool
		say   func(a *asking, code string)
		// what ran, and what the model read; "" if it still waits
		ran, read string
	}{
		{name: "nobody answers", say: func(a *asking, _ string) { time.Sleep(9 * time.Minute) }},
		{name: "nobody answers in time", say: func(a *asking, _ string) { time.Sleep(10*time.Minute + time.Second) }, read: lateCall},
		{name: "/allow", say: func(a *asking, code string) { a.say("1", "/allow "+code) }, ran: "c1", read: "done"},
		{name: "/allow in small letters", say: func(a *asking, code string) { a.say("1", "/allow "+strings.ToLower(code)) }, ran: "c1", read: "done"},
		{name: "/deny", say: func(a *asking, code string) { a.say("1", "/deny "+code) }, read: deniedCall},
		{name: "/always after foreign words", say: func(a *asking, code string) { a.say("1", "/always "+code) }},
		{name: "/allow without a code", say: func(a *asking, _ string) { a.say("1", "/allow") }},
		{name: "/allow with another code", say: func(a *asking, _ string) { a.say("1", "/allow 1111") }},
		{name: "the words", say: func(a *asking, code string) { a.say("1", "Allow "+code) }, ran: "c1", read: "done"},
		{name: "the words for no", say: func(a *asking, code string) { a.say("1", "deny "+code) }, read: deniedCall},
		{name: "yes alone", say: func(a *asking, _ string) { a.say("1", "yes") }},
		{name: "allow alone", say: func(a *asking, _ string) { a.say("1", "allow") }},
		{name: "a forwarded yes", say: func(a *asking, code string) {
			m := a.message("1", "/allow "+code)
			m.Forwarded = &channels.Forward{Name: "Bob"}
			a.hand(m)
		}},
		{name: "forwarded words", say: func(a *asking, code string) {
			m := a.message("1", "allow "+code)
			m.Forwarded = &channels.Forward{Name: "Bob"}
			a.hand(m)
		}},
		{name: "an edited message", say: func(a *asking, code string) {
			m := a.say("1", "hm")
			m.ID = "edit"
			m.Edits = m.MessageID
			m.Text = "/allow " + code
			a.hand(m)
		}},
		{name: "a reply to the question", say: func(a *asking, _ string) { a.hand(a.reply("1", "allow")) }, ran: "c1", read: "done"},
		{name: "a reply that denies", say: func(a *asking, _ string) { a.hand(a.reply("1", "Deny")) }, read: deniedCall},
		{name: "a reply with the code", say: func(a *asking, code string) { a.hand(a.reply("1", code)) }, ran: "c1", read: "done"},
		{name: "a reply with another code", say: func(a *asking, _ string) { a.hand(a.reply("1", "1111")) }},
		{name: "a reply to another message", say: func(a *asking, _ string) {
			m := a.reply("1", "allow")
			m.Quote.ID = "n1"
			a.hand(m)
		}},
		{name: "a forwarded reply", say: func(a *asking, _ string) {
			m := a.reply("1", "allow")
			m.Forwarded = &channels.Forward{}
			a.hand(m)
		}},
		{name: "a thumb", say: func(a *asking, _ string) {
			m := a.reply("1", "reacted")
			m.Reaction = "👍🏽"
			a.hand(m)
		}, ran: "c1", read: "done"},
		{name: "a thumb for a program", set: runs, say: func(a *asking, _ string) {
			m := a.reply("1", "reacted")
			m.Reaction = "👍"
			a.hand(m)
		}},
		{name: "a reply for a program", set: runs, say: func(a *asking, _ string) { a.hand(a.reply("1", "allow")) }, ran: "c1", read: "done"},
		{name: "a heart", say: func(a *asking, _ string) {
			m := a.reply("1", "reacted")
			m.Reaction = "❤️"
			a.hand(m)
		}},
		{name: "a button", say: func(a *asking, _ string) {
			if say := a.press(a.message("1", ""), "allow"); say != "" {
				a.t.Errorf("the press shows %q", say)
			}
		}, ran: "c1", read: "done"},
		{name: "a button for no", say: func(a *asking, _ string) { a.press(a.message("1", ""), "deny") }, read: deniedCall},
		{name: "a button twice", say: func(a *asking, _ string) {
			a.press(a.message("1", ""), "allow")
			if say := a.press(a.message("1", ""), "deny"); say != "Nothing has changed: mail was settled before (allowed by P1 at 00:00)." {
				a.t.Errorf("the second press shows %q", say)
			}
		}, ran: "c1", read: "done"},
		{name: "/allow twice", say: func(a *asking, code string) {
			a.say("1", "/allow "+code)
			synctest.Wait()
			a.say("1", "/allow "+code)
			synctest.Wait()
			if got := a.last("1"); got != "Nothing has changed: mail was settled before (allowed by P1 at 00:00)." {
				a.t.Errorf("the second /allow says %q", got)
			}
		}, ran: "c1", read: "done"},
		{name: "the same command again, as after a crash", say: func(a *asking, code string) {
			m := a.say("1", "/allow "+code)
			a.hand(m)
		}, ran: "c1", read: "done"},
		{name: "/stop", say: func(a *asking, _ string) { a.say("1", "/stop") }},
		{name: "/stop, and then /allow", say: func(a *asking, code string) {
			a.say("1", "/stop")
			synctest.Wait()
			a.say("1", "/allow "+code)
			synctest.Wait()
			if got := a.last("1"); got != "Nothing has changed: mail was settled before (closed at 00:00)." {
				a.t.Errorf("/allow after /stop says %q", got)
			}
		}},
		{name: "/new, and then /allow", say: func(a *asking, code string) {
			a.say("1", "/new")
			synctest.Wait()
			a.say("1", "/allow "+code)
		}},
		{name: "five wrong codes", say: func(a *asking, code string) {
			other := "2222"
			if code == other {
				other = "3333"
			}
			for range 5 {
				a.say("1", "/allow "+other)
				synctest.Wait()
			}
		}, read: "error: not run: the question about it was closed"},
		{name: "a restart before the answer", say: func(a *asking, code string) {
			a.restart()
			if got := a.code("1"); got != code {
				a.t.Errorf("after a restart the code is %s, want %s", got, code)
			}
			a.say("1", "/allow "+code)
		}, ran: "c1", read: "done"},
		{name: "a restart, and nobody answers", say: func(a *asking, _ string) {
			a.restart()
			time.Sleep(11 * time.Minute)
		}, read: lateCall},
		{name: "in a group, the approver", group: true, set: approvedBy2, say: func(a *asking, code string) { a.hand(a.inGroup("2", "/allow "+code)) }, ran: "c1", read: "done"},
		{name: "in a group, the approver's words that address nobody", group: true, set: approvedBy2, say: func(a *asking, code string) {
			m := a.inGroup("2", "allow "+code)
			m.Addressed = false
			a.hand(m)
		}, ran: "c1", read: "done"},
		{name: "in a group, the requester", group: true, set: approvedBy2, say: func(a *asking, code string) {
			a.hand(a.inGroup("1", "/allow "+code))
			if got := a.last(group); got != "Only those who may decide that can answer it. Nothing has changed." {
				a.t.Errorf("the requester reads %q", got)
			}
		}},
		{name: "in a group, a member's words are ordinary text", group: true, set: approvedBy2, say: func(a *asking, code string) {
			m := a.inGroup("3", "allow "+code)
			m.Addressed = false
			a.hand(m)
		}},
		{name: "in a group, another member's button", group: true, set: approvedBy2, say: func(a *asking, _ string) {
			n := len(a.net.texts(group))
			if say := a.press(a.inGroup("3", ""), "allow"); say != "Only those who may decide that can answer it. Nothing has changed." || len(a.net.texts(group)) != n {
				a.t.Errorf("the press shows %q", say)
			}
		}},
		{name: "in a group, a stranger's button", group: true, set: approvedBy2, say: func(a *asking, _ string) {
			m := a.inGroup("99", "")
			if say := a.press(m, "allow"); say == "" {
				a.t.Error("the press of a stranger shows nothing")
			}
		}},
		{name: "in a group, an anonymous administrator", group: true, set: func(a *asking) { a.o.Approvers = []string{"net:-1"} }, say: func(a *asking, code string) {
			m := a.inGroup("-1", "allow "+code)
			a.hand(m)
		}},
		{name: "in a group, somebody without an identity", group: true, set: approvedBy2, say: func(a *asking, code string) {
			m := a.inGroup("2", "allow "+code)
			m.Sender.IDs = nil
			a.hand(m)
		}},
		{name: "in a group, a member's reply", group: true, set: approvedBy2, say: func(a *asking, _ string) {
			m := a.reply("3", "allow")
			g := a.inGroup("3", "allow")
			g.Quote = m.Quote
			a.hand(g)
		}},
		{name: "in a group, approve: self", group: true, set: func(a *asking) { a.o.Self = true }, say: func(a *asking, code string) { a.hand(a.inGroup("1", "/allow "+code)) }, ran: "c1", read: "done"},
		{name: "in private, an approver of the group", group: true, set: approvedBy2, say: func(a *asking, code string) { a.say("2", "/allow "+code) }, ran: "c1", read: "done"},
		{name: "in private, somebody else", group: true, set: approvedBy2, say: func(a *asking, code string) { a.say("3", "/allow "+code) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startAsking(t, func(a *asking) {
					if tt.set != nil {
						tt.set(a)
					}
				})
				chat := "1"
				if tt.group {
					chat = group
					a.hand(a.inGroup("1", "go"))
				} else {
					a.say("1", "go")
				}
				code := a.code(chat)
				tt.say(a, code)
				synctest.Wait()
				if wrong := a.c.has(tt.ran, tt.read); wrong != "" {
					t.Error(wrong)
				}
				if n := a.questions(chat); n != 1 {
					t.Errorf("%d questions were asked, want one: %q", n, a.net.texts(chat))
				}
			})
		})
	}
}

// runs makes the call one of a program.
func runs(a *asking) { a.c.effect = agent.EffectRun }

func approvedBy2(a *asking) { a.o.Approvers = []string{"net:2"} }

// Two calls of one answer are asked about at once. The answer to one of them does not ask
// about the other again.
func TestTwoQuestionsOfOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startAsking(t, func(a *asking) {
			a.c.calls = append(a.c.calls, sessions.ToolCall{ID: "c2", Name: "mail", Arguments: `{"to":"eve@example.org"}`})
		})
		a.say("1", "go")
		second := a.code("1")
		a.say("1", "/deny "+second)
		synctest.Wait()
		if wrong := a.c.has("", deniedCall); wrong != "" {
			t.Error(wrong)
		}
		if n := a.questions("1"); n != 2 {
			t.Fatalf("%d questions, want two: %q", n, a.net.texts("1"))
		}
		list, err := a.book.Questions(t.Context(), channels.MustKey("net:1"), "net:1#1")
		if err != nil || len(list) != 1 {
			t.Fatalf("Questions = %v, %v", list, err)
		}
		a.say("1", "/allow "+list[0].Code)
		synctest.Wait()
		if wrong := a.c.has("c1", deniedCall+" | done"); wrong != "" {
			t.Error(wrong)
		}
	})
}

// What comes while a turn waits for a yes is answered after it.
func TestMessagesBehindAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startAsking(t)
		a.say("1", "go")
		code := a.code("1")
		a.say("1", "and this?")
		synctest.Wait()
		if turns, _ := a.gw.Running(); turns != 0 {
			t.Errorf("%d turns run while one waits for a yes", turns)
		}
		a.say("1", "/status")
		synctest.Wait()
		if got := a.last("1"); !strings.Contains(got, "A message is kept here for later (it waits for a yes: "+code+"); /stop drops it.") {
			t.Errorf("/status says %q", got)
		}
		a.say("1", "/allow "+code)
		synctest.Wait()
		texts := a.net.texts("1")
		if i := slices.Index(texts, "answer go"); i < 0 {
			t.Errorf("the person reads %q", texts)
		}
	})
}

// The question is edited to the decision, and its buttons are those of the decision.
func TestTheQuestionShowsTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startAsking(t, func(a *asking) {
			a.c.rule = agent.RuleAsk
			a.c.taint = nil
		})
		a.say("1", "go")
		code := a.code("1")
		question := a.net.sent[len(a.net.sent)-1]
		var buttons []string
		for _, c := range question.Choices {
			buttons = append(buttons, c.Label+" "+c.Command)
		}
		if want := []string{"Allow once allow", "Deny deny", "Always always"}; !slices.Equal(buttons, want) || question.Kind != channels.KindQuestion {
			t.Errorf("the question is of the kind %s with %q, want %q", question.Kind, buttons, want)
		}
		a.press(a.message("1", ""), "always")
		var edits []channels.Outbound
		for _, m := range a.net.sent {
			if m.Edit != "" {
				edits = append(edits, m)
			}
		}
		if len(edits) != 1 || edits[0].Edit != "m1" || len(edits[0].Choices) != 0 || !strings.HasPrefix(edits[0].Text, "**mail**: always allowed by P1 since 00:00.") {
			t.Errorf("the edits are %+v", edits)
		}
		a.say("1", "/approvals")
		synctest.Wait()
		want := "Always allowed here:\n\n1. mail `to: bob@example.org`, since 1 January 2000\n\n/approvals revoke 1 takes the first one back.\n\n" +
			"Decided last:\n\n- " + code + ": mail `to: bob@example.org`, always allowed by P1 since 00:00"
		if got := a.last("1"); got != want {
			t.Errorf("/approvals says %q, want %q", got, want)
		}
		a.say("1", "again")
		synctest.Wait()
		if n := a.questions("1"); n != 1 {
			t.Errorf("%d questions, want none after an always", n)
		}
		a.say("1", "/approvals revoke 1")
		synctest.Wait()
		if got := a.last("1"); got != "I ask again about mail `to: bob@example.org`, since 1 January 2000." {
			t.Errorf("/approvals revoke says %q", got)
		}
		a.say("1", "once more")
		if n := a.questions("1"); n != 2 {
			t.Errorf("%d questions, want one more after the always was taken back", n)
		}
	})
}

// Nobody is asked in a group in which nobody may decide, and for a caller who is a program.
func TestNobodyIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startAsking(t)
		a.hand(a.inGroup("1", "go"))
		if wrong := a.c.has("", noDecider); wrong != "" {
			t.Error(wrong)
		}
		a.expect("-1", "answer go")
	})
	synctest.Test(t, func(t *testing.T) {
		a := startAsking(t)
		turn := agent.Turn{ID: "g", Key: channels.MustKey("openai:token:a"), Record: func(context.Context, sessions.Step) error { return nil }}
		if _, err := a.gw.Given(t.Context(), turn); err != nil {
			t.Error(err)
		}
		if wrong := a.c.has("", "error: not run: it needs a person's yes, and nobody is there to be asked"); wrong != "" {
			t.Error(wrong)
		}
	})
}

// Without the option there are neither questions nor commands.
func TestWithoutApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "/allow K7QM")
		synctest.Wait()
		if got := w.lastText("1"); !strings.HasPrefix(got, "There is no /allow.") || strings.Contains(got, "/approvals") {
			t.Errorf("/allow says %q", got)
		}
	})
}

// In a group, whoever may not take back what is always allowed reads who may.
func TestOnlyApproversRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startAsking(t, func(a *asking) {
			a.c.rule = agent.RuleAsk
			a.o.Approvers = []string{"net:2", "other:+15550000001"}
			a.c.taint = nil
		})
		a.hand(a.inGroup("1", "go"))
		a.hand(a.inGroup("2", "/always "+a.code("-1")))
		a.hand(a.inGroup("1", "/approvals revoke 1"))
		if got, want := a.last("-1"), "Only whoever runs me or approves here (net:2) can change that in a shared chat."; got != want {
			t.Errorf("/approvals revoke says %q, want %q", got, want)
		}
		a.hand(a.inGroup("2", "/approvals revoke 1"))
		if got := a.last("-1"); !strings.HasPrefix(got, "I ask again about mail") {
			t.Errorf("/approvals revoke says %q", got)
		}
	})
}

package story_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"dragoman/channels/channeltest/botapi"
)

// In a group on Telegram, the approver answers: by a button, a command, words or a reply. An
// anonymous administrator, a bot, a channel, and whoever asked change nothing.
func TestAskedInATelegramGroup(t *testing.T) {
	const chat = -100300
	h := newHouse(t, plan{channels: `allow: ["71", "72", "chat:-100300"]`, rest: askedSettings("telegram:72")})
	d := h.start()
	team := h.api.Supergroup(chat, "Team", false)
	h.api.Promote(bob)
	carol := botapi.Person(73, "Carol")
	shown := func(text string) (id int64) {
		for _, m := range h.api.Shown(chat) {
			if m.Text == text {
				id = m.ID
			}
		}
		return id
	}
	var question int64
	n := &askedNet{
		daemon: d, heard: func() []string { return h.api.FromBot(chat) },
		asks: func(text string) { team.Say(ann, "@dragoman_bot "+text) },
		shown: func(text string) string {
			question = shown(text)
			return strconv.FormatInt(question, 10)
		},
		denies: func(code string) { team.Say(bob, "/deny@dragoman_bot "+code) },
	}
	says := func(who botapi.User, format string) func(askedQuestion) {
		return func(q askedQuestion) { team.Say(who, strings.ReplaceAll(format, "CODE", q.code)) }
	}
	presses := func(who botapi.User, button string) func(askedQuestion) {
		return func(askedQuestion) { team.Press(who, question, button) }
	}
	posts := func(p botapi.Post) func(askedQuestion) {
		return func(q askedQuestion) {
			p.Text = "/allow@dragoman_bot " + q.code
			team.Post(p)
		}
	}
	robot := botapi.User{ID: 90, IsBot: true, FirstName: "Robot", Username: "robot_bot"}
	n.run(t, []askedCase{
		{"the approver's button", presses(bob, "Allow once"), "used"},
		{"the approver's button for no", presses(bob, "Deny"), "denied"},
		{"the approver", says(bob, "/allow@dragoman_bot CODE"), "used"},
		{"the approver's words that address nobody", says(bob, "allow CODE"), "used"},
		{"the approver replies", func(askedQuestion) { team.Post(botapi.Post{From: bob, Text: "allow", ReplyTo: question}) }, "used"},
		{"two presses at once", func(askedQuestion) {
			var both sync.WaitGroup
			both.Go(func() { team.Press(bob, question, "Allow once") })
			both.Go(func() { team.Press(bob, question, "Allow once") })
			both.Wait()
		}, "used"},
		{"the button of whoever asked", presses(ann, "Allow once"), "pending"},
		{"another member's button", presses(carol, "Allow once"), "pending"},
		{"whoever asked", says(ann, "/allow@dragoman_bot CODE"), "pending"},
		{"whoever asked replies", func(askedQuestion) { team.Post(botapi.Post{From: ann, Text: "allow", ReplyTo: question}) }, "pending"},
		{"an anonymous administrator", posts(botapi.Post{From: botapi.User{ID: 1087968824, IsBot: true, FirstName: "Group"}, SenderChat: &botapi.ChatInfo{ID: chat, Type: "supergroup", Title: "Team"}}), "pending"},
		{"a channel", posts(botapi.Post{From: botapi.User{ID: 136817688, IsBot: true, FirstName: "Channel"}, SenderChat: &botapi.ChatInfo{ID: -100999, Type: "channel", Title: "News"}}), "pending"},
		{"a bot", posts(botapi.Post{From: robot}), "pending"},
		{"the approver forwards", posts(botapi.Post{From: bob, Extra: map[string]any{
			"forward_origin": map[string]any{"type": "hidden_user", "sender_user_name": "Bob", "date": 1},
		}}), "pending"},
		{"the approver in private", func(q askedQuestion) { h.tell(bob, "/allow "+q.code) }, "used"},
		{"whoever asked in private", func(q askedQuestion) { h.tell(ann, "/allow "+q.code) }, "pending"},
		{"a new conversation between", func(q askedQuestion) {
			team.Say(ann, "/new@dragoman_bot")
			team.Say(bob, "/allow@dragoman_bot "+q.code)
		}, "closed"},
	})
}

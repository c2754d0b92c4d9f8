package telegram_test

import (
	"context"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"

	"github.com/google/go-cmp/cmp"
)

// run runs a channel until the test ends and returns its inbox.
func (n *network) run(t *testing.T, c *telegram.Channel) *channeltest.Inbox {
	t.Helper()
	inbox := channeltest.NewInbox()
	channeltest.Start(t, c, inbox)
	return inbox
}

// waitFor waits until done returns true. It asks after every change of the network.
func (n *network) waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := n.Until(ctx, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// short has the fields of an Inbound that these tests compare.
type short struct {
	Key, Sender, Text, Prefix string
	Private, Addressed        bool
}

func shorten(m channels.Inbound) short {
	return short{m.Key.String(), m.Sender.ID(), m.Text, m.Prefix, m.Private, m.Addressed}
}

func TestInboundOfEveryKindOfChat(t *testing.T) {
	n := newNetwork(t)
	ann, bob := botapi.Person(7, "Ann"), botapi.User{ID: 8, FirstName: "Bob\nsystem:", LastName: "\u202eX"}
	me := botapi.User{ID: botapi.BotID, IsBot: true, FirstName: "Dragoman"}
	group, super := n.Group(-5, "friends"), n.Supergroup(-1005, "forum", true)
	topic, dm := super.Topic(), n.Private(ann)
	owner := &botapi.ChatInfo{ID: -5, Type: "group", Title: "friends"}
	news := n.Channel(-1009, "news")
	photo := map[string]any{"photo": []any{map[string]any{"file_id": "x", "width": 1, "height": 1}}}

	cases := []struct {
		name string
		post func()
		want *short // nil if it must be ignored
	}{
		{"private", func() { dm.Say(ann, "hello") }, &short{"telegram:7", "7", "hello", "", true, false}},
		{"private topic", func() { dm.Post(botapi.Post{From: ann, Text: "x", Topic: 12}) }, &short{"telegram:7:12", "7", "x", "", true, false}},
		{"private command", func() { dm.Say(ann, "/new@Dragoman_Bot now") }, &short{"telegram:7", "7", "/new now", "", true, false}},
		{"group, not meant", func() { group.Say(ann, "hi all") }, &short{"telegram:-5", "7", "hi all", "Ann: ", false, false}},
		{"group, mention first", func() { group.Say(ann, "@DRAGOMAN_bot, what is Go?") }, &short{"telegram:-5", "7", "what is Go?", "Ann: ", false, true}},
		{"group, mention later", func() { group.Say(ann, "😀 ask @dragoman_bot then") }, &short{"telegram:-5", "7", "😀 ask @dragoman_bot then", "Ann: ", false, true}},
		{"group, mention alone", func() { group.Say(ann, "@dragoman_bot") }, &short{"telegram:-5", "7", "@dragoman_bot", "Ann: ", false, true}},
		{"group, another bot", func() { group.Say(ann, "@dragoman_bot2 hi") }, &short{"telegram:-5", "7", "@dragoman_bot2 hi", "Ann: ", false, false}},
		{"group, command", func() { group.Say(ann, "/status") }, &short{"telegram:-5", "7", "/status", "Ann: ", false, true}},
		{"group, our command", func() { group.Say(ann, "/status@dragoman_bot") }, &short{"telegram:-5", "7", "/status", "Ann: ", false, true}},
		{"group, their command", func() { group.Say(ann, "/status@other_bot") }, nil},
		{"group, command later", func() { group.Say(ann, "see /status") }, &short{"telegram:-5", "7", "see /status", "Ann: ", false, false}},
		{
			"text mention",
			func() { group.Post(botapi.Post{From: ann, Text: "😀 Drago hi", Mention: "Drago", MentionUser: &me}) },
			&short{"telegram:-5", "7", "😀 Drago hi", "Ann: ", false, true},
		},
		{
			"text mention of Bob",
			func() { group.Post(botapi.Post{From: ann, Text: "Bob hi", Mention: "Bob", MentionUser: &bob}) },
			&short{"telegram:-5", "7", "Bob hi", "Ann: ", false, false},
		},
		{"odd name", func() { group.Say(bob, "x") }, &short{"telegram:-5", "8", "x", "Bob system: X: ", false, false}},
		{"topic", func() { super.Post(botapi.Post{From: ann, Text: "in topic", Topic: topic}) }, &short{"telegram:-1005:1", "7", "in topic", "Ann: ", false, false}},
		{
			"topic of ours",
			func() {
				super.Post(botapi.Post{From: ann, Text: "talk", Topic: topic, Extra: map[string]any{
					"reply_to_message": map[string]any{"message_id": topic, "from": me, "chat": map[string]any{"id": -1005}, "forum_topic_created": map[string]any{"name": "x"}},
				}})
			},
			&short{"telegram:-1005:1", "7", "talk", "Ann: ", false, false},
		},
		{"reply chain", func() { super.Post(botapi.Post{From: ann, Text: "chain", Thread: 44}) }, &short{"telegram:-1005", "7", "chain", "Ann: ", false, false}},
		{
			"anonymous admin",
			func() {
				group.Post(botapi.Post{From: botapi.User{ID: 1087968824, IsBot: true, FirstName: "Group"}, SenderChat: owner, Text: "boss"})
			},
			&short{"telegram:-5", "-5", "boss", "friends: ", false, false},
		},
		{
			"placeholder alone",
			func() {
				group.Post(botapi.Post{From: botapi.User{ID: 1087968824, IsBot: true, FirstName: "Group"}, Text: "who"})
			},
			&short{"telegram:-5", "", "who", "Group: ", false, false},
		},
		{"channel post", func() {
			news.Post(botapi.Post{SenderChat: &botapi.ChatInfo{ID: -1009, Type: "channel", Title: "news"}, Text: "post"})
		}, &short{"telegram:-1009", "-1009", "post", "news: ", false, false}},
		{"a bot", func() { group.Say(botapi.User{ID: 99, IsBot: true, FirstName: "Other"}, "@dragoman_bot beep") }, nil},
		{"photo", func() { dm.Post(botapi.Post{From: ann, Extra: photo}) }, &short{"telegram:7", "7", "", "", true, false}},
		{
			"caption",
			func() {
				dm.Post(botapi.Post{From: ann, Extra: map[string]any{"photo": photo["photo"], "caption": "what is it?"}})
			},
			&short{"telegram:7", "7", "what is it?", "", true, false},
		},
		{"voice", func() { dm.Post(botapi.Post{From: ann, Extra: map[string]any{"voice": map[string]any{"duration": 3}}}) }, &short{"telegram:7", "7", "", "", true, false}},
		{"file", func() {
			dm.Post(botapi.Post{From: ann, Extra: map[string]any{"document": map[string]any{"file_name": "a\nb.pdf"}}})
		}, &short{"telegram:7", "7", "", "", true, false}},
		{"service", func() { group.Post(botapi.Post{From: ann, Extra: map[string]any{"new_chat_title": "x"}}) }, nil},
		{"joined", func() { group.Post(botapi.Post{From: ann, Extra: map[string]any{"new_chat_members": []any{me}}}) }, nil},
	}
	inbox := n.run(t, n.open(t, telegram.Options{}))
	stored := 0
	for _, c := range cases {
		c.post()
		// Once "done" is stored, the update before it has been handled.
		dm.Say(ann, "done")
		want := []short{}
		if c.want != nil {
			want = append(want, *c.want)
		}
		n.settled(t)
		got := []short{}
		for _, m := range inbox.Messages()[stored:] {
			if m.Text != "done" {
				got = append(got, shorten(m))
			}
		}
		stored = len(inbox.Messages())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A command of a group that names no bot may be another bot's, if Telegram shows us
// everything. If it shows us only what is for us, every command is.
func TestCommandsInAGroup(t *testing.T) {
	for readsAll, want := range map[bool]map[string]bool{
		false: {"/new": true, "/model": true, "/model@dragoman_bot": true},
		true:  {"/new": true, "/model": false, "/NEW x": true, "/model@dragoman_bot x": true},
	} {
		n := newNetworkWith(t, botapi.Options{ReadsAll: readsAll})
		c := n.open(t, telegram.Options{})
		c.SetCommands(channels.Menu{Known: []channels.Command{{Name: "new", Help: "begin again"}}})
		inbox := n.run(t, c)
		group := n.Group(-5, "friends")
		for text, addressed := range want {
			before := len(inbox.Messages())
			group.Say(botapi.Person(7, "Ann"), text)
			if m := inbox.Wait(t, before+1)[before]; m.Addressed != addressed {
				t.Errorf("where the bot reads everything (%t), %s is addressed to it: %t", readsAll, text, m.Addressed)
			}
		}
	}
}

// settled waits until every update so far is confirmed.
func (n *network) settled(t *testing.T) {
	t.Helper()
	n.waitFor(t, "all updates to be confirmed", func() bool { return n.Unconfirmed() == 0 })
}

func TestReplyQuoteAndEdit(t *testing.T) {
	n := newNetwork(t)
	group := n.Group(-5, "friends")
	ann := botapi.Person(7, "Ann")
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	sent, err := c.Send(t.Context(), channels.Outbound{ID: "1", Key: keyOf(group), Text: "the **answer**"})
	if err != nil || sent.MessageID != "1" {
		t.Fatalf("Send = %v, %v, want message 1", sent, err)
	}
	id := group.Post(botapi.Post{From: ann, Text: "why?", ReplyTo: 1})
	m := inbox.Wait(t, 1)[0]
	if !m.Addressed {
		t.Error("a reply to the bot is not Addressed")
	}
	if diff := cmp.Diff(&channels.Quote{ID: "1", Name: "Dragoman", Text: "the **answer**"}, m.Quote); diff != "" {
		t.Errorf("Quote (-want +got):\n%s", diff)
	}
	group.Edit(id, "why not?")
	e := inbox.Wait(t, 2)[1]
	if e.Edits != m.MessageID || e.Text != "why not?" || e.ID == m.ID {
		t.Errorf("edit = %+v, want Edits = %s", e, m.MessageID)
	}
	other := group.Say(ann, "talk")
	group.Post(botapi.Post{From: botapi.Person(8, "Bob"), Text: "more talk", ReplyTo: other})
	if m := inbox.Wait(t, 4)[3]; m.Addressed || m.Quote == nil || m.Quote.Name != "Ann" {
		t.Errorf("reply to Ann: Addressed = %v, Quote = %+v, want false and a quote of Ann", m.Addressed, m.Quote)
	}
}

// A forwarded message names its author as far as Telegram does. A post that Telegram
// copies from a channel to the channel's group does not count as forwarded.
func TestForwarded(t *testing.T) {
	n := newNetwork(t)
	ann := botapi.Person(7, "Ann")
	inbox := n.run(t, n.open(t, telegram.Options{}))
	origin := func(kind, field string, value any) map[string]any {
		return map[string]any{"forward_origin": map[string]any{"type": kind, "date": 1, field: value}}
	}
	copied := origin("channel", "chat", map[string]any{"id": -1009, "type": "channel", "title": "news"})
	copied["is_automatic_forward"] = true
	for i, tt := range []struct {
		name  string
		extra map[string]any
		want  *channels.Forward
	}{
		{"her own", nil, nil},
		{"a person's", origin("user", "sender_user", map[string]any{"id": 8, "first_name": "Bob", "last_name": "B"}), &channels.Forward{Name: "Bob B"}},
		{"a hidden person's", origin("hidden_user", "sender_user_name", "Carl\nC"), &channels.Forward{Name: "Carl C"}},
		{"a group's", origin("chat", "sender_chat", map[string]any{"id": -5, "type": "group", "title": "friends"}), &channels.Forward{Name: "friends"}},
		{"a channel's", origin("channel", "chat", map[string]any{"id": -1009, "type": "channel", "title": "news"}), &channels.Forward{Name: "news"}},
		{"a copy", copied, nil},
	} {
		n.Private(ann).Post(botapi.Post{From: ann, Text: tt.name, Extra: tt.extra})
		if diff := cmp.Diff(tt.want, inbox.Wait(t, i+1)[i].Forwarded); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

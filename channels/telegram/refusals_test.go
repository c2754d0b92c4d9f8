package telegram_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"

	"github.com/google/go-cmp/cmp"
)

const tooLarge = "(The file is too large for Telegram, so it is missing here. Ask me for a part of it.)"

const gone = "(The topic of this answer is gone, so I write here.)"

// What Telegram refuses is taken away, and the rest is sent. The server refuses as long as
// the call has what it refuses.
func TestRefusedPartIsLeftOut(t *testing.T) {
	file := &channels.File{Name: "answer.md", Content: "all of it", Instead: "no *files* here"}
	long := strings.Repeat("a word ", 580) // no room for the word about the topic
	tests := map[string]struct {
		prepare func(*botapi.Chat, int64)
		fault   botapi.Fault // met once
		send    channels.Outbound
		want    []string
	}{
		"deleted topic":                 {prepare: (*botapi.Chat).DeleteTopic, send: channels.Outbound{Text: "**bold**"}, want: []string{gone + "\n\nbold"}},
		"deleted topic, no room":        {prepare: (*botapi.Chat).DeleteTopic, send: channels.Outbound{Text: long}, want: []string{gone, strings.TrimSpace(long)}},
		"file in a deleted topic":       {prepare: (*botapi.Chat).DeleteTopic, send: channels.Outbound{Text: "x", File: file}, want: []string{gone + "\n\nx"}},
		"topic id that is none":         {fault: botapi.Fault{Status: 400, Description: "Bad Request: TOPIC_ID_INVALID"}, send: channels.Outbound{Text: "x"}, want: []string{gone + "\n\nx"}},
		"files forbidden":               {prepare: forbid("documents"), send: channels.Outbound{Text: "caption", File: file}, want: []string{"no files here"}},
		"media forbidden":               {fault: botapi.Fault{Method: "sendDocument", Status: 400, Description: "Bad Request: CHAT_SEND_MEDIA_FORBIDDEN"}, send: channels.Outbound{Text: "x", File: file}, want: []string{"no files here"}},
		"file too large for a proxy":    {fault: botapi.Fault{Method: "sendDocument", Status: 413, Body: "<html>"}, send: channels.Outbound{Text: "x", File: file}, want: []string{tooLarge}},
		"file too large":                {fault: botapi.Fault{Method: "sendDocument", Status: 400, Description: "Bad Request: file is too big"}, send: channels.Outbound{Text: "x", File: file}, want: []string{tooLarge}},
		"file too large, no other text": {fault: botapi.Fault{Method: "sendDocument", Status: 413, Description: "Request Entity Too Large"}, send: channels.Outbound{Text: "x", File: &channels.File{Name: "a", Content: "b"}}, want: []string{tooLarge}},
		"file is a long message":        {fault: botapi.Fault{Method: "sendDocument", Status: 400, Description: "Bad Request: message is too long"}, send: channels.Outbound{Text: "x", File: &channels.File{Name: "a", Content: "b"}}, want: []string{tooLarge}},
		"file refused without a reason": {fault: botapi.Fault{Method: "sendDocument", Status: 400, Description: "Bad Request: ODD"}, send: channels.Outbound{Text: "x", File: file}, want: []string{"no files here"}},
		"text too long":                 {fault: botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: message is too long"}, send: channels.Outbound{Text: "**x**"}, want: []string{"This is too long for one message; the file has it."}},
		"entities":                      {fault: botapi.Fault{Status: 400, Description: "Bad Request: ENTITY_BOUNDS_INVALID"}, send: channels.Outbound{Text: "**x**"}, want: []string{"x"}},
		"reply":                         {fault: botapi.Fault{Status: 400, Description: "Bad Request: REPLY_MESSAGE_ID_INVALID"}, send: channels.Outbound{Text: "x", ReplyTo: "99"}, want: []string{"x"}},
		"no reason":                     {fault: botapi.Fault{Status: 400, Description: "Bad Request: ODD"}, send: channels.Outbound{Text: "**x**"}, want: []string{"x"}},
		"topic and files":               {prepare: func(c *botapi.Chat, id int64) { c.DeleteTopic(id); c.Refuse("documents") }, send: channels.Outbound{Text: "x", File: file}, want: []string{gone + "\n\nno files here"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			forum := n.Supergroup(-1005, "forum", true)
			topic := forum.Topic()
			if test.prepare != nil {
				test.prepare(forum, topic)
			}
			if test.fault.Status != 0 {
				test.fault.Times = 1
				n.Break(test.fault)
			}
			m := test.send
			m.Key = channels.MustKey(fmt.Sprintf("telegram:-1005:%d", topic))
			if _, err := n.open(t, telegram.Options{}).Send(t.Context(), m); err != nil {
				t.Fatalf("Send = %v, want nil", err)
			}
			if diff := cmp.Diff(test.want, n.FromBot(-1005)); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

func forbid(sort string) func(*botapi.Chat, int64) {
	return func(c *botapi.Chat, _ int64) { c.Refuse(sort) }
}

// The chat is told once that a topic is gone, by the first message that arrives.
func TestTopicIsGoneIsSaidOnce(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	forum := n.Supergroup(-1005, "forum", true)
	topic := forum.Topic()
	forum.DeleteTopic(topic)
	m := channels.Outbound{Key: channels.MustKey(fmt.Sprintf("telegram:-1005:%d", topic)), Text: "one"}
	heal := n.Break(botapi.Fault{Method: "sendMessage", Status: 500})
	if _, err := c.Send(t.Context(), m); err == nil {
		t.Fatal("Send to a failing server = nil")
	}
	heal()
	for _, text := range []string{"one", "two"} {
		m.Text = text
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{gone + "\n\none", "two"}, n.FromBot(-1005)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// A place that may be open again waits alone, and what may have opened it ends the wait.
func TestClosedPlacesWait(t *testing.T) {
	tests := map[string]struct {
		closes func(*botapi.Chat, int64)
		opens  func(n *network, c *botapi.Chat, topic int64)
		other  bool // another topic of the chat takes messages meanwhile
	}{
		"topic closed and opened": {
			(*botapi.Chat).CloseTopic, func(n *network, c *botapi.Chat, topic int64) { c.ReopenTopic(topic, n.ann) }, true,
		},
		"texts forbidden, then somebody asks": {
			forbid("text messages"), func(n *network, c *botapi.Chat, topic int64) {
				c.Refuse()
				c.Post(botapi.Post{From: n.ann, Topic: topic, Text: "@dragoman_bot hello?"})
			}, false,
		},
		"texts forbidden, then somebody asks by no name": {
			forbid("text messages"), func(n *network, c *botapi.Chat, topic int64) {
				c.Refuse()
				c.Post(botapi.Post{From: n.ann, Topic: topic, Text: "hello?"})
			}, false,
		},
		"topic closed, then somebody asks there by no name": {
			(*botapi.Chat).CloseTopic, func(n *network, c *botapi.Chat, topic int64) {
				c.ReopenTopicSilently(topic)
				c.Post(botapi.Post{From: n.ann, Topic: topic, Text: "hello?"})
			}, true,
		},
		"topic closed, then somebody asks elsewhere": {
			(*botapi.Chat).CloseTopic, func(n *network, c *botapi.Chat, topic int64) {
				c.ReopenTopic(topic, n.ann)
				c.Say(n.ann, "@dragoman_bot hello?")
			}, true,
		},
		"removed, then added": {
			func(c *botapi.Chat, _ int64) { c.BlockSilently() }, func(n *network, c *botapi.Chat, _ int64) { c.Unblock(n.ann) }, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			c := n.open(t, telegram.Options{})
			forum := n.Supergroup(-1005, "forum", true)
			topic, other := forum.Topic(), forum.Topic()
			in := &presser{Inbox: channeltest.NewInbox()}
			channeltest.Start(t, c, in)
			forum.Say(n.ann, "hello")
			n.settled(t)
			test.closes(forum, topic)
			in.all = strings.Contains(name, "by no name")
			send := func(topic int64) error {
				_, err := c.Send(t.Context(), channels.Outbound{Key: channels.MustKey(fmt.Sprintf("telegram:-1005:%d", topic)), Text: "x"})
				return err
			}
			var retry *channels.Retry
			var notSent *channels.NotSent
			for range 2 {
				if err := send(topic); !errors.As(err, &retry) || !errors.As(err, &notSent) {
					t.Fatalf("Send to the closed place = %v, want a Retry that was not sent", err)
				}
			}
			if got := n.Count("sendMessage"); got != 1 {
				t.Errorf("%d calls, want 1: the place is known", got)
			}
			if err := send(other); (err == nil) != test.other {
				t.Errorf("Send to another topic = %v, want success: %v", err, test.other)
			}
			test.opens(n, forum, topic)
			n.settled(t)
			in.mu.Lock()
			opened := len(in.opened)
			in.mu.Unlock()
			if err := send(topic); err != nil || opened == 0 {
				t.Errorf("Send after it opened = %v, Opened was called %d times, want nil and once", err, opened)
			}
		})
	}
}

// A chat that wants to be paid holds its messages, as one that refuses them otherwise.
func TestPaidChatHoldsMessages(t *testing.T) {
	n := newNetwork(t)
	n.Break(botapi.Fault{Method: "sendMessage", Times: 1, Status: 403, Description: "Forbidden: ALLOW_PAYMENT_REQUIRED_5"})
	n.Break(botapi.Fault{Method: "sendMessage", Times: 1, Status: 400, Description: "Bad Request: ALLOW_PAYMENT_REQUIRED"})
	for range 2 {
		var retry *channels.Retry
		if _, err := n.open(t, telegram.Options{}).Send(t.Context(), channels.Outbound{Key: n.Key(), Text: "x"}); !errors.As(err, &retry) {
			t.Errorf("Send = %v, want a Retry", err)
		}
	}
}

// What a draft is refused for in one place says nothing about other places.
func TestDraftInALostTopic(t *testing.T) {
	s, err := botapi.Start("127.0.0.1:0", botapi.Options{Drafts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	n := &network{Server: s, ann: botapi.Person(7, "Ann")}
	n.chat = s.Private(n.ann)
	c := n.open(t, telegram.Options{})
	n.Break(botapi.Fault{Method: "sendMessageDraft", Times: 1, Status: 400, Description: "Bad Request: message thread not found"})
	_, _ = c.Preview(t.Context(), channels.Preview{Key: n.Key(), Turn: "t", Text: "x"})
	if !c.Fades() {
		t.Error("drafts are given up after a refusal of one topic")
	}
}

// What may have opened a place makes due what an earlier process put off there, once a
// chat: this one has met no refusal.
func TestPlacesOpenAfterARestart(t *testing.T) {
	tests := map[string]struct {
		says func(n *network, c *botapi.Chat, topic int64)
		want int // of Opened
	}{
		"a topic is opened": {func(n *network, c *botapi.Chat, topic int64) { c.ReopenTopic(topic, n.ann) }, 1},
		"General is shown":  {func(n *network, c *botapi.Chat, _ int64) { c.ReopenTopic(0, n.ann) }, 1},
		"somebody asks, twice": {func(n *network, c *botapi.Chat, topic int64) {
			for range 2 {
				c.Post(botapi.Post{From: n.ann, Topic: topic, Text: "@dragoman_bot hello?"})
			}
		}, 1},
		"somebody asks nothing":    {func(n *network, c *botapi.Chat, _ int64) { c.Say(n.ann, "hello") }, 0},
		"somebody asks in private": {func(n *network, _ *botapi.Chat, _ int64) { n.chat.Say(n.ann, "hello") }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			forum := n.Supergroup(-1005, "forum", true)
			topic := forum.Topic()
			in := &presser{Inbox: channeltest.NewInbox()}
			channeltest.Start(t, n.open(t, telegram.Options{}), in)
			test.says(n, forum, topic)
			n.settled(t)
			in.mu.Lock()
			defer in.mu.Unlock()
			if len(in.opened) != test.want {
				t.Errorf("Opened was called for %v, want %d times", in.opened, test.want)
			}
		})
	}
}

// A refusal that is on its way while the topic is opened closes nothing.
func TestRefusalFromBeforeTheTopicOpened(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	forum := n.Supergroup(-1005, "forum", true)
	topic := forum.Topic()
	channeltest.Start(t, c, &presser{Inbox: channeltest.NewInbox()})
	n.Break(botapi.Fault{Method: "sendMessage", Times: 1, Delay: 500 * time.Millisecond, Status: 400, Description: "Bad Request: TOPIC_CLOSED"})
	m := channels.Outbound{Key: channels.MustKey(fmt.Sprintf("telegram:-1005:%d", topic)), Text: "x"}
	refused := make(chan error, 1)
	go func() {
		_, err := c.Send(t.Context(), m)
		refused <- err
	}()
	time.Sleep(100 * time.Millisecond) // the call has begun
	forum.ReopenTopic(topic, n.ann)
	n.settled(t)
	var retry *channels.Retry
	if err := <-refused; !errors.As(err, &retry) || retry.After > time.Minute {
		t.Errorf("Send = %v, want a Retry soon", err)
	}
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Errorf("Send to the open topic = %v, want nil", err)
	}
}

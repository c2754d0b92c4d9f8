package story_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
)

var (
	ann = botapi.Person(71, "Ann")
	bob = botapi.Person(72, "Bob")
)

// In a group the bot answers who mentions it, and only there where the
// operator allowed it.
func TestGroup(t *testing.T) {
	h := newHouse(t, plan{channels: `allow: ["chat:-100200"]`})
	h.start()
	team := h.api.Supergroup(-100200, "Team", false)
	others := h.api.Supergroup(-100999, "Others", false)
	team.Say(ann, "hello everybody #1")
	others.Say(ann, "@dragoman_bot hello from elsewhere #2")
	h.tell(bob, "hello in private #3")
	asked := team.Say(bob, "@dragoman_bot what is up? #4")
	if got := h.said(-100200, 1)[0]; !strings.Contains(got, "#4") || strings.Contains(got, "#1") {
		t.Errorf("the bot says %q, want an answer to #4 alone", got)
	}
	shown := h.api.Shown(-100200)
	if last := shown[len(shown)-1]; last.ReplyTo == nil || last.ReplyTo.ID != asked {
		t.Errorf("the answer hangs on %+v, want on the question", last.ReplyTo)
	}
	// A reply to the bot addresses it, too.
	team.Post(botapi.Post{From: ann, Text: "and now? #5", ReplyTo: shown[len(shown)-1].ID})
	if got := h.said(-100200, 2)[1]; !strings.Contains(got, "#5") {
		t.Errorf("the bot says %q, want an answer to #5", got)
	}
	h.until("everything to be confirmed", func() bool { return h.api.Unconfirmed() == 0 })
	if n := len(h.asked()); n != 2 {
		t.Errorf("the model was asked %d times, want twice", n)
	}
	if got := h.asked()[0].LastUser(); !strings.HasPrefix(got, "Bob: ") {
		t.Errorf("the model reads %q, want to know who speaks", got)
	}
	if n := len(h.api.FromBot(-100999)) + len(h.api.FromBot(bob.ID)); n != 0 {
		t.Errorf("the bot said %d things where it may not", n)
	}
}

// Each topic is a conversation of its own, and answered where it is.
func TestTopics(t *testing.T) {
	h := newHouse(t, plan{channels: `allow: ["chat:-100300"]`})
	h.start()
	forum := h.api.Supergroup(-100300, "Forum", true)
	cars, boats := forum.Topic(), forum.Topic()
	forum.Post(botapi.Post{From: ann, Text: "@dragoman_bot my car is red #1", Topic: cars})
	h.said(-100300, 1)
	forum.Post(botapi.Post{From: ann, Text: "@dragoman_bot my boat is blue #2", Topic: boats})
	h.said(-100300, 2)
	for _, m := range h.api.Shown(-100300) {
		want := map[string]int64{"#1": cars, "#2": boats}
		for mark, topic := range want {
			if m.From != nil && m.From.ID == botapi.BotID && strings.Contains(m.Text, mark) && m.Topic != topic {
				t.Errorf("%q stands in topic %d, want %d", m.Text, m.Topic, topic)
			}
		}
	}
	for _, m := range h.asked()[1].Messages {
		if strings.Contains(m.Content, "car") {
			t.Errorf("the model is told of the other topic: %q", m.Content)
		}
	}
	list := h.dragoman("sessions", "list")
	for _, topic := range []int64{cars, boats} {
		if key := fmt.Sprintf("telegram:-100300:%d", topic); !strings.Contains(list, key) {
			t.Errorf("sessions list lacks %s:\n%s", key, list)
		}
	}
}

// A message that is edited before anything of its answer is seen gets one
// answer, to what it says now.
func TestEditWhileAnswering(t *testing.T) {
	h := newHouse(t, plan{})
	h.start()
	id := h.tell(ann, "what is the weather in Rome? !hold rome #1")
	testkit.Eventually(h.t, "the model to be asked", func() bool { return len(h.asked()) == 1 })
	h.api.Private(ann).Edit(id, "what is the weather in Oslo? #1")
	h.until("the edit to be taken", func() bool { return h.api.Unconfirmed() == 0 })
	h.gates.open("rome")
	if got := h.said(ann.ID, 1)[0]; !strings.Contains(got, "Oslo") {
		t.Errorf("the answer = %q, want one to the edited message", got)
	}
	h.tell(ann, "thank you #2")
	h.said(ann.ID, 2)
	last := h.asked()[len(h.asked())-1]
	for _, m := range last.Messages {
		if strings.Contains(m.Content, "Rome") {
			t.Errorf("the model still reads the old text: %q", m.Content)
		}
	}
}

// After something of the answer was seen, an edit is noted, and the answer
// stands.
func TestEditAfterPreview(t *testing.T) {
	h := newHouse(t, plan{})
	h.start()
	id := h.tell(ann, "the weather in Rome? !hold rome #1")
	h.until("a preview", func() bool { return len(h.api.FromBot(ann.ID)) == 1 })
	h.api.Private(ann).Edit(id, "the weather in Oslo? #1")
	h.until("the edit to be taken", func() bool { return h.api.Unconfirmed() == 0 })
	h.gates.open("rome")
	h.said(ann.ID, 1)
	h.tell(ann, "thank you #2")
	h.said(ann.ID, 2)
	var all strings.Builder
	for _, m := range h.asked()[len(h.asked())-1].Messages {
		all.WriteString(m.Content + "\n")
	}
	if !strings.Contains(all.String(), "Oslo") {
		t.Errorf("the model never reads what the message says now:\n%s", all.String())
	}
}

// /stop ends the answer that is being written, keeps what was written in its
// place, and the next message is answered as if nothing had been.
func TestStopWhileStreaming(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.tell(ann, "tell me everything !hold forever #1")
	h.until("a preview", func() bool { return len(h.api.FromBot(ann.ID)) == 1 })
	began := time.Now()
	h.tell(ann, "/stop")
	got := h.said(ann.ID, 1)
	if !strings.HasPrefix(got[0], "This is the beginning") || !strings.HasSuffix(got[0], "(stopped)") {
		t.Errorf("the bot shows %q, want what was written, and that it was stopped", got[0])
	}
	t.Logf("stopped after %s", time.Since(began).Round(time.Millisecond))
	if n := len(h.api.FromBot(ann.ID)); n != 1 {
		t.Errorf("the chat shows %d messages of the bot, want the stopped one: %q", n, h.api.FromBot(ann.ID))
	}
	testkit.Eventually(h.t, "no turn to run", func() bool {
		s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
		return err == nil && s.Turns == 0
	})
	h.tell(ann, "something else #2")
	if got := h.said(ann.ID, 2)[1]; !strings.Contains(got, "#2") {
		t.Errorf("the bot says %q, want an answer to #2", got)
	}
	h.tell(ann, "/stop")
	if got := h.said(ann.ID, 3)[2]; got != "Nothing is running now." {
		t.Errorf("/stop without a turn says %q", got)
	}
}

// /new begins again: the model sees nothing of before, the operator all.
func TestNew(t *testing.T) {
	h := newHouse(t, plan{})
	h.start()
	h.tell(ann, "my bicycle is green #1")
	h.said(ann.ID, 1)
	h.tell(ann, "/new")
	h.said(ann.ID, 2)
	h.tell(ann, "what colour is it? #2")
	h.said(ann.ID, 3)
	for _, m := range h.asked()[1].Messages {
		if strings.Contains(m.Content, "bicycle") {
			t.Errorf("the model reads %q after /new", m.Content)
		}
	}
	if all := h.dragoman("sessions", "show", "telegram:71"); !strings.Contains(all, "bicycle") || !strings.Contains(all, "what colour") {
		t.Errorf("sessions show lacks the old or the new:\n%s", all)
	}
}

// One chat whose answer takes forever delays no other, and can itself ask how
// things are.
func TestSlowChatDelaysNobody(t *testing.T) {
	h := newHouse(t, plan{rest: "agent: {max_turns: 4}"})
	h.start()
	h.tell(ann, "take your time !hold slow #1")
	testkit.Eventually(h.t, "the model to be asked", func() bool { return len(h.asked()) == 1 })
	h.tell(ann, "/status")
	h.until("the status", func() bool {
		return strings.Contains(strings.Join(h.api.FromBot(ann.ID), "\n"), "I have been writing an answer for")
	})
	const people = 20
	began := time.Now()
	for i := range int64(people) {
		h.tell(botapi.Person(500+i, "Person"), fmt.Sprintf("quick #%d", 500+i))
	}
	var slowest time.Duration
	for i := range int64(people) {
		h.said(500+i, 1)
		shown := h.api.Shown(500 + i)
		slowest = max(slowest, shown[1].Stored.Sub(shown[0].Stored))
	}
	t.Logf("%d chats were answered in %s beside one that is not, the slowest in %s", people, time.Since(began).Round(time.Millisecond), slowest.Round(time.Millisecond))
	h.gates.open("slow")
	got := h.said(ann.ID, 2)
	if !strings.HasSuffix(strings.Join(got, "\n"), "the end of slow. #1") && !strings.Contains(strings.Join(got, "\n"), "the end of slow. #1") {
		t.Errorf("the slow chat shows %q, want its answer in the end", got)
	}
}

// Words of somebody else reach the model as theirs, and are no command.
func TestForwarded(t *testing.T) {
	h := newHouse(t, plan{})
	h.start()
	h.tell(ann, "remember this #1")
	h.said(ann.ID, 1)
	h.api.Private(ann).Post(botapi.Post{From: ann, Text: "/new #2", Extra: map[string]any{
		"forward_origin": map[string]any{"type": "user", "date": 1, "sender_user": map[string]any{"id": 72, "first_name": "Bob"}},
	}})
	h.said(ann.ID, 2)
	if got := h.asked()[1].LastUser(); !strings.HasSuffix(got, "[forwarded from Bob] /new #2") {
		t.Errorf("the model reads %q, want it to know that Bob said so", got)
	}
}

// A megabyte of an answer is a few messages and a file with all of it.
func TestVeryLongAnswer(t *testing.T) {
	answer := strings.Repeat("word after word, line after line\n", 32<<10) + "the end"
	h := newHouse(t, plan{options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) {
			for rest := answer; rest != ""; {
				n := min(len(rest), 64<<10)
				x.Text(rest[:n])
				rest = rest[n:]
			}
			x.End("stop")
		}
	}}})
	h.start()
	h.tell(ann, "go on for ever #1")
	h.until("the file", func() bool {
		shown := h.api.Shown(ann.ID)
		return shown[len(shown)-1].Document != nil
	})
	shown := h.api.Shown(ann.ID)[1:]
	if last := shown[len(shown)-1]; len(shown) != 11 || last.Document.Content != answer || last.Text != "This answer is very long; this file has all of it." {
		t.Errorf("%d messages, the last with %d bytes: %q, want 11 and all %d", len(shown), last.Document.Bytes, last.Text, len(answer))
	}
	if log := h.dragoman("sessions", "show", "telegram:71"); !strings.Contains(log, "the end") {
		t.Error("the conversation does not have the end of the answer")
	}
}

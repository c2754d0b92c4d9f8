package story_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// under are the buttons under the newest message of chat.
func (h *house) under(chat int64) []string {
	shown := h.api.Shown(chat)
	if len(shown) == 0 {
		return nil
	}
	return shown[len(shown)-1].Buttons()
}

// presses presses a button of the newest message, and returns what who reads.
func (h *house) presses(who botapi.User, c *botapi.Chat, button string) string {
	h.t.Helper()
	shown := h.api.Shown(c.ID())
	press := c.Press(who, shown[len(shown)-1].ID, button)
	if press < 0 {
		h.t.Fatalf("there is no button %s under %q", button, shown[len(shown)-1].Text)
	}
	h.until("the press to be answered", func() bool { return h.api.Pressed(press).Answered })
	return h.api.Pressed(press).Text
}

// A tap on Stop is a /stop, and one on Again asks once more.
func TestButtons(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	chat := h.api.Private(ann)
	h.tell(ann, "tell me everything !hold forever #1")
	h.until("a preview with Stop", func() bool { return slices.Contains(h.under(ann.ID), "Stop") })
	if say := h.presses(ann, chat, "Stop"); say != "" {
		t.Errorf("the person reads %q", say)
	}
	if got := h.said(ann.ID, 1)[0]; !strings.HasSuffix(got, "(stopped)") {
		t.Errorf("the bot shows %q, want that it was stopped", got)
	}
	testkit.Eventually(h.t, "no turn to run", func() bool {
		s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
		return err == nil && s.Turns == 0
	})
	h.tell(ann, "what is Go? #2")
	h.said(ann.ID, 2)
	h.until("Again under the answer", func() bool { return slices.Contains(h.under(ann.ID), "Again") })
	h.presses(ann, chat, "Again")
	if got := h.said(ann.ID, 3)[2]; !strings.Contains(got, "#2") {
		t.Errorf("the bot says %q, want an answer to #2 once more", got)
	}
	if got := h.asked()[2].LastUser(); !strings.HasSuffix(got, "[asks for another answer to:] what is Go? #2") {
		t.Errorf("the model reads %q", got)
	}
}

// A press is stored before it is answered: a daemon that is killed in between
// does what it asks for once.
func TestKillBeforeAPressIsAnswered(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.tell(ann, "what is Go? #1")
	h.until("Again under the answer", func() bool { return slices.Contains(h.under(ann.ID), "Again") })
	h.api.Break(botapi.Fault{Method: "answerCallbackQuery", Delay: time.Hour})
	shown := h.api.Shown(ann.ID)
	h.api.Private(ann).Press(ann, shown[len(shown)-1].ID, "Again")
	h.said(ann.ID, 2)
	testkit.Eventually(h.t, "the answer to be noted as sent", func() bool {
		return !strings.Contains(h.dragoman("queue", "list"), "telegram:71")
	})
	if h.api.Unconfirmed() != 1 {
		t.Errorf("%d updates are unconfirmed, want the press", h.api.Unconfirmed())
	}
	d.over = true
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	h.api.Heal()
	h.start()
	h.until("the press to be answered", func() bool { return h.api.Unconfirmed() == 0 && h.api.Pressed(0).Answered })
	h.tell(ann, "thank you #3")
	if got := h.said(ann.ID, 3); !strings.Contains(got[2], "#3") || len(h.asked()) != 3 {
		t.Errorf("the bot says %q and the model was asked %d times, want one answer to each", got, len(h.asked()))
	}
}

// A press in a group counts if its person may talk, and asked.
func TestPressOfOthers(t *testing.T) {
	h := newHouse(t, plan{channels: `allow: ["71", "72"]`})
	h.start()
	team := h.api.Supergroup(-100200, "Team", false)
	team.Say(ann, "@dragoman_bot tell me everything !hold forever #1")
	h.until("a preview with Stop", func() bool { return slices.Contains(h.under(-100200), "Stop") })
	if say := h.presses(bob, team, "Stop"); !strings.Contains(say, "Only the person who asked") {
		t.Errorf("Bob, who did not ask, reads %q", say)
	}
	carol := botapi.Person(73, "Carol")
	h.api.Promote(carol)
	if say := h.presses(carol, team, "Stop"); !strings.Contains(say, "do not know you") {
		t.Errorf("Carol, an administrator who may not talk to the bot, reads %q", say)
	}
	if say := h.presses(ann, team, "Stop"); say != "" {
		t.Errorf("Ann, who asked, reads %q", say)
	}
	if got := h.said(-100200, 1)[0]; !strings.HasSuffix(got, "(stopped)") {
		t.Errorf("the bot shows %q, want that it was stopped", got)
	}
	if got := h.under(-100200); len(got) != 0 {
		t.Errorf("under the stopped answer are %q", got)
	}
}

// An answer for somebody who blocked the bot waits, and comes when they let it
// in again.
func TestBlocked(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.tell(ann, "a question !hold slow #1")
	h.until("a preview", func() bool { return len(h.api.FromBot(ann.ID)) == 1 })
	shown := h.api.Shown(ann.ID)
	h.api.Private(ann).Block(ann)
	h.gates.open("slow")
	testkit.Eventually(h.t, "the answer to wait", func() bool {
		return strings.Contains(h.dragoman("queue", "list"), "blocked or removed")
	})
	calls := h.api.Count("editMessageText")
	d.end(syscall.SIGTERM)
	h.start() // nothing of it is forgotten
	h.api.Private(ann).Unblock(ann)
	if got := h.said(ann.ID, 1)[0]; !strings.Contains(got, "the end of slow. #1") {
		t.Errorf("the bot says %q", got)
	}
	if n := h.api.Count("editMessageText") - calls; n > 2 {
		t.Errorf("it was tried %d times", n)
	}
	if last := h.api.Shown(ann.ID); last[len(last)-1].ID != shown[len(shown)-1].ID {
		t.Errorf("the answer is message %d, want the preview %d to become it", last[len(last)-1].ID, shown[len(shown)-1].ID)
	}
	if list := h.dragoman("queue", "list"); strings.Contains(list, "telegram:71") {
		t.Errorf("the queue still holds:\n%s", list)
	}
}

// Where Telegram has drafts, the answer is shown as one, and then comes as a
// message.
func TestDraftsAreShown(t *testing.T) {
	h := newHouse(t, plan{drafts: true})
	h.start()
	h.tell(ann, "a question !hold slow #1")
	h.until("a draft", func() bool { return len(h.api.Drafts(ann.ID)) > 0 })
	if got := h.api.FromBot(ann.ID); len(got) != 0 {
		t.Errorf("beside the draft the bot says %q", got)
	}
	h.until("a message that can be stopped", func() bool { return slices.Contains(h.under(ann.ID), "Stop") })
	h.gates.open("slow")
	if got := h.said(ann.ID, 1); !strings.Contains(got[0], "the end of slow. #1") || len(got) != 1 {
		t.Errorf("the bot says %q", got)
	}
}

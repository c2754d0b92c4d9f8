package crash_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit/pgtest"
)

// telling is a model that has words sent to Bob's chat.
func telling(x *agenttest.Exchange) {
	last := x.Request.Messages[len(x.Request.Messages)-1]
	if last.Role == "tool" {
		x.Text("Sent: " + last.Content)
		x.End("stop")
		return
	}
	x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "send", Name: "send_message", Arguments: `{"to":"Bob","text":"Dinner at eight?"}`})
	x.End("tool_calls")
}

// The daemon is killed around each step of a message for another chat: before and after it is
// accepted, before and after the call's result is journaled, and as it is delivered. It comes
// once, as its network allows, and whoever asked gets one answer.
func TestMessagesKilled(t *testing.T) {
	t.Parallel()
	const asks = "Whoever runs me asked me to tell you this."
	sqlite := func(*testing.T) string { return "{type: sqlite}" }
	few := []string{"accept.after@2", "sending.after@1", "sent.before@1", "sending.after@2", "sent.before@2"}
	for _, place := range []struct {
		name  string
		store func(t *testing.T) string
		room  func(t *testing.T) room
		steps []string
	}{
		{"page sqlite", sqlite, onThePage, append([]string{
			"accept.before@2", "journal.tool_start.before@1", "journal.tool_start.after@1", "journal.tool_done.before@1", "journal.tool_done.after@1",
			"commit.before@1", "commit.after@1", "sending.before@1", "sending.before@2", "sent.after@1", "sent.after@2",
		}, few...)},
		{"telegram sqlite", sqlite, onTelegram, append([]string{"accept.before@2", "journal.tool_done.before@1", "commit.after@1"}, few...)},
		{"irc sqlite", sqlite, onIRC, few},
		{"whatsapp sqlite", sqlite, onWhatsApp, few},
		{"telegram file", func(*testing.T) string { return "{type: file}" }, onTelegram, few},
		{"telegram postgres", func(t *testing.T) string { return fmt.Sprintf("{type: postgres, url: %q}", pgtest.Database(t, "", "")) }, onTelegram, few},
	} {
		for _, step := range stepsOf(t, place.steps...) {
			t.Run(place.name+" "+step, func(t *testing.T) {
				t.Parallel()
				p := newProgramOn(t, place.store(t), telling)
				bob := place.room(t)
				if bob.key == "web:books" {
					bob.key = "web:bob"
					bob.shown = func(p *program) ([]string, error) { return p.tryFeed("web:bob") }
				}
				p.configure(fmt.Sprintf("routes: [{from: 'web:books', to: %q, name: Bob}]\n", bob.key))
				bob.enter(p)
				here := onThePage(t)
				cmd := p.start(step)
				dead := ended(cmd)
				here.say(p, dead)
				dead = p.restarted(cmd, dead, step)
				here.say(p, dead) // a browser does not know that it was taken
				here.untilShown(p, dead, "Sent: ")
				bob.untilShown(p, dead, asks)
				p.over(0)
				here.once(p, "Sent: It is on its way to Bob.")
				bob.once(p, asks)
				shown, err := bob.shown(p)
				if err != nil || !strings.Contains(strings.Join(shown, "\n"), "Dinner at eight?") {
					t.Errorf("Bob reads %q, %v", shown, err)
				}
			})
		}
	}
}

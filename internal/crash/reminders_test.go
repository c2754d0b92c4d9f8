package crash_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
)

// remembering is a model that schedules a text and a task in two seconds each, and does the
// task.
func remembering(x *agenttest.Exchange) {
	last := x.Request.Messages[len(x.Request.Messages)-1]
	switch {
	case strings.Contains(last.Content, "tell the news"):
		x.Text("no news")
	case last.Role == "tool":
		x.Text("I will.")
	default:
		x.Tools(
			agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_0", Name: "schedule", Arguments: `{"text":"call Ann","in":"2s"}`},
			agenttest.ToolDelta{Index: agenttest.At(1), ID: "call_1", Name: "schedule", Arguments: `{"prompt":"tell the news","in":"2s"}`},
		)
		x.End("tool_calls")
		return
	}
	x.End("stop")
}

// The daemon is killed around each step of what comes due: as it fires, as the turn of a task
// ends, and as either is delivered. Both arrive once. The page knows a message that comes
// twice.
func TestRemindersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	t.Parallel()
	for _, step := range []string{
		"remind.before@1", "remind.after@1", "remind.before@2", "remind.after@2", "commit.before@2", "commit.after@2",
		"sending.before@2", "sending.after@2", "sent.before@2", "sent.after@2", "sending.after@3", "sent.before@3",
	} {
		t.Run(step, func(t *testing.T) {
			const room = "web:books"
			p := newProgramOn(t, "{type: sqlite}", remembering)
			is := func(want string) func(string) bool {
				return func(text string) bool { return strings.HasPrefix(text, want) }
			}
			cmd := p.start(step)
			dead := ended(cmd)
			p.sayUntilTaken(room, "question-1", "remind me", dead)
			dead = p.restarted(cmd, dead, step)
			for _, want := range []string{"I will.", "call Ann", "no news"} {
				p.untilFeed(room, dead, is(want))
			}
			time.Sleep(time.Second) // in which nothing more must come
			feed := p.feed(room)
			for _, want := range []string{"call Ann", "no news"} {
				n := 0
				for _, text := range feed {
					if is(want)(text) {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%q came %d times: %q", want, n, feed)
				}
			}
			if !slices.Contains(feed, "I will.") {
				t.Errorf("the first answer is lost: %q", feed)
			}
		})
	}
}

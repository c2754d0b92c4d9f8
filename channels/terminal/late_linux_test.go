package terminal_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/internal/testkit"
)

// On a busy machine the answer is in the feed before all of its previews were read. They do not
// begin it again.
func TestLatePreviews(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	g := newGateway(t, func(text string) string {
		<-release
		return text
	})
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	testkit.Eventually(t, "the terminal to watch", g.watch.Load)
	p.key("go\r")
	testkit.Eventually(t, "the message", func() bool { return len(g.said()) == 1 })
	k := channels.MustKey("cli:" + terminal.Room)
	g.channel().ToolBegun(k, "turn", "recall")
	p.sees("· recall …")
	g.put(live.Item{ID: "answer", From: live.FromDragoman, Text: "The answer."})
	g.feed.Answered()
	p.sees("The answer.")
	p.prompted()
	if _, err := g.channel().Preview(t.Context(), channels.Preview{Key: k, Turn: "turn", Text: "The ans"}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.channel().Send(t.Context(), channels.Outbound{ID: "news", Key: k, Text: "A reminder.", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	p.sees("A reminder.")
	if shown := p.prompted(); strings.Count(shown, "The ans") != 1 {
		t.Errorf("the answer begins again:\n%s", shown)
	}
}

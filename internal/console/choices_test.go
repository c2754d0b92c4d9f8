package console_test

import (
	"testing"

	"dragoman/channels/live"
	"dragoman/internal/testkit"
)

// A question has two buttons, until one is pressed or something newer follows.
func TestChoices(t *testing.T) {
	g := newGateway(t, "", func(string) string { return "Done." })
	g.put(live.Item{ID: "question/old", From: live.FromDragoman, Text: "May I run **one**?", Asks: "old"})
	g.put(live.Item{ID: "out-x", From: live.FromDragoman, Text: "Nobody allowed it in time."})
	g.put(live.Item{ID: "question/k3fq", From: live.FromDragoman, Text: "May I run **two**?", Asks: "k3fq"})
	v := visit(t, chrome(t), 360, 720, true, "http://"+g.addr+"/old")
	v.until(connected + ` && document.querySelectorAll(".choices").length === 1`)
	v.holds("a question")
	v.do(click(".choices button"))
	v.until(`!document.querySelector(".choices")`)
	testkit.Eventually(t, "the answer", func() bool {
		texts := g.texts()
		return len(texts) > 3 && texts[3] == "/allow k3fq"
	})
}

package story_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"

	"github.com/chromedp/chromedp/kb"
)

// Words are found in all conversations and lead to the message, which may be far from the
// newest. In a conversation one hit leads to the next.
func TestWalkFind(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	room := channels.MustKey("web:long")
	for n := range 90 {
		text := fmt.Sprintf("Day %d in the garden", n)
		if n == 3 || n == 60 {
			text += " with a hedgehog"
		}
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: room, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	w := d.walker(chromium(t), d.linked())
	w.open("/talk")
	w.click("searchbox", "Search conversations")
	w.press("hedgehog")
	w.until("what was found", `document.querySelector(".row mark")`)
	w.click("link", "Day 0 in the garden…")
	w.find("searchbox", "Search in this conversation")
	w.until("the hit in sight", `(() => { const r = document.querySelector(".target")?.getBoundingClientRect(); return r && r.top > 0 && r.bottom < innerHeight; })()`)
	w.until("the word marked", `[...CSS.highlights.get("found")].some((r) => r.toString() === "hedgehog")`)
	w.reads("of 4")
	for _, day := range []string{"Day 3 in", "Day 60 in"} {
		is := `document.querySelector(".target").innerText.includes("` + day + `")`
		w.until("a hit", `document.querySelector(".target").innerText.includes("hedgehog")`)
		for range 4 {
			if asks[bool](w, is) {
				break
			}
			was := asks[string](w, `document.querySelector(".find .num").innerText`)
			w.click("button", "The one after")
			w.until("another hit", `document.querySelector(".find .num").innerText !== "`+was+`"`)
		}
		w.until(day, is)
	}
	w.press(kb.Escape)
	w.click("button", "New messages")
	w.reads("echo: Day 89 in the garden")
}

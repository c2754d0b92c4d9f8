package story_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"

	"github.com/chromedp/chromedp"
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
	w.accessible("the search of a conversation")
	w.press(kb.Escape)
	w.click("button", "New messages")
	w.reads("echo: Day 89 in the garden")
}

// The menu of commands leads to a message, too, and an address to one without any words.
func TestWalkToAMessage(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	room := channels.MustKey("web:long")
	for n := range 60 {
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: room, Text: fmt.Sprintf("Day %d of the hedgehogs", n)}); err != nil {
			t.Fatal(err)
		}
	}
	inSight := func(w *walker, words string) {
		t.Helper()
		w.until(words+" in sight", `(() => { const e = document.querySelector(".target"); const r = e?.getBoundingClientRect(); return e?.innerText.includes("`+words+`") && r.top > 0 && r.bottom < innerHeight; })()`)
	}
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web:long/5")
	inSight(w, "Day 2 of")
	w.open("/jobs")
	w.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	w.until("the box has the focus", `document.activeElement.id === "command"`)
	w.press("17")
	w.until("a hit", `document.querySelector(".choice mark")`)
	w.press(kb.Enter)
	w.find("searchbox", "Search in this conversation")
	inSight(w, "Day 17 of")
}

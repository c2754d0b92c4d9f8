package story_test

import (
	"strings"
	"testing"
)

// Five things that people come for, on a phone, with nothing but what the page shows.
func TestWalkTasks(t *testing.T) {
	pageKit(t)
	d := lived(t)
	browser := chromium(t)
	ann, w := d.walker(browser, d.holder("chat", "telegram:71")), d.walker(browser, d.linked())
	step := func(w *walker, name string) {
		t.Helper()
		w.picture("task-" + name)
	}
	ann.resize(360, 740)
	w.resize(360, 740)

	ann.open("/")
	step(ann, "1a-begin")
	ann.typesInto("searchbox", "Search conversations", "time zones")
	ann.until("the words in the row", `document.querySelector(".row mark")?.parentElement.innerText.includes("time zones")`)
	step(ann, "1b-found")
	row := asks[string](ann, `document.querySelector(".row:has(mark)").getAttribute("href")`)
	if !strings.HasPrefix(row, "/talk/telegram%3A71/") {
		t.Errorf("the words are found at %s", row)
	}
	asks[bool](ann, `(document.querySelector(".row:has(mark)").click(), true)`)
	ann.until("the message", `document.querySelector(".target")`)
	ann.until("the words in sight", `[...document.querySelectorAll(".target blockquote")].some((e) => { const r = e.getBoundingClientRect(); return r.top > 100 && r.bottom < 640; })`)
	step(ann, "1c-there")

	w.open("/")
	step(w, "2a-begin")
	w.click("link", "For you")
	w.reads("May Dragoman run write_file?")
	step(w, "2b-foryou")
	w.click("button", "Show what it would do")
	w.until("a button that is alive", `[...document.querySelectorAll("button")].some((b) => b.innerText === "Allow once" && b.getAttribute("aria-disabled") === "false")`)
	step(w, "2c-shown")
	w.click("button", "Allow once")
	w.reads("Allowed by you")
	step(w, "2d-done")

	w.click("button", "More")
	w.find("link", "Usage")
	step(w, "4a-more")
	w.click("link", "Usage")
	w.reads("Tokens by day")
	step(w, "4b-usage")
	w.click("button", "By person")
	w.find("link", "Ann")
	step(w, "4c-person")

	w.click("link", "Jobs")
	w.find("button", "Pause morning")
	step(w, "5a-jobs")
	w.click("button", "Pause morning")
	w.reads("operator paused it")
	step(w, "5b-paused")

	w.click("button", "More")
	w.click("link", "Channels")
	w.reads("Telegram")
	step(w, "3a-channels")
}

package story_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Somebody goes everywhere with the keyboard alone: by the menu of commands, which opens
// while they write, and by letters.
func TestWalkKeys(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	for _, room := range []string{"web:default", "web:tomatoes"} {
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: channels.MustKey(room), Text: "Tell me about " + room[len("web:"):]}); err != nil {
			t.Fatal(err)
		}
	}
	w := d.walker(chromium(t), d.linked())
	menu := func(words string) {
		t.Helper()
		w.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		w.find("combobox", "Search places, conversations and actions")
		w.until("the box has the focus", `document.activeElement.id === "command"`)
		w.press(words)
		w.until("a choice with these words", `document.querySelector(".choice[aria-selected=true]")?.innerText.toLowerCase().includes("`+words+`")`)
		w.press(kb.Enter)
	}
	w.open("/talk")
	menu("queue")
	w.until("the queue", `location.pathname === "/queue"`)
	menu("tomatoes")
	w.until("the conversation", `location.pathname === "/talk/web%3Atomatoes"`)
	w.until("the composer has the focus", `document.activeElement.id === "text"`)
	menu("rename")
	w.until("the title has the focus", `document.activeElement.id === "title"`)
	w.press("Red ones" + kb.Enter)
	w.reads("Red ones")
	menu("mark as unread")
	w.find("link", "Talk 2 unread") // nobody has opened the other one
	w.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	w.find("combobox", "Search places, conversations and actions")
	w.accessible("the menu of commands")
	w.press(kb.Escape)
	w.until("the menu to be closed", `!document.querySelector("dialog[open]")`)
	menu("light")
	w.until("another theme", `document.documentElement.dataset.theme === "dark"`)
	menu("light")
	w.until("the theme that the system has now", `document.documentElement.dataset.theme === "light"`)
	menu("light")
	w.until("whatever theme the system has", `!document.documentElement.dataset.theme && localStorage.getItem("dragoman.theme") === null`)
	asks[bool](w, `(document.activeElement.blur(), true)`)
	for _, to := range []struct{ letter, path string }{{"f", "/you"}, {"j", "/jobs"}, {"q", "/queue"}, {"c", "/channels"}, {"h", "/health"}, {"t", "/talk"}} {
		w.press("g" + to.letter)
		w.until(to.path, `location.pathname === "`+to.path+`"`)
		asks[bool](w, `(document.activeElement.blur(), true)`)
	}
	w.press("?")
	w.reads("Go to Talk, For you, Jobs, Queue, Channels, Health")
	w.press(kb.Escape)
	w.until("the sheet to be closed", `!document.querySelector("dialog[open]")`)
}

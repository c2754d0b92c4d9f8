package story_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Two browsers have one conversation open: what is asked and decided in one is in the other,
// with the name of who decided, and so is a decision in For you and in the queue.
func TestWalkTwoBrowsers(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	browser := chromium(t)
	desk := d.walker(browser, d.linked())
	phone := d.walker(browser, d.linked())
	list := d.walker(browser, d.linked())
	phone.resize(360, 740)
	desk.open("/talk/web:default")
	phone.open("/talk/web:default")
	list.open("/you")
	queue := d.walker(browser, d.linked())
	queue.open("/queue")
	list.reads("Nothing waits for you")
	desk.types("Write a message", `!tool write_file {"path":"plan.txt","content":"Mondays: Ann."}`)
	desk.press(kb.Enter)
	desk.reads("May Dragoman run write_file?")
	phone.reads("May Dragoman run write_file?")
	list.reads("May Dragoman run write_file?")
	queue.reads("Waits for a yes")
	queue.until("what waits to be known", `document.querySelector(".nav a[href='/you'] .count")`)
	phone.until("the button is alive", `[...document.querySelectorAll("button")].some((b) => b.innerText === "Allow once" && b.getAttribute("aria-disabled") === "false")`)
	phone.click("button", "Allow once")
	desk.reads("Allowed by you: write_file")
	list.reads("Allowed by you")
	queue.reads("Allowed by you")
	desk.until("the file is written", `document.querySelector(".steps")?.innerText.includes("1 tool")`)
}

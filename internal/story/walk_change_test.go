package story_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Somebody changes their question, asks for another answer, quotes one and says that it was
// good, with letters and with buttons. What was before stays readable.
func TestWalkChange(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web:default")
	w.types("Write a message", "Where is the hose?")
	w.press(kb.Enter)
	w.reads("echo: Where is the hose?")
	w.letter("e")
	w.reads("You edit an earlier message.")
	w.until("the question in the box", `document.getElementById("text").value === "Where is the hose?"`)
	w.press(" And the can?" + kb.Enter)
	w.reads("echo: Where is the hose? And the can?")
	w.reads("Earlier version, 2 messages")
	w.letter("r")
	w.reads("You asked for another answer.")
	w.until("two answers", `document.querySelectorAll(".message .answer:not(details *)").length === 2`)
	w.until("one question", `document.querySelectorAll(".mine:not(details *)").length === 1`)
	w.click("button", "Good answer")
	w.until("it is pressed", `document.querySelector("[aria-label='Good answer'][aria-pressed=true]")`)
	w.click("button", "Quote")
	w.types("Write a message", "Which one?")
	w.press(kb.Enter)
	w.until("the quote", `[...document.querySelectorAll(".mine .quoted")].at(-1)?.innerText.includes("Where is the hose?")`)
	w.click("button", "More")
	w.click("button", "Mark as unread")
	w.reads("It is unread again.")
	w.find("link", "Talk 1 unread")
}

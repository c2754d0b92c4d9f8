package story_test

import "testing"

// A slash offers the commands; a few letters and a key complete one.
func TestWalkSlash(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{}).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web%3Awork")
	w.types("Write a message", "/st")
	w.find("option", "/status…")
	w.everyWidth("the commands")
	w.press("a\t")
	w.until("a whole command", `document.querySelector("#text").value === "/status" && !document.querySelector(".slash")`)
	w.press("\r")
	w.reads("/status")
	w.until("its answer", `document.querySelectorAll("article.aside").length > 0`)
	w.press("/")
	w.until("the list", `document.querySelectorAll(".slash li").length > 5 && document.activeElement.getAttribute("aria-activedescendant") === "slash0"`)
	w.press("\x1b")
	w.until("no list", `!document.querySelector(".slash")`)
}

package story_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
)

// placing are what the walks below ask of the box with the messages: how far it is from its
// end, where an element is in it, and to be grown in some place by a picture that comes late.
const placing = `(() => {
	const box = document.querySelector(".scroll");
	window.below = () => box.scrollHeight - box.scrollTop - box.clientHeight;
	window.topOf = (e) => e.getBoundingClientRect().top - box.getBoundingClientRect().top;
	window.picture = (where, high) => { const e = document.createElement("div"); e.style.height = high + "px"; where.append(e); box.dispatchEvent(new Event("scroll")); };
	return true;
})()`

// rests waits until nothing in the box with the messages moves any more.
func (w *walker) rests() {
	w.t.Helper()
	w.until("the messages to be at rest", `(async () => {
		const e = document.querySelector(".scroll");
		for (let was = "", same = 0, n = 0; n < 100; n++) {
			await new Promise(requestAnimationFrame);
			const is = e.scrollTop + " " + e.scrollHeight + " " + e.clientHeight;
			same = is === was ? same + 1 : 0;
			was = is;
			if (same > 8) return true;
		}
		return false;
	})()`)
}

// At the end of a conversation the reader stays there: while an answer grows, when a picture
// comes late, when the screen gets a keyboard, and when they write. What they open there stays
// under their finger, and where they scrolled to they stay.
func TestWalkStaysInPlace(t *testing.T) {
	pageKit(t)
	p := walkPlan()
	p.rest = "people: {read_along: true}\n"
	d := newHouse(t, p).start()
	ask := func(text string) {
		t.Helper()
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: channels.MustKey("web:default"), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("It was a long day on the train, and nobody spoke.\n\n", 12)
	ask(long + "One.")
	ask(long + "Two.")
	w := d.walker(chromium(t), d.linked())
	w.resize(360, 740)
	w.open("/talk/web:default")
	asks[bool](w, placing)
	atEnd := func(when string) {
		t.Helper()
		w.rests()
		w.until(when+", the end", `below() <= 2`)
	}
	atEnd("at first")
	asks[bool](w, `(picture([...document.querySelectorAll(".message")].at(-1), 300), true)`)
	atEnd("after a picture")
	w.resize(360, 420)
	w.until("a low screen", `innerHeight === 420`)
	atEnd("with a keyboard")
	w.resize(360, 740)
	w.until("a high screen", `innerHeight === 740`)
	atEnd("without one")
	w.types("Write a message", `!tool write_file {"path":"a.txt","content":"one"}`)
	w.until("the words to be there", `document.querySelector("#text").value.endsWith("}")`)
	w.click("button", "Send (Enter)")
	w.until("a third answer", `document.querySelector(".scroll").innerText.includes("Wrote a.txt") && document.querySelector(".steps") && !document.querySelector(".growing, .dots")`)
	atEnd("after an answer")
	was := asks[float64](w, `(window.read = document.querySelector(".steps summary"), topOf(read))`)
	asks[bool](w, `(read.click(), document.querySelector(".step summary").click(), true)`)
	w.rests()
	if is := asks[float64](w, `topOf(read)`); is < was-2 || is > was+2 || !asks[bool](w, `below() > 10`) {
		t.Errorf("what somebody opened at the end went from %v to %v", was, is)
	}

	asks[bool](w, `new Promise((done) => { const e = document.querySelector(".scroll"); e.addEventListener("scroll", () => done(true), { once: true }); e.scrollTop -= 1400; })`)
	w.find("button", "To the end")
	w.rests()
	asks[bool](w, `(window.read = [...document.querySelectorAll(".answer p")].find((e) => topOf(e) > 60), window.was = topOf(read), true)`)
	stays := func(when string) {
		t.Helper()
		w.rests()
		w.until(when+", what is read where it was", `Math.abs(topOf(read) - was) <= 2`)
	}
	asks[bool](w, `(picture(document.querySelector(".message"), 200), true)`)
	stays("after a picture above")
	asks[bool](w, `(read.parentElement.firstElementChild !== read && picture(read.parentElement.firstElementChild, 90), true)`)
	stays("after a picture in the same answer")
	ask("One more, please.")
	w.reads("echo: One more, please.")
	stays("after a new answer")
}

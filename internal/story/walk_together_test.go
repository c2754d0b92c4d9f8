package story_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// together is a house whose people use the page at the same time.
func together(t *testing.T) *daemon {
	t.Helper()
	h := newHouse(t, plan{
		channels: "pairing: true\n    allow: [\"71\", \"72\"]",
		rest:     "agent: {tools: {write_file: ask}}\npeople: {read_along: true}\n",
	})
	d := h.start()
	h.tell(ann, "Good morning.")
	h.said(ann.ID, 1)
	return d
}

// says counts how often the messages say words.
func (w *walker) says(words string) int {
	w.t.Helper()
	return strings.Count(asks[string](w, `document.querySelector(".scroll").innerText`), words)
}

// Ann's laptop, her phone and an operator look at one conversation. What one of them does,
// the others see: words while they are written, an answer of the operator's among them, and
// who decided what was asked.
func TestWalkTogether(t *testing.T) {
	pageKit(t)
	d := together(t)
	browser := chromium(t)
	cookie := d.holder("chat", "telegram:71")
	room := "/talk/" + url.PathEscape("web:telegram:71/default")
	laptop, phone := d.walker(browser, cookie), d.walker(browser, cookie)
	operator := d.walker(browser, d.linked())
	phone.resize(360, 700)
	laptop.open(room)
	laptop.types("Write a message", "Hello.")
	laptop.press(kb.Enter)
	laptop.reads("echo: Hello.")
	laptop.types("Write a message", "tell me !hold one #1")
	laptop.press(kb.Enter)
	all := []*walker{laptop, phone, operator}
	for _, w := range all[1:] {
		w.open(room)
	}
	for _, w := range all {
		w.reads("This is the beginning")
		w.reads("tell me !hold one #1")
	}

	operator.types("Write a message", "Come at nine.")
	operator.press(kb.Enter)
	for _, w := range all[:2] {
		w.reads("Come at nine.")
	}
	d.gates.open("one")
	for _, w := range all {
		w.reads("and the end of one.")
		w.until("the whole answer", `!document.querySelector(".growing")`)
		for _, words := range []string{"tell me !hold one #1", "Come at nine.", "and the end of one."} {
			if n := w.says(words); n != 1 {
				t.Errorf("the page says %q %d times: %s", words, n, asks[string](w, `document.querySelector(".scroll").innerText`))
			}
		}
	}

	laptop.types("Write a message", `!tool write_file {"path":"plan.txt","content":"Mondays: Ann."}`)
	laptop.press(kb.Enter)
	for _, w := range all {
		w.reads("May Dragoman run write_file?")
	}
	phone.until("the button to be alive", `document.querySelector(".inset.warn .primary")?.getAttribute("aria-disabled") === "false"`)
	phone.click("button", "Allow once")
	for _, w := range all {
		w.until("the decision", `document.body.innerText.includes("Allowed by") && !document.querySelector(".inset.warn")`)
	}
}

// All tabs of a browser have one stream of events, so the eighth works as the first, although
// a browser allows a host six connections. When the tab that has it is closed,
// another one takes over, and misses nothing.
func TestWalkOneStream(t *testing.T) {
	pageKit(t)
	d := together(t)
	first := d.walker(chromium(t), d.holder("chat", "telegram:71"))
	tabs := []*walker{first}
	first.open("/talk/telegram:71")
	for _, path := range []string{"/talk/telegram:71", "/talk", "/jobs", "/", "/talk/telegram:71", "/talk/new", "/jobs"} {
		w := newTab(t, first.ctx, first.site)
		w.open(path)
		tabs = append(tabs, w)
	}
	d.tell(ann, "Who is listening?")
	for _, i := range []int{0, 1, 5} {
		tabs[i].reads("echo: Who is listening?")
	}
	oneStream(tabs)
	first.do(chromedp.Navigate("about:blank"))
	d.tell(ann, "And who is it now?")
	tabs[1].reads("echo: And who is it now?")
	oneStream(tabs[1:]) // the browser does not say that the first one is closed
}

// oneStream waits until all tabs together have one stream open. For a moment there may be
// two: a tab whose question was not answered in time leads as well, until it hears of the
// other.
func oneStream(tabs []*walker) {
	tabs[0].t.Helper()
	tabs[0].poll("one stream of events", func() bool {
		open := 0
		for _, w := range tabs {
			w.mu.Lock()
			open += len(w.streams)
			w.mu.Unlock()
		}
		return open == 1
	})
}

package story_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"

	"github.com/chromedp/chromedp"
)

// Links to the page that was before this one lead to what they led to, and a message that it
// could not send is sent, once.
func TestWalkFormerAddresses(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.do(chromedp.Navigate(w.site + "/?room=work"))
	w.is("/talk/web%3Awork")
	w.find("textbox", "Write a message")
	w.do(chromedp.Navigate(w.site + "/#channels"))
	w.is("/channels")
	w.find("heading", "Channels")
	asks[bool](w, `(localStorage.setItem("dragoman.outbox.work.0123456789abcdef", JSON.stringify({ id: "0123456789abcdef", text: "Kept by the former page", at: new Date().toISOString() })), true)`)
	for range 2 {
		w.do(chromedp.Navigate(w.site + "/talk/web%3Awork"))
		w.reads("echo: Kept by the former page")
	}
	var said []string
	page, err := api.ReadMessages.Call(t.Context(), d.admin, api.Part{Key: channels.MustKey("web:work"), Limit: 20, After: "0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Data {
		said = append(said, m.Content)
	}
	if n := strings.Count(strings.Join(said, "\n"), "Kept by the former page"); n != 2 { // and its echo
		t.Errorf("the messages are %q, want the kept one and its echo", said)
	}
	if left := asks[int](w, `Object.keys(localStorage).filter((name) => name.includes("outbox")).length`); left != 0 {
		t.Errorf("%d messages are still kept", left)
	}
}

// What ends the composition of an input method neither sends the word nor stops an answer. With
// a word in the box, Stop is still beside it.
func TestWalkComposition(t *testing.T) {
	pageKit(t)
	h := newHouse(t, plan{})
	d := h.start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/new")
	w.types("Write a message", "tell me !hold long #1\r")
	w.reads("the beginning")
	w.find("button", "Stop the answer (Esc)")
	const box = `document.querySelector("#text")`
	w.types("Write a message", "word")
	w.resize(390, 844)
	w.find("button", "Stop the answer (Esc)") // beside the word, also on a phone
	w.find("button", "Send (Enter)")
	w.resize(1280, 800)
	for what, init := range map[string]string{
		"as browsers say it today": `{key: "Escape", isComposing: true, bubbles: true, cancelable: true}`,
		"as some browsers say it":  `{key: "Escape", keyCode: 229, bubbles: true, cancelable: true}`,
		"its word is taken":        `{key: "Enter", isComposing: true, bubbles: true, cancelable: true}`,
		"its word, as others say":  `{key: "Enter", keyCode: 229, bubbles: true, cancelable: true}`,
	} {
		asks[bool](w, box+`.dispatchEvent(new KeyboardEvent("keydown", `+init+`))`)
		if got := asks[string](w, box+`.value`); got != "word" {
			t.Fatalf("after a key of a composition, %s, the box holds %q", what, got)
		}
	}
	if n := len(h.asked()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	w.press("\x1b")
	w.reads("(stopped)")
	h.gates.open("long")
}

// Files are taken wherever they are dropped, and a message that could not be sent outlives
// its page, as a draft does.
func TestWalkWhatIsWrittenIsKept(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web%3Akept")
	w.find("textbox", "Write a message")
	asks[bool](w, `(() => {
		const d = new DataTransfer();
		d.items.add(new File(["hello"], "<b>notes</b>.txt", { type: "text/plain" }));
		document.querySelector("h1").dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true }));
		return true;
	})()`)
	w.find("button", "Remove <b>notes</b>.txt")
	w.click("button", "Remove <b>notes</b>.txt")
	asks[bool](w, `(window.fetch = ((f) => (u, o) => o?.method === "POST" ? Promise.reject(new TypeError("away")) : f(u, o))(fetch), true)`)
	w.types("Write a message", "Keep me\r")
	w.reads("Not sent yet. It is saved and will be sent.")
	w.types("Write a message", "half a draft")
	w.do(chromedp.Reload())
	w.reads("echo: Keep me")
	w.until("the draft", `document.querySelector("#text").value === "half a draft"`)
	testkit.Eventually(t, "nothing to be kept", func() bool {
		return asks[int](w, `Object.keys(localStorage).filter((name) => name.includes("unsent")).length`) == 0
	})
}

package story_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/agenttest"

	"github.com/chromedp/chromedp/kb"
)

// An answer that failed says so. Retry asks again, and the answer takes its place; it can be
// copied as it was written.
func TestWalkRetryAndCopy(t *testing.T) {
	pageKit(t)
	var away atomic.Bool
	away.Store(true)
	p := walkPlan()
	p.options = agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
		if away.Load() {
			return agenttest.StatusReply(401, nil, `{"error":{"message":"no such key","code":"invalid_api_key"}}`)
		}
		return agenttest.TextReply("It is **ten** by the sundial.")
	}}
	d := newHouse(t, p).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web:default")
	w.types("Write a message", "What time is it?"+kb.Enter)
	w.reads("There is no answer")
	w.everyWidth("an answer that failed")
	w.resize(1440, 900)
	w.click("button", "Retry")
	w.until("the second failure", `document.querySelectorAll(".inset.bad").length > 0 && !document.querySelector(".growing")`)
	away.Store(false)
	w.click("button", "Retry")
	w.reads("It is ten by the sundial.")
	asks[bool](w, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`)
	w.letter("c")
	w.reads("Copied")
	if got := asks[string](w, `window.copied`); got != "It is **ten** by the sundial." {
		t.Errorf("copied was %q", got)
	}
}

// A message that the server refuses for its length says why. It can be changed and sent.
func TestWalkTooLong(t *testing.T) {
	pageKit(t)
	p := plan{channels: `allow: ["71"]`, rest: "queue: {max_message_bytes: 2KiB}"}
	d := newHouse(t, p).start()
	w := d.walker(chromium(t), d.linked())
	w.expect(wrong)
	w.open("/talk/web:default")
	w.find("textbox", "Write a message")
	write := func(text string) {
		t.Helper()
		asks[bool](w, fmt.Sprintf(`(() => {
			const box = document.querySelector("#text");
			box.value = %q;
			box.dispatchEvent(new Event("input", { bubbles: true }));
			box.focus();
			return true;
		})()`, text))
	}
	write(strings.Repeat("leaf ", 1000))
	w.press(kb.Enter)
	w.reads("The question is too long (4 KB, at most 2 KB)")
	w.everyWidth("a message that is too long")
	w.click("button", "Edit")
	w.until("it in the box again", `document.querySelector("#text").value.length === 5000 - 1 && !document.querySelector(".unsent")`)
	write("a leaf")
	w.press(kb.Enter)
	w.reads("echo: a leaf")
}

// An address of no conversation says so, and leads back to those that are there.
func TestWalkNoConversation(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.expect(wrong, missing)
	w.resize(360, 740)
	for _, key := range []string{"nothing", "web:a%20room%20that%20nobody%20can%20have", "telegram:999", "%25", "web:%2F..%2F.."} {
		w.open("/talk/" + key)
		w.until("words for it", `document.querySelector(".notice.bad, .empty, .tries, .hello")`)
		w.sound("/talk/" + key)
		w.click("link", "Back to the list")
		w.is("/talk")
	}
}

// In a long conversation earlier messages come when the reader scrolls up, and what they read
// stays where it is.
func TestWalkEarlier(t *testing.T) {
	pageKit(t)
	h := newHouse(t, walkPlan())
	path := filepath.Join(h.dir, "long.json")
	text, err := json.Marshal([]imported{saidOf("web:default", 170, time.Now().UTC())})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	h.dragoman("sessions", "import", path)
	d := h.start()
	w := d.walker(chromium(t), d.linked())
	w.resize(360, 740)
	w.open("/talk/web:default")
	asks[bool](w, `(window.numbers = () => [...document.querySelectorAll(".mine .bubble")].map((e) => Number(e.textContent.match(/\d+/)[0])), true)`)
	w.until("the newest page", `numbers().at(-1) === 168 && numbers()[0] === 120`)
	for _, oldest := range []int{70, 20, 0} {
		was := asks[int](w, `(document.querySelector(".scroll").scrollTop = 0, numbers()[0])`)
		w.until(fmt.Sprintf("number %d", oldest), fmt.Sprintf(`numbers()[0] === %d`, oldest))
		seen := asks[int](w, `numbers().find((_, i) => document.querySelectorAll(".mine")[i].getBoundingClientRect().bottom > document.querySelector(".scroll").getBoundingClientRect().top)`)
		if seen < was-2 || seen > was+2 {
			t.Errorf("earlier messages came, and the reader sees number %d and not %d, as before", seen, was)
		}
	}
	if strings.Contains(asks[string](w, `document.body.innerText`), "Earlier messages") {
		t.Error("at the beginning there is a button for earlier messages")
	}
	w.click("button", "To the end")
	w.until("the end", `(() => { const e = document.querySelector(".scroll"); return e.scrollHeight - e.scrollTop - e.clientHeight < 5; })()`)
}

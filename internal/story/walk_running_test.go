package story_test

import (
	"strings"
	"sync"
	"testing"

	"dragoman/agent/agenttest"
)

// thinking is a model that says nothing until it may.
func thinking(may <-chan struct{}) func(*agenttest.Request) agenttest.Reply {
	return func(*agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) {
			if strings.Contains(x.Request.LastUser(), "think") {
				<-may
			}
			agenttest.EchoReply(x)
		}
	}
}

// A turn that began on a network shows as running before its first word, in the list and in
// the conversation: in a page that was open then, and in one that is opened later.
func TestWalkRunning(t *testing.T) {
	pageKit(t)
	may := make(chan struct{})
	let := sync.OnceFunc(func() { close(may) })
	p := walkPlan()
	p.options = agenttest.Options{Reply: thinking(may)}
	h := newHouse(t, p)
	t.Cleanup(let)
	d := h.start()
	h.tell(ann, "Good morning.")
	h.said(ann.ID, 1)
	browser := chromium(t)
	cookie := d.holder("chat", "telegram:71")
	early, list := d.walker(browser, cookie), d.walker(browser, cookie)
	early.resize(360, 740)
	early.open("/talk/telegram:71")
	list.open("/talk")
	h.tell(ann, "Now think about it.")
	late := d.walker(browser, cookie)
	late.open("/talk/telegram:71")
	for _, w := range []*walker{early, late} {
		w.reads("Now think about it.")
		w.until("dots where the answer will be", `document.querySelector(".scroll .dots")`)
		w.until("the head says so", `document.querySelector(".chat > header .meta").innerText.includes("is answering")`)
		w.find("button", "Stop the answer (Esc)")
	}
	for _, w := range []*walker{list, late} {
		w.until("the row says so", `document.querySelector(".row .good")`)
	}
	let()
	for _, w := range []*walker{early, late} {
		w.reads("echo: Now think about it.")
		w.until("no dots", `!document.querySelector(".scroll .dots")`)
	}
	list.until("no sign", `!document.querySelector(".row .good")`)
}

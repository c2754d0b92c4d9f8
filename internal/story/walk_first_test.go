package story_test

import (
	"testing"

	"dragoman/channels/channeltest/botapi"

	"github.com/chromedp/chromedp"
)

// Whoever opens a Dragoman in which nobody has written sees what it has and lacks, with the
// lines that mend it, and can pass that by.
func TestWalkFirst(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{model: "model: {type: demo}", channels: "enabled: false"}).launch()
	w := d.walker(chromium(t), d.linked())
	w.do(chromedp.Navigate(w.site + "/"))
	w.is("/talk")
	w.reads("Dragoman is running")
	w.reads("4 things are left for you.")
	w.reads("The built-in demo answers now")
	w.reads("Your data has a place")
	w.click("DisclosureTriangle", "Show me")
	w.reads(`api_key: "${file:model.key}"`)
	w.everyWidth("the first steps")
	w.resize(1440, 900)
	w.click("button", "Skip it")
	w.reads("Nobody has written yet")
	w.do(chromedp.Reload())
	w.reads("Nobody has written yet")
	w.click("link", "Add a channel")
	w.click("button", "How to add one")
	w.reads(`token: "${file:telegram.token}"`)
	w.click("button", "WhatsApp")
	w.reads("type: whatsapp")
	w.everyWidth("how to add a channel")
	w.resize(1440, 900)
	w.click("button", "Close")
	w.click("link", "Settings")
	w.click("link", "First steps")
	w.reads("Dragoman is running")
	w.click("link", "Say hello")
	w.types("Write a message", "What time is it?\r")
	w.reads("UTC")
	w.open("/first")
	w.reads("3 things are left for you.")
}

// Who is listed in the configuration may talk, and that step is done.
func TestWalkFirstWithAList(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{channels: `allow: ["71"]`}).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/first")
	w.reads("Some people may. The configuration lists them")
}

// With a model, a channel and somebody who asks to be let in, one yes is left.
func TestWalkFirstWithAChannel(t *testing.T) {
	pageKit(t)
	h := newHouse(t, plan{channels: "pairing: true"})
	d := h.start()
	h.tell(botapi.Person(73, "Carol"), "Hello, may I come in?")
	h.said(73, 1)
	w := d.walker(chromium(t), d.linked())
	w.open("/first")
	w.reads("Connected: telegram.")
	w.reads("Somebody waits for your yes.")
	w.click("link", "Channels")
	w.reads("Carol wants to talk on Telegram.")
	w.click("button", "Deny")
	w.reads("Denied. Whoever writes again gets another code.")
	w.until("the request to be gone", `!document.body.innerText.includes("Carol wants")`)
}

package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/console"
)

// sideways lists what lies right of the screen, and buttons and fields smaller than a
// fingertip. It ignores text that scrolls inside tables and code, and the truncated room name.
const sideways = `(() => {
	if (!document.documentElement || document.readyState !== "complete") return "not loaded yet";
	const wide = [...document.querySelectorAll("body *")].filter((e) => {
		const r = e.getBoundingClientRect();
		return r.width > 1 && r.right > innerWidth + 1 && !e.matches("h1 *") && !e.closest(".table, pre, .unseen") && getComputedStyle(e).visibility !== "hidden";
	}).map((e) => e.tagName + "." + e.className);
	const small = [...document.querySelectorAll("button, input, textarea, .round")].filter((e) => {
		const r = e.getBoundingClientRect();
		return r.width > 1 && matchMedia("(pointer: coarse)").matches && (r.height < 43.5);
	}).map((e) => e.tagName + "#" + e.id + " " + e.getBoundingClientRect().height);
	return [...wide, ...small, ...(document.documentElement.scrollWidth > innerWidth ? ["the page itself"] : [])].join(", ");
})()`

// Nothing is wider than the window, even with the longest names, and every button is large
// enough for a finger.
func TestWidths(t *testing.T) {
	long := strings.Repeat("averylongname", 12)
	p := &phones{list: []console.Channel{{Name: long[:60], Type: "irc", Status: channels.Status{State: channels.StateFailed, Detail: long, Since: time.Now()}}}}
	g := newGateway(t, token, func(string) string { return long }, func(o *console.Options) { o.Accounts = p })
	for i, text := range []string{long, "`" + long + "` and " + long, "```\n" + long + "\n```", "| a | " + long + " |\n|---|---|\n| " + long + " | b |", "https://example.org/" + long} {
		it := live.Item{ID: fmt.Sprint("seen-", i), From: live.FromDragoman, Text: text}
		if i == 0 {
			it.From, it.Files = live.FromPerson, []live.File{{Name: long + ".txt", Type: "text/plain", Bytes: 12}}
		}
		g.mu.Lock()
		g.put(it)
		g.mu.Unlock()
	}
	browser := chrome(t)
	for _, width := range []int64{320, 360, 768, 1440} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			v := visit(t, browser, width, 720, width < 1000, "http://"+g.addr+"/login?to=%2Fold")
			v.until(`document.readyState === "complete" && document.activeElement?.id === "token"`)
			v.holds("the login")
			v.keys(token + "\r")
			v.until(connected)
			v.until(connected + ` && document.querySelector("#messages li")`)
			js[any](v, `document.querySelector("#room").textContent = "`+long[:32]+`"`)
			v.holds("the conversation")
			js[any](v, `document.querySelector("#link").dataset.state = "lost"; document.querySelector("#link span").textContent = "Reconnecting"`)
			v.holds("while it reconnects")
			v.do(click("#channels-open"))
			v.until(`document.querySelector("#channels-list li")`)
			v.holds("the channels")
		})
	}
}

// holds checks that nothing on the page is off the screen.
func (v *visitor) holds(what string) {
	v.t.Helper()
	got := ""
	for range 100 { // a page that is still being laid out may not fit yet
		got = js[string](v, sideways)
		if got == "" {
			v.picture(what + "-" + v.name())
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	v.t.Errorf("%s: %s", what, got)
}

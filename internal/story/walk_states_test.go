package story_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// sound is what holds for a view in any state.
func (w *walker) sound(where string) {
	w.t.Helper()
	w.fits(where)
	w.accessible(where)
}

// loading waits for the shape of what will come.
func (w *walker) loading() {
	w.t.Helper()
	w.until("the shape of what comes", `document.querySelector("h1") && document.querySelector(".bones, [aria-busy=true]")`)
}

// While a view is on its way it shows that. If the API refuses, it says why, and a button
// tries again.
func TestWalkRefused(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.expect(unavailable)
	w.prefers("prefers-reduced-motion=reduce", "prefers-color-scheme=dark")
	w.resize(360, 800)
	for _, path := range views {
		w.api(held)
		w.do(chromedp.Navigate(w.site + path))
		w.loading()
		w.sound(path + " on its way")
		w.api(refused)
		if path == "/log" {
			w.reads("Dragoman cannot be reached.") // it reads a stream, which says only that it ended
		} else {
			w.reads(no)
		}
		w.sound(path + " refused")
		w.api(open)
		w.click("button", "Retry")
		w.drawn()
		w.until("no word of trouble", fmt.Sprintf("!document.body.innerText.includes(%q)", no))
	}
	w.open("/talk")
	w.api(refused)
	w.follow("/talk/telegram:71/details")
	w.reads("This could not be loaded.")
	if w.has("Nothing is remembered yet.") {
		t.Error("what could not be read is said to be nothing")
	}
	w.api(open)
	w.click("button", "Retry")
	w.reads("Nothing is remembered yet.")
}

// has reports whether the page says words now.
func (w *walker) has(words string) bool {
	w.t.Helper()
	return asks[bool](w, fmt.Sprintf("document.body.innerText.includes(%q)", words))
}

// With nothing in it, each view says what will be there.
func TestWalkEmpty(t *testing.T) {
	pageKit(t)
	h := newHouse(t, walkPlan())
	text := fmt.Sprintf("state_dir: %s\nhttp: {listen: \"127.0.0.1:0\"}\nmodel: {type: openai, base_url: %s, name: fake, context_window: 100000}\n", h.state, h.model.URL())
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := h.start()
	w := d.walker(chromium(t), d.linked())
	w.prefers("prefers-reduced-motion=reduce")
	w.resize(360, 800)
	for _, v := range []struct{ path, says string }{
		{"/talk", "Dragoman is running"},
		{"/talk/new", "Ask anything, in any language."},
		{"/talk/web:default", "Ask anything, in any language."},
		{"/you", "Nothing waits for you"},
		{"/jobs", "Nothing is scheduled"},
		{"/health", "All is well"},
		{"/queue", "The queue is empty"},
		{"/channels", "Channels"},
		{"/people", "Nobody but you"},
		{"/usage", "Nothing was used yet"},
		{"/settings", "The file is fine."},
	} {
		w.open(v.path)
		w.reads(v.says)
		w.sound(v.path + " without anything in it")
	}
}

// Without a network the page says so and shows what it has. What is written is kept, and
// sent when the network is back; each view comes back by itself.
func TestWalkOffline(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.expect(disconnected)
	w.prefers("prefers-reduced-motion=reduce")
	w.open("/talk/web:default")
	w.reads("The shadow knows nothing of time zones.")
	w.offline(true)
	w.reads("No connection to Dragoman.")
	w.types("Write a message", "Written on a train")
	w.press(kb.Enter)
	w.reads("Not sent yet. It is saved and will be sent.")
	w.types("Write a message", "Half a thought")
	w.sound("a conversation without a network")
	for _, path := range views[2:] {
		w.offline(true)
		w.reads("No connection to Dragoman.")
		w.follow(path)
		w.until("a view, or why there is none", `document.querySelector(".notice.bad, .empty, .view h2")`)
		w.sound(path + " without a network")
		w.offline(false)
		w.back(path)
	}
	w.follow("/talk/web:default")
	w.until("a box to write in", `document.querySelector("#text")`)
	if draft := asks[string](w, `document.querySelector("#text").value`); draft != "Half a thought" {
		t.Errorf("what was being written is now %q", draft)
	}
	w.once(d, "web:default", "Written on a train")
}

// follow goes to a view as a click on its link does.
func (w *walker) follow(path string) {
	w.t.Helper()
	asks[bool](w, fmt.Sprintf(`(history.pushState(null, "", %q), dispatchEvent(new Event("routed")), true)`, path))
}

// back waits until a view is whole again without anybody's doing.
func (w *walker) back(where string) {
	w.t.Helper()
	w.until(where+" to come back", `!document.querySelector(".offline, .notice.bad[role=alert] .actions")`)
	w.drawn()
}

// once waits until a text was asked, and fails if it was asked twice.
func (w *walker) once(d *daemon, key, text string) {
	w.t.Helper()
	testkit.Eventually(w.t, "the message to be answered", func() bool {
		page, err := api.ReadMessages.Call(w.t.Context(), d.admin, api.Part{Key: channels.MustKey(key), Limit: 50})
		if err != nil {
			w.t.Fatal(err)
		}
		asked, answered := 0, false
		for _, m := range page.Data {
			if m.Role == "user" && m.Content == text {
				asked++
			}
			answered = answered || asked > 0 && m.Role == "assistant"
		}
		if asked > 1 {
			w.t.Errorf("%q was asked %d times", text, asked)
		}
		return answered
	})
}

// Somebody has each view open while the daemon is killed and started again. Each says that
// it is alone, comes back by itself with what is new, and keeps what was typed in it.
func TestWalkRestart(t *testing.T) {
	pageKit(t)
	p := walkPlan()
	p.rest += fmt.Sprintf("http: {listen: %q}\n", testkit.FreeAddress(t))
	d := livedIn(t, p)
	first := d.walker(chromium(t), d.linked())
	type open struct {
		path, role, field, text string
		tab                     *walker
	}
	all := []*open{
		{path: "/talk/web:default", role: "textbox", field: "Write a message", text: "Half a thought"},
		{path: "/talk", role: "searchbox", field: "Search conversations", text: "tomato"},
		{path: "/talk/telegram:71/details", role: "textbox", field: "Prompt here, instead of the configured one", text: "Be brief"},
		{path: "/jobs"},
		{path: "/health"},
		{path: "/queue"},
		{path: "/channels"},
		{path: "/usage"},
		{path: "/people"},
		{path: "/log", role: "searchbox", field: "Search the log", text: "door"},
		{path: "/settings", role: "searchbox", field: "Search the settings", text: "http"},
	}
	for i, o := range all {
		o.tab = first
		if i > 0 {
			o.tab = newTab(t, first.ctx, first.site)
		}
		o.tab.expect(unreachable, broken, reset)
		o.tab.open(o.path)
		if o.field != "" {
			o.tab.typesInto(o.role, o.field, o.text)
		}
	}
	d.kill()
	for _, o := range all {
		o.tab.reads("No connection to Dragoman.")
	}
	d = d.house.start()
	d.tell(ann, "Is anybody there after the storm?")
	for _, o := range all {
		o.tab.back(o.path)
		o.tab.until("what was typed in "+o.path, fmt.Sprintf(`%q === "" || [...document.querySelectorAll("input, textarea")].some((e) => e.value === %q)`, o.text, o.text))
	}
	all[2].tab.reads("Is anybody there after the storm?")
}

// On a slow network a view is there when it can be, and nothing that is typed meanwhile is lost.
func TestWalkSlow(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.conditions(network.Conditions{Latency: 400, DownloadThroughput: 50_000, UploadThroughput: 20_000})
	w.open("/queue")
	w.reads("The bot was blocked or removed")
	w.do(chromedp.Navigate(w.site + "/talk/web:default"))
	w.types("Write a message", "Slowly")
	w.press(kb.Enter)
	w.reads("echo: Slowly")
}

// Somebody sees what their scope lets them see. No view asks for what it would not get: the
// browser would say that a request failed, and complain fails the test.
func TestWalkScopes(t *testing.T) {
	pageKit(t)
	d := lived(t)
	browser := chromium(t)
	for _, who := range []struct {
		scope, person string
		sees          []string
	}{
		{"chat", "telegram:71", []string{"talk", "you", "jobs"}},
		{"read", "operator", []string{"talk", "you", "jobs", "health", "channels", "usage"}},
		{"operate", "operator", []string{"talk", "you", "jobs", "health", "queue", "channels", "people", "usage"}},
	} {
		w := d.walker(browser, d.holder(who.scope, who.person))
		w.open("/talk")
		for _, path := range views {
			w.open(path)
			view, _, _ := strings.Cut(path[1:], "/")
			linked := asks[bool](w, fmt.Sprintf("Boolean(document.querySelector(`.nav a[href='/%s']`))", view))
			mine := strings.Contains(" "+strings.Join(who.sees, " ")+" ", " "+view+" ")
			if linked != mine {
				t.Errorf("%s: a link to %s = %v, want %v", who.scope, view, linked, mine)
			}
			if says := asks[bool](w, `document.body.innerText.includes("This view is not for you")`); says == mine {
				t.Errorf("%s: %s says that it is not for them = %v", who.scope, view, says)
			}
		}
	}
}

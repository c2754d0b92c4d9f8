package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
)

const rich = `A sundial turns the **sun's path** into hours: a rod, the *gnomon*, throws a shadow on a plate.

## How it reads

| Time | Shadow points | Length |
|---|---|---:|
| 9:00 | north-west | 2.1 m |
| 12:00 | north | 1.4 m |
| 15:00 | north-east | 2.1 m |

1. Lean the rod by your latitude.
2. Point it at the pole:
   - north of the equator at the *north* pole
   - south of it at the south pole
3. Mark noon, then 15° for each hour.

` + "```go\n// hourAngle is how far the sun has turned since noon.\nfunc hourAngle(hours float64) float64 {\n\treturn 15 * (hours - 12)\n}\n```" + `

> The shadow knows nothing of time zones.

More at https://example.org/sundials, or ask me to check ` + "`hourAngle(9)`" + `.`

func sundial(question string) string {
	if strings.Contains(question, "count") {
		return "1 " + strings.Repeat("and one more ", 400)
	}
	return rich
}

const (
	connected = `document.querySelector("#link").dataset.state === "connected"`
	lost      = `document.querySelector("#link").dataset.state === "lost"`
	idle      = `!document.querySelector("#progress").classList.contains("on") && document.querySelector("#stop").hidden`
	answers   = `document.querySelectorAll("li.dragoman").length`
)

// A person's whole path through the page, on a wide screen and on a phone.
func TestAPersonsPath(t *testing.T) {
	browser := chrome(t)
	for _, c := range []struct {
		name          string
		width, height int64
		phone         bool
	}{
		{"1400", 1400, 900, false},
		{"360", 360, 740, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t, "", sundial)
			v := visit(t, browser, c.width, c.height, c.phone, "http://"+g.addr+"/old")
			v.until(connected)
			v.until(`!document.querySelector("#empty").hidden && document.querySelectorAll(".tries button").length === 3`)
			v.until(`document.activeElement?.id === "text"`)
			v.fits()
			v.picture(c.name + "-empty")

			v.keys("How does a sundial work?\r")
			v.until(`document.querySelector("#note").textContent === "web_fetch …"`)
			v.until(`document.querySelector("li.writing .text")?.textContent.length > 40`)
			v.until(`!document.querySelector("#stop").hidden && document.querySelector("#send").hidden`)
			v.picture(c.name + "-streaming")
			v.until(idle)
			v.until(answers + ` === 1 && document.querySelector("li.dragoman .block pre").textContent.includes("return 15")`)
			v.until(`document.querySelectorAll("li.dragoman table tr").length === 4 && document.querySelector("li.dragoman li li em") !== null`)
			v.until(`document.querySelector("#spoken").textContent.startsWith("A sundial")`)
			v.fits()
			v.picture(c.name + "-answer")

			v.stopsAnAnswer(g)
			v.reloads()
			v.losesTheServer(g)

			v.scheme("dark")
			v.until(`getComputedStyle(document.body).backgroundColor === "rgb(22, 21, 19)"`)
			v.picture(c.name + "-dark")
			v.scheme("light")
		})
	}
}

// fits checks that nothing is wider than the page and that the message box is visible.
func (v *visitor) fits() {
	v.t.Helper()
	if got := js[int64](v, `innerWidth`); got != v.width { // phones make the page wider for what sticks out
		v.t.Errorf("the page is %d wide on a screen of %d", got, v.width)
	}
	if !js[bool](v, `document.documentElement.scrollWidth <= innerWidth && document.querySelector("main").scrollWidth <= document.querySelector("main").clientWidth`) {
		v.t.Errorf("something is wider than the page: %s", js[string](v, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className).join(" ")`))
	}
	if got := js[string](v, `document.documentElement.scrollHeight <= innerHeight ? "" : document.documentElement.scrollHeight + " > " + innerHeight`); got != "" {
		v.t.Errorf("the page itself can be scrolled: %s", got)
	}
	if !js[bool](v, `document.querySelector("#composer").getBoundingClientRect().bottom <= innerHeight`) {
		v.t.Error("the message box is out of sight")
	}
}

func (v *visitor) stopsAnAnswer(g *gateway) {
	v.t.Helper()
	v.keys("Please count\r")
	v.until(`document.querySelector("li.writing .text")?.textContent.includes("one more")`)
	v.keys("\x1b")
	v.until(idle)
	v.until(`[...document.querySelectorAll("li.dragoman")].at(-1).textContent.includes("(stopped)")`)
	if n := js[int](v, answers); n != 2 {
		v.t.Errorf("%d answers are shown after the stop, want 2: what was written so far became the answer", n)
	}
	if got := g.texts(); !strings.HasSuffix(got[len(got)-1], "*(stopped)*") {
		v.t.Errorf("the daemon's last word = %q, want that it stopped", got[len(got)-1])
	}
}

func (v *visitor) reloads() {
	v.t.Helper()
	v.do(reload)
	v.until(connected)
	v.until(answers + ` === 2 && document.querySelectorAll("li.person").length >= 2`)
	v.until(`document.querySelector("li.dragoman .block pre").textContent.includes("return 15")`)
	if !js[bool](v, `document.querySelector("#empty").hidden`) {
		v.t.Error("the empty state is shown over a history")
	}
}

// losesTheServer writes while the daemon is down, and finds everything once when it is back.
func (v *visitor) losesTheServer(g *gateway) {
	v.t.Helper()
	g.down()
	v.until(lost)
	v.keys("Are you there?\r")
	v.until(`document.querySelector("li.unsent")?.textContent.includes("Are you there?")`)
	v.until(`document.querySelector("li.unsent .meta").textContent.includes("saved")`)
	v.picture(v.name() + "-offline")
	g.mu.Lock()
	g.put(live.Item{ID: "out-meanwhile", From: live.FromDragoman, Text: "Said while you were away."})
	g.mu.Unlock()
	g.back()
	v.until(connected)
	v.until(`!document.querySelector("li.unsent") && ` + answers + ` === 4 && ` + idle)
	count := 0
	for _, text := range g.texts() {
		if text == "Are you there?" {
			count++
		}
	}
	if count != 1 {
		v.t.Errorf("the message written while the daemon was away was stored %d times, want once", count)
	}
	if shown := js[int](v, `[...document.querySelectorAll("li")].filter(e => e.textContent.includes("Said while you were away.")).length`); shown != 1 {
		v.t.Errorf("what was said meanwhile is shown %d times, want once", shown)
	}
}

// An unsent message survives its page.
func TestUnsentOutlivesThePage(t *testing.T) {
	g := newGateway(t, "", sundial)
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/old")
	v.until(connected)
	stub := `fetch = ((f) => (u, o) => o?.method === "POST" ? Promise.reject(new TypeError("away")) : f(u, o))(fetch); true`
	if !js[bool](v, stub) {
		t.Fatal("could not break sending")
	}
	v.keys("Keep me\r")
	v.until(`document.querySelector("li.unsent .meta").textContent.includes("saved")`)
	v.keys("half a draft")
	v.do(reload)
	v.until(answers + ` === 1 && !document.querySelector("li.unsent")`)
	v.until(`document.querySelector("#text").value === "half a draft"`)
	if got := g.texts(); len(got) < 1 || got[0] != "Keep me" {
		t.Errorf("stored = %q, want the kept message", got)
	}
	if !js[bool](v, `Object.keys(localStorage).filter(k => k.includes("outbox")).length === 0`) {
		t.Error("the outbox was not emptied")
	}
}

// A page that missed too much loads the history again. A message that arrives meanwhile is
// shown too.
func TestMessageWhileHistoryLoads(t *testing.T) {
	g := newGateway(t, "", sundial)
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/old")
	v.until(connected)
	stub := `fetch = ((f) => async (u, o) => {
		const response = await f(u, o);
		if (String(u).includes("/feed")) await new Promise((done) => (globalThis.finishFeed = done));
		return response;
	})(fetch); true`
	if !js[bool](v, stub) {
		t.Fatal("could not delay the history")
	}
	g.down()
	v.until(lost)
	for i := range 300 {
		g.put(live.Item{ID: fmt.Sprint("missed-", i), From: live.FromDragoman, Text: "Missed"})
	}
	g.back()
	v.until(`globalThis.finishFeed`)
	const late = `[...document.querySelectorAll("li.dragoman")].some((li) => li.textContent.includes("Late"))`
	g.put(live.Item{ID: "late", From: live.FromDragoman, Text: "Late"})
	if _, err := g.channel().Send(t.Context(), channels.Outbound{ID: "late", Key: channels.MustKey("web:default"), Text: "Late", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	v.until(late)
	js[bool](v, `(globalThis.finishFeed(), true)`)
	v.until(answers + ` === 51 && ` + late)
}

func TestHistoryAndPlace(t *testing.T) {
	g := newGateway(t, "", func(string) string { return strings.Repeat("A new line of the answer.\n\n", 60) })
	for i := range 120 {
		from := live.FromPerson
		if i%2 == 1 {
			from = live.FromDragoman
		}
		g.put(live.Item{
			ID: "old-" + strings.Repeat("i", i+1), From: from, Text: "Message number " + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)),
			At: time.Now().Add(time.Duration(i-120) * time.Hour),
		})
	}
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/old")
	v.until(connected)
	const count = `document.querySelectorAll("li.person, li.dragoman").length`
	const end = `(() => { const m = document.querySelector("main"); return m.scrollHeight - m.scrollTop - m.clientHeight; })()`
	v.until(count + ` === 50 && ` + end + ` < 2`)
	// Earlier messages come, and what was read stays where it was.
	v.until(`(() => { const m = document.querySelector("main"); m.scrollTop = 250; return m.scrollTop === 250; })()`)
	before := js[float64](v, `[...document.querySelectorAll("li.person")].find(e => e.textContent.includes("074")).getBoundingClientRect().top`)
	v.until(count + ` === 100`)
	after := js[float64](v, `[...document.querySelectorAll("li.person")].find(e => e.textContent.includes("074")).getBoundingClientRect().top`)
	if d := after - before; d > 40 || d < -40 { // a day's heading may move
		t.Errorf("what was being read moved by %.0f pixels", d)
	}
	v.until(`(() => { document.querySelector("main").scrollTop = 0; return ` + count + ` === 120; })()`)
	v.until(`document.querySelector("#earlier").hidden`)
	order := js[string](v, `[...document.querySelectorAll("li.person, li.dragoman")].map(e => /\d{3}/.exec(e.textContent)[0]).join()`)
	for i, n := range strings.Split(order, ",") {
		if want := string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)); n != want {
			t.Fatalf("message %d is number %s, want %s", i, n, want)
		}
	}
	v.fits()
	v.picture("history")
	// Somebody who reads above is not pulled down, and gets a button.
	v.until(`(() => { document.querySelector("main").scrollTop = 100; return true; })()`)
	if err := g.Accept(t.Context(), inbound("from-elsewhere", "Another page asks")); err != nil {
		t.Fatal(err)
	}
	v.until(`!document.querySelector("#jump").hidden`)
	if got := js[float64](v, `document.querySelector("main").scrollTop`); got != 100 {
		t.Errorf("the reader was moved to %.0f", got)
	}
	v.picture("jump")
	v.do(click(`#jump`))
	v.until(end + ` < 2 && document.querySelector("#jump").hidden`)
	v.until(idle + ` && ` + end + ` < 2`) // and stays at the end while the answer grows
}

func TestCommandsAndKeys(t *testing.T) {
	g := newGateway(t, "", func(q string) string { return "You said " + q })
	v := visit(t, chrome(t), 360, 740, true, "http://"+g.addr+"/old?room=work")
	v.until(connected)
	v.until(`document.querySelector("#room").textContent === "work"`)
	v.keys("/")
	v.until(`document.querySelectorAll("#commands li").length === 5`)
	const lines = `[...document.querySelectorAll("#commands b")].map((b) => { const r = document.createRange(); r.selectNodeContents(b); return r.getClientRects().length; })`
	if got := js[[]int](v, lines); slices.Max(got) > 1 {
		t.Errorf("the commands' names take %d lines, want one each", got)
	}
	v.picture("commands")
	v.keys("st")
	v.until(`document.querySelectorAll("#commands li").length === 2`)
	v.keys("a\t")
	v.until(`document.querySelector("#text").value === "/status" && document.querySelector("#commands").hidden`)
	v.keys("\r")
	v.until(answers + ` === 1 && document.querySelector("li.dragoman").textContent.includes("You said /status")`)
	if got := js[string](v, `(() => { const b = document.querySelector("#text"); b.value = "two\nlines"; b.dispatchEvent(new Event("input")); return String(b.clientHeight > 50); })()`); got != "true" {
		t.Error("the box does not grow with its text")
	}
	v.do(click(`#send`))
	v.until(answers + ` === 2 && [...document.querySelectorAll("li.person .body")].at(-1).textContent === "two\nlines"`)
	v.fits()
	// What is too long is not sent, and not lost.
	js[bool](v, `(() => { const b = document.querySelector("#text"); b.value = "x".repeat(300000); b.dispatchEvent(new Event("input")); return true; })()`)
	v.do(click(`#send`))
	if n := js[int](v, `document.querySelector("#text").value.length`); n != 300000 {
		t.Errorf("the box holds %d characters after the refusal, want all", n)
	}
}

package story_test

import (
	"testing"

	"dragoman/internal/testkit"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// plain are the chosen elements that look like those beside them, and the shapes without
// any, when the browser takes the page's colours away.
const plain = `(() => {
	const look = (e) => { const s = getComputedStyle(e); return [s.color, s.backgroundColor, s.borderTopColor, s.borderTopStyle, s.borderTopWidth, s.outlineStyle, s.outlineColor, s.textDecorationLine].join(" "); };
	const found = [];
	for (const one of document.querySelectorAll("[aria-pressed=true], [aria-current]")) {
		if (!one.checkVisibility({ visibilityProperty: true })) continue;
		const other = [...one.closest("ul, nav, [role=group], .under, .tools, .head, body").querySelectorAll(one.matches("[aria-pressed]") ? "[aria-pressed=false]" : "a:not([aria-current])")].find((e) => e.className.split(" ")[0] === one.className.split(" ")[0] && e.checkVisibility());
		if (other && look(one) === look(other)) found.push("chosen " + (one.getAttribute("aria-label") || one.textContent).trim().slice(0, 30));
	}
	const ground = getComputedStyle(document.body).backgroundColor;
	for (const one of document.querySelectorAll(".bone, .bubble, .toast, .dots i, .count, .card, .notice")) {
		const s = getComputedStyle(one);
		if (one.checkVisibility() && (s.borderTopStyle === "none" || s.borderTopWidth === "0px") && s.backgroundColor === ground) found.push("shape " + one.className);
	}
	return [...new Set(found)].join(", ");
})()`

// Where the browser takes the page's colours away, what is chosen can still be told from
// what is not, and shapes have an outline.
func TestWalkForcedColours(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	for _, path := range views {
		w.prefers("prefers-reduced-motion=reduce", "forced-colors=active", "prefers-color-scheme=dark")
		w.api(held)
		w.do(chromedp.Navigate(w.site + path))
		w.loading()
		if found := asks[string](w, plain); found != "" {
			t.Errorf("%s on its way, with forced colours: %s", path, found)
		}
		w.api(open)
		w.drawn()
		w.picture(name(path) + "-1440-forced")
		if found := asks[string](w, plain); found != "" {
			t.Errorf("%s with forced colours: %s", path, found)
		}
		w.accessible(path+" with forced colours", "color-contrast") // the browser's own colours
	}
}

// With less motion nothing moves, not even what waits. Otherwise it does.
func TestWalkReducedMotion(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	for _, path := range []string{"/talk", "/talk/telegram:-100200"} {
		for _, wish := range []string{"reduce", "no-preference"} {
			w.prefers("prefers-reduced-motion=" + wish)
			w.api(held)
			w.do(chromedp.Navigate(w.site + path))
			w.loading()
			w.until("bones", `document.querySelector(".bones")`)
			moving := asks[int](w, `document.getAnimations().length`)
			if (moving > 0) != (wish != "reduce") {
				t.Errorf("%s on its way, with motion %s: %d things move", path, wish, moving)
			}
			w.api(open)
			w.drawn()
			if moving := asks[int](w, `document.getAnimations().length`); wish == "reduce" && moving > 0 {
				t.Errorf("%s, with less motion: %d things move", path, moving)
			}
		}
	}
}

// In a house's network the page is opened under a name, over plain http. What a browser
// gives to https alone is not there, and nothing breaks.
func TestWalkHouseNetwork(t *testing.T) {
	pageKit(t)
	p := walkPlan()
	p.rest += "http: {listen: \"127.0.0.1:0\", token: \"" + pageToken + "\"}\n"
	d := livedIn(t, p)
	browser := chromium(t, chromedp.Flag("host-resolver-rules", "MAP dragoman.house.test 127.0.0.1"), chromedp.Flag("disable-features", "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable"))
	w := d.walkerAt(browser, "dragoman.house.test", d.linked())
	w.prefers("prefers-reduced-motion=reduce")
	for _, path := range views {
		w.open(path)
		if asks[bool](w, `isSecureContext`) {
			t.Fatalf("%s is a secure context; then this tests nothing", path)
		}
	}
	w.open("/talk/web:default")
	w.types("Write a message", "Is this the house?")
	w.press(kb.Enter)
	w.reads("echo: Is this the house?")
	w.until("the answer to be whole", `document.querySelector("article.message:last-of-type .under")`)
	w.click("button", "Copy")
	w.reads("Copied")
	if asks[bool](w, `Boolean(document.querySelector("[data-needs-https]"))`) {
		t.Error("something is offered that needs https")
	}
}

// Somebody without a mouse asks, reads, looks something up and decides.
func TestWalkKeyboard(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/talk")
	w.press("/")
	w.focused("Search conversations")
	w.press("-100200")
	w.until("the group to be found", `document.querySelectorAll(".row").length === 1`)
	w.press(kb.Tab)
	for range 5 { // the filters
		w.press(kb.Tab)
	}
	w.press(kb.Enter)
	w.reads("May Dragoman run write_file?")
	w.presses(kb.Tab, "Allow once")
	w.until("the button to be alive", `document.activeElement.getAttribute("aria-disabled") === "false"`)
	w.press(kb.Enter)
	w.reads("Allowed")
	asks[bool](w, `(document.activeElement.blur(), true)`)
	w.press("gq")
	w.reads("The bot was blocked or removed")
	w.presses(kb.Tab, "Actions for telegram:72")
	w.press(kb.Enter)
	w.focused("Try now")
	w.press(kb.ArrowDown)
	w.press(kb.ArrowDown)
	w.focused("Drop it")
	w.press(kb.Escape)
	w.focused("Actions for telegram:72")
	w.press("?")
	w.reads("This sheet")
	w.press(kb.Escape)
	w.until("the sheet to close", `!document.querySelector("dialog[open]")`)
	w.focused("Actions for telegram:72")
}

// focusedName is what assistive technology would say of where the focus is, nearly.
const focusedName = `(() => { const e = document.activeElement; return (e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent || "").trim(); })()`

// focused waits for the focus to be at an element of a name.
func (w *walker) focused(name string) {
	w.t.Helper()
	if !testkit.Poll(most/6, func() bool { return asks[string](w, focusedName) == name }) {
		w.t.Fatalf("the focus is at %q, want %q", asks[string](w, focusedName), name)
	}
}

// presses presses a key until the focus is at an element of a name.
func (w *walker) presses(key, name string) {
	w.t.Helper()
	for range 150 {
		if asks[string](w, focusedName) == name {
			return
		}
		w.press(key)
	}
	w.t.Fatalf("150 presses do not lead to %q", name)
}

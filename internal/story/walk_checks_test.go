package story_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp/kb"
)

// widths are those at which nothing may stick out.
var widths = []int64{320, 360, 768, 1440, 1600}

// fits reports what is wider than the screen.
func (w *walker) fits(where string) {
	w.t.Helper()
	stuck := asks[string](w, `document.documentElement.scrollWidth <= innerWidth ? "" :
		[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
			.slice(-5).map((e) => e.tagName + "." + (e.getAttribute("class") ?? "")).join(" ") || "the page itself"`)
	if stuck != "" {
		w.t.Errorf("%s: wider than the screen: %s", where, stuck)
	}
}

// finding is what axe has against a page.
type finding struct {
	ID, Help string
	Nodes    []struct {
		Target []any
		HTML   string
	}
}

// accessible lets axe look at the page, without some of its rules.
func (w *walker) accessible(where string, without ...string) {
	w.t.Helper()
	rules := ""
	for _, rule := range without {
		rules += fmt.Sprintf("%q: { enabled: false },", rule)
	}
	if !asks[bool](w, `typeof axe === "object"`) {
		source, err := os.ReadFile(filepath.Join(pageKit(w.t), "node_modules/axe-core/axe.min.js"))
		if err != nil {
			w.t.Fatal(err)
		}
		asks[bool](w, string(source)+"; true")
	}
	text := asks[string](w, `axe.run(document, { resultTypes: ["violations"], preload: false, rules: {`+rules+`} }).then((r) =>
		JSON.stringify(r.violations.map((v) => ({ ID: v.id, Help: v.help, Nodes: v.nodes.map((n) => ({ Target: n.target, HTML: n.html })) }))))`)
	var found []finding
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range found {
		w.t.Errorf("%s: axe: %s (%s): %v %.200s", where, f.Help, f.ID, f.Nodes[0].Target, f.Nodes[0].HTML)
	}
}

// tabbing is what tabs asks of the page after each press: where the focus is now, "" at the end.
const tabbing = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return "";
	(window.reached ??= new Set()).add(e);
	const r = e.getBoundingClientRect();
	const seen = r.width > 0 && r.height > 0 && r.bottom > 0 && r.top < innerHeight && e.checkVisibility({ visibilityProperty: true });
	return (seen ? "" : "UNSEEN ") + e.tagName + " " + (e.getAttribute("aria-label") || e.textContent || e.placeholder || e.title || "").trim().slice(0, 40);
})()`

// passed are the elements for keyboards that Tab did not come to. Of radio buttons one has the focus.
const passed = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter((e) =>
	e.tabIndex >= 0 && !e.disabled && e.type !== "radio" && !e.closest("[inert]") && e.checkVisibility({ visibilityProperty: true }) && !window.reached?.has(e))
	.map((e) => e.tagName + " " + (e.getAttribute("aria-label") || e.textContent).trim().slice(0, 40)).join(", ")`

// tabs goes through the page with the Tab key alone. It must come to everything that a mouse can
// press, each stop must be in sight, and after the last one the browser has the focus.
func (w *walker) tabs(where string) {
	w.t.Helper()
	asks[bool](w, `(window.reached = undefined, document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute("tabindex"), true)`)
	const most = 300
	for n := range most {
		w.press(kb.Tab)
		stop := asks[string](w, tabbing)
		if stop == "" {
			break
		}
		if strings.HasPrefix(stop, "UNSEEN") || n == most-1 {
			w.t.Errorf("%s: after %d presses, Tab leads to %s", where, n, stop)
		}
	}
	if missed := asks[string](w, passed); missed != "" {
		w.t.Errorf("%s: Tab does not come to %s", where, missed)
	}
}

// everywhere is what holds for each view, whatever it shows.
func (w *walker) everywhere(path string) {
	w.t.Helper()
	w.prefers("prefers-reduced-motion=reduce") // axe would measure colours half way
	for _, width := range widths {
		w.resize(width, 800)
		w.open(path)
		w.fits(fmt.Sprintf("%s at %d", path, width))
		if width != 360 && width != 1440 {
			continue
		}
		w.bothThemes(path, width)
		asks[bool](w, `(document.documentElement.style.fontSize = "200%", true)`)
		w.fits(fmt.Sprintf("%s at %d with large letters", path, width))
		asks[bool](w, `(document.documentElement.style.fontSize = "", true)`)
		w.tabs(fmt.Sprintf("%s at %d", path, width))
	}
}

// everyWidth is what holds for what is on the screen now, which loading again would change.
func (w *walker) everyWidth(what string) {
	w.t.Helper()
	w.prefers("prefers-reduced-motion=reduce")
	for _, width := range widths {
		w.resize(width, 800)
		w.fits(fmt.Sprintf("%s at %d", what, width))
		if width != 360 && width != 1440 {
			continue
		}
		w.bothThemes(what, width)
	}
}

// bothThemes is what holds for what is on the screen now, by day and by night.
func (w *walker) bothThemes(what string, width int64) {
	w.t.Helper()
	w.picture(fmt.Sprintf("%s-%d-light", name(what), width))
	w.accessible(fmt.Sprintf("%s at %d", what, width))
	w.prefers("prefers-reduced-motion=reduce", "prefers-color-scheme=dark")
	w.picture(fmt.Sprintf("%s-%d-dark", name(what), width))
	w.accessible(fmt.Sprintf("%s at %d in the dark", what, width))
	w.prefers("prefers-reduced-motion=reduce")
}

// name makes a file's name of an address.
func name(path string) string {
	return strings.Trim(strings.NewReplacer("/", "-", " ", "-", ":", "-", "%3A", "-").Replace(path), "-")
}

package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Escape and Enter that end the composition of an input method neither stop the answer
// that is coming nor send the word; the next Escape stops it.
func TestEscapeOfAComposition(t *testing.T) {
	g := newGateway(t, "", func(string) string { return strings.Repeat("one more ", 4000) })
	g.pace = 50 * time.Millisecond
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/old")
	v.until(connected)
	v.keys("Please count\r")
	v.until(`document.querySelector("li.writing .text")?.textContent.includes("one more")`)

	v.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { // a composition is open
		_, err := cdp.Call(ctx, t, input.ImeSetComposition, input.ImeSetCompositionParams{Text: "にほん", SelectionStart: 3, SelectionEnd: 3})
		return err
	}))
	v.until(`document.querySelector("#composer textarea").value === "にほん"`)
	for what, init := range map[string]string{
		"as browsers say it today":            `{key: "Escape", isComposing: true, bubbles: true, cancelable: true}`,
		"as some browsers say it":             `{key: "Escape", keyCode: 229, bubbles: true, cancelable: true}`,
		"on the document, not in the box":     `{key: "Escape", isComposing: true, keyCode: 229, bubbles: true}`,
		"its word is taken with Enter":        `{key: "Enter", isComposing: true, bubbles: true, cancelable: true}`,
		"its word is taken, as others say it": `{key: "Enter", keyCode: 229, bubbles: true, cancelable: true}`,
	} {
		target := `document.querySelector("#composer textarea")`
		if strings.HasPrefix(what, "on the document") {
			target = `document.body`
		}
		js[bool](v, target+`.dispatchEvent(new KeyboardEvent("keydown", `+init+`))`)
		time.Sleep(300 * time.Millisecond) // as long as a stop takes
		if js[bool](v, idle) || strings.Contains(strings.Join(g.texts(), ""), "(stopped)") {
			t.Fatalf("a key of a composition, %s, stopped the answer", what)
		}
		if got := js[string](v, `document.querySelector("#composer textarea").value`); got != "にほん" {
			t.Fatalf("after a key of a composition, %s, the box holds %q", what, got)
		}
	}
	js[bool](v, `document.querySelector("#composer textarea").dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true, cancelable: true}))`)
	v.until(idle)
	v.until(`[...document.querySelectorAll("li.dragoman")].at(-1).textContent.includes("(stopped)")`)
}

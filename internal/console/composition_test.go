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

// Escape that ends the composition of an input method does not stop the answer that is
// coming; the next Escape does.
func TestEscapeOfAComposition(t *testing.T) {
	g := newGateway(t, "", func(string) string { return strings.Repeat("one more ", 4000) })
	g.pace = 50 * time.Millisecond
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/")
	v.until(connected)
	v.keys("Please count\r")
	v.until(`document.querySelector("li.writing .text")?.textContent.includes("one more")`)

	v.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { // a composition is open
		_, err := cdp.Call(ctx, t, input.ImeSetComposition, input.ImeSetCompositionParams{Text: "にほん", SelectionStart: 3, SelectionEnd: 3})
		return err
	}))
	v.until(`document.querySelector("#composer textarea").value === "にほん"`)
	for what, init := range map[string]string{
		"as browsers say it today":        `{key: "Escape", isComposing: true, bubbles: true, cancelable: true}`,
		"as some browsers say it":         `{key: "Escape", keyCode: 229, bubbles: true, cancelable: true}`,
		"on the document, not in the box": `{key: "Escape", isComposing: true, keyCode: 229, bubbles: true}`,
	} {
		target := `document.querySelector("#composer textarea")`
		if strings.HasPrefix(what, "on the document") {
			target = `document.body`
		}
		js[bool](v, target+`.dispatchEvent(new KeyboardEvent("keydown", `+init+`))`)
		time.Sleep(300 * time.Millisecond) // as long as a stop takes
		if js[bool](v, idle) || strings.Contains(strings.Join(g.texts(), ""), "(stopped)") {
			t.Fatalf("Escape of a composition, %s, stopped the answer", what)
		}
	}
	js[bool](v, `document.querySelector("#composer textarea").dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true, cancelable: true}))`)
	v.until(idle)
	v.until(`[...document.querySelectorAll("li.dragoman")].at(-1).textContent.includes("(stopped)")`)
}

package console_test

import "testing"

// An answer is copied as the model wrote it; a code block alone.
func TestCopy(t *testing.T) {
	const said = "Use **this**:\n\n```go\nx := 1\n```"
	g := newGateway(t, "", func(string) string { return said })
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/old")
	v.until(connected)
	js[bool](v, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`)
	v.do(click("#text"))
	v.keys("How?\r")
	v.until(`document.querySelector(".dragoman .take")`)
	for selector, want := range map[string]string{".dragoman > .copy": said, ".block .copy": "x := 1"} {
		v.do(click(selector))
		v.until(`document.querySelector("` + selector + `").textContent === "Copied"`)
		if got := js[string](v, "window.copied"); got != want {
			t.Errorf("%s copies %q, want %q", selector, got, want)
		}
	}
}

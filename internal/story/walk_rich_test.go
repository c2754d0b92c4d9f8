package story_test

import "testing"

// richPaint is what a browser may fetch for a conversation with code and formulas. A slow one
// has also fetched what comes two seconds later: 193,042 bytes, against 171,669 without it.
const richPaint = 195_000

// Code gets colours, and formulas are set, once they are in sight. A wrong formula stays as
// it was written.
func TestWalkRich(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/telegram:71")
	asks[bool](w, `(document.querySelector(".block").scrollIntoView(), true)`)
	w.until("colours in the code", `document.querySelector(".block .tok-keyword")?.textContent === "func"`)
	w.until("a fraction", `document.querySelector(".formula.display math mfrac")`)
	w.until("a wrong formula in its own words", `document.querySelector(".formula.wrong")?.textContent === "\\(\\nosuch{h}\\)"`)
	w.mu.Lock()
	wire := w.wire
	w.mu.Unlock()
	t.Logf("%d bytes on the wire", wire)
	if wire > richPaint {
		t.Errorf("a conversation with code and formulas fetches %d bytes, want at most %d", wire, richPaint)
	}
	if got := asks[string](w, `document.querySelector(".block code").textContent`); got != shownCode {
		t.Errorf("the code reads\n%s\nwant\n%s", got, shownCode)
	}
	asks[bool](w, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, document.querySelector(".block .copy").click(), true)`)
	w.until("the button to say so", `document.querySelector(".block .copy").textContent === "Copied"`)
	if got := asks[string](w, `window.copied`); got != shownCode {
		t.Errorf("copied\n%s\nwant\n%s", got, shownCode)
	}
	if asks[bool](w, `getComputedStyle(document.querySelector(".tok-keyword")).color === getComputedStyle(document.querySelector(".block code")).color`) {
		t.Error("a keyword has the colour of all code")
	}
	for _, theme := range []string{"light", "dark"} {
		w.prefers("prefers-reduced-motion=reduce", "prefers-color-scheme="+theme)
		w.accessible("code and formulas, " + theme)
		w.picture("rich-" + theme)
	}
}

// The details say how full the model's window is, and make room.
func TestWalkWindow(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/telegram:71/details")
	w.find("image", "The model's window: 2 %")
	w.reads("of 100,000 tokens")
	w.accessible("details")
	w.picture("details-1440")
	w.click("button", "Summarise now")
	w.reads("It is being summarised.")
	w.resize(360, 800)
	w.open("/talk/telegram:71/details")
	w.find("image", "The model's window: 2 %")
	w.fits("details at 360")
}

package story_test

import (
	"fmt"
	"testing"
)

// In Arabic the page is mirrored, and as sound as it is in English.
func TestWalkRightToLeft(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.prefers("prefers-reduced-motion=reduce")
	w.open("/talk")
	asks[bool](w, `(localStorage.setItem("dragoman.language", '"ar"'), true)`)
	for _, path := range views {
		for _, width := range []int64{320, 360, 1440} {
			w.resize(width, 800)
			w.open(path)
			where := fmt.Sprintf("%s in Arabic at %d", path, width)
			if dir := asks[string](w, `document.documentElement.dir`); dir != "rtl" {
				t.Fatalf("%s: the direction is %q", where, dir)
			}
			w.fits(where)
			w.picture(fmt.Sprintf("%s-%d-arabic", name(path), width))
			if wrong := asks[string](w, cutWords); wrong != "" {
				t.Errorf("%s: %s", where, wrong)
			}
			if width == 320 {
				continue
			}
			w.accessible(where)
			if side := asks[float64](w, `(document.querySelector(".nav .brand").getBoundingClientRect().left / innerWidth)`); width == 1440 && side < 0.5 {
				t.Errorf("%s: the navigation begins at %.0f %% of the width", where, 100*side)
			}
		}
	}
	w.resize(1440, 800)
	w.open("/talk/telegram:71") // code is read from the left in any language
	const code = `(() => { const pre = document.querySelector(".answer").appendChild(document.createElement("pre")); const { direction } = getComputedStyle(pre); pre.remove(); return direction })()`
	if got := asks[string](w, code); got != "ltr" {
		t.Errorf("code is %s in Arabic, want ltr", got)
	}
	w.open("/settings") // what the daemon says in English is marked as that
	w.until("an English finding", `document.querySelector(".notice bdi[lang=en][dir=ltr]")?.textContent.startsWith("the model has no price")`)
	w.open("/log")
	w.until("English lines", `document.querySelector(".log .text[lang=en][dir=ltr]")`)
}

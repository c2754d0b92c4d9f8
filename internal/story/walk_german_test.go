package story_test

import (
	"fmt"
	"testing"
)

// cutWords are the labels of the navigation that are cut, broken or over one another, the
// segments and filters that cannot be seen, and the tables that scroll sideways.
const cutWords = `(() => {
	const wrong = [];
	const labels = [...document.querySelectorAll(".nav a > span, .nav .tab > span")].filter((e) => !e.closest(".brand") && e.checkVisibility() && !e.matches(".count"));
	for (const e of labels) {
		const r = e.getBoundingClientRect();
		const around = e.parentElement.getBoundingClientRect();
		if (r.left < around.left - 0.5 || r.right > around.right + 0.5) wrong.push(e.textContent + " sticks out");
		if (r.height > 24 && !e.textContent.includes("\u00ad")) wrong.push(e.textContent + " is broken");
	}
	for (const e of document.querySelectorAll(".segments button, .filters .chip")) {
		const r = e.getBoundingClientRect();
		const box = e.parentElement.getBoundingClientRect();
		if (r.left < box.left - 0.5 || r.right > box.right + 0.5) wrong.push(e.textContent + " is out of sight");
	}
	for (const e of document.querySelectorAll(".tablewrap")) {
		if (e.scrollWidth > e.clientWidth) wrong.push("a table scrolls sideways");
	}
	const nav = document.querySelector(".nav");
	if (nav.scrollHeight > nav.clientHeight + 1) wrong.push("the navigation scrolls");
	return wrong.join(", ");
})()`

// German has long words. Whatever can be pressed is there in whole, on phones and in the rail
// of a tablet on its side, and numbers are written as in German.
func TestWalkGerman(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.prefers("prefers-reduced-motion=reduce")
	w.open("/talk")
	asks[bool](w, `(localStorage.setItem("dragoman.language", '"de"'), true)`)
	for _, size := range [][2]int64{{320, 700}, {360, 740}, {768, 1024}, {1024, 768}} {
		w.resize(size[0], size[1])
		for _, path := range []string{"/talk", "/usage", "/health"} {
			w.open(path)
			where := fmt.Sprintf("%s in German at %d", path, size[0])
			w.picture(name(where))
			w.fits(where)
			if wrong := asks[string](w, cutWords); wrong != "" {
				t.Errorf("%s: %s", where, wrong)
			}
		}
	}
	w.open("/talk/telegram:71")
	w.until("a time with a German comma", `[...document.querySelectorAll(".cost")].some((e) => /\d,\d s$/.test(e.textContent))`)
}

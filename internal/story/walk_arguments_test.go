package story_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// manyValues are arguments as a program might send them: long, nested, with code, in two
// directions, and with names that have no space.
func manyValues() string {
	text, err := json.Marshal(map[string]any{
		"path":                                   "watering/" + strings.Repeat("a-folder-with-a-long-name/", 6) + "plan.txt",
		"content":                                shownCode + "\n" + strings.Repeat("Mondays Ann waters, and Thursdays Bob. ", 30),
		"address":                                "https://example.org/" + strings.Repeat("abcdefghij", 12),
		"note":                                   "مرحبا، كيف تعمل الساعة الشمسية؟",
		"nested":                                 map[string]any{"who": []string{"Ann", "Bob"}, "when": map[string]any{"day": "Monday", "hour": 7}, "key": strings.Repeat("0123456789", 9)},
		"a_name_of_an_argument_that_is_too_long": true,
		"empty":                                  "",
		"number":                                 1234567.5,
		"hidden":                                 "one\u202etwo",
		"query":                                  "SELECT *\nFROM beds\nWHERE dry = 1",
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// inArguments is what is wrong with how arguments are shown: a box that scrolls sideways, a
// name or a value outside of its box, or next to no room for a value.
const inArguments = `[...document.querySelectorAll(".arguments")].flatMap((box) => {
	const room = box.getBoundingClientRect();
	const out = box.scrollWidth > box.clientWidth ? ["it scrolls sideways"] : [];
	for (const e of box.querySelectorAll("dt, dd")) {
		const r = e.getBoundingClientRect();
		const what = e.tagName + " " + e.textContent.slice(0, 20);
		if (r.left < room.left || r.right > room.right + 1 || e.scrollWidth > e.clientWidth + 1) out.push(what + " sticks out");
		if (e.tagName === "DD" && r.width < 150) out.push(what + " has " + r.width + " px");
	}
	return box.querySelector("dt") ? out : ["no names"];
}).join(", ")`

// What a call would do can be read on each screen, by day and by night, in both directions.
func TestWalkArguments(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.prefers("prefers-reduced-motion=reduce")
	key := channels.MustKey("web:default")
	ask := api.Question{Key: key, Text: "!tool write_file " + manyValues(), Wait: "1s"}
	if _, err := api.PutQuestion.Call(t.Context(), d.admin, ask); err == nil {
		t.Fatal("the call did not wait for a yes")
	}
	testkit.Eventually(t, "a call to wait for a yes", func() bool {
		waiting, err := api.ListApprovals.Call(t.Context(), d.admin, api.ApprovalQuery{})
		return err == nil && len(waiting.Data) > 0
	})
	for _, language := range []string{"en", "ar", "de"} {
		w.open("/talk")
		asks[bool](w, fmt.Sprintf(`(localStorage.setItem("dragoman.language", '%q'), true)`, language))
		for _, path := range []string{"/you", "/talk/" + url.PathEscape(key.String())} {
			for _, width := range []int64{320, 360, 1440} {
				w.resize(width, 800)
				w.open(path)
				w.until("the call", `document.querySelector(".arguments")`)
				where := fmt.Sprintf("arguments %s %s %d", name(path), language, width)
				w.fits(where)
				if wrong := asks[string](w, inArguments); wrong != "" {
					t.Errorf("%s: %s", where, wrong)
				}
				if language != "de" && width != 320 {
					w.bothThemes(where, width)
				} else {
					w.picture(name(where))
				}
			}
		}
	}
}

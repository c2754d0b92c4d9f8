package story_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// firstPaint is what a browser may fetch before a view is there, in bytes on the wire.
const firstPaint = 100_000

// Each view fits each screen, is accessible in both themes, can be read with large letters,
// and is reached with the keyboard alone.
func TestWalkEverywhere(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	for _, path := range []string{"/talk", "/you", "/jobs", "/queue", "/channels", "/people", "/usage", "/health", "/log", "/settings"} {
		began := time.Now()
		w.everywhere(path)
		t.Logf("%s took %s", path, time.Since(began).Round(time.Millisecond))
	}
}

// Nobody waits for more than 100 KB before the first view is there.
func TestWalkFirstPaint(t *testing.T) {
	pageKit(t)
	d := lived(t)
	browser := chromium(t)
	for _, path := range []string{"/talk", "/health", "/queue"} {
		w := d.walker(browser, d.linked())
		w.open(path)
		w.mu.Lock()
		wire := w.wire
		w.mu.Unlock()
		t.Logf("%s: %d bytes on the wire", path, wire)
		if wire > firstPaint || wire == 0 {
			t.Errorf("%s fetches %d bytes before it is there, want at most %d", path, wire, firstPaint)
		}
	}
}

// Somebody asks, and reads the answer as it is written.
func TestWalkTalk(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.do(chromedp.Navigate(w.site + "/"))
	w.types("Message", "How does a sundial work?")
	w.click("button", "Send")
	w.reads("The shadow knows nothing of time zones.")
}

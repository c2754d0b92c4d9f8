package story_test

import (
	"slices"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/testkit"

	"github.com/chromedp/chromedp"
)

// views are where the page draws something. Their daemon is lived.
var views = []string{"/talk", "/talk/telegram:71", "/you", "/jobs", "/health", "/queue", "/channels", "/people", "/people/telegram:71", "/usage", "/log", "/settings"}

// firstPaint is what a browser may fetch before a view is there, in bytes on the wire.
const firstPaint = 100_000

// Each view fits each screen, is accessible in both themes, can be read with large letters,
// and is reached with the keyboard alone.
func TestWalkEverywhere(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	for _, path := range views {
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
	for _, path := range []string{"/talk", "/talk/telegram:72", "/health", "/queue"} {
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
	w.is("/talk")
	w.click("link", "Say hello")
	w.types("Write a message", "How does a sundial work?\r")
	w.reads("The shadow knows nothing of time zones.")
}

// An operator sees what is wrong, finds the message that cannot be delivered, and drops it.
func TestWalkQueue(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/health")
	w.find("slider", "Memory")
	w.click("link", "Queue")
	w.reads("The bot was blocked or removed")
	w.click("button", "Actions for telegram:72")
	w.click("button", "Drop it")
	w.reads("Dropped.")
	w.click("button", "Undo")
	w.reads("The bot was blocked or removed")
	w.click("button", "Actions for telegram:72")
	w.click("button", "Drop it")
	w.reads("Dropped.")
	testkit.Eventually(t, "the message to be gone", func() bool {
		queue, err := api.ListQueue.Call(t.Context(), d.admin, api.QueueQuery{})
		return err == nil && !slices.ContainsFunc(queue.Data, func(i api.QueueItem) bool { return i.Kind == "out" && i.Error != "" })
	})
}

// An operator lets a stranger in, and makes a token that is shown once.
func TestWalkPeople(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/channels")
	w.reads("Carol wants to talk on Telegram.")
	w.click("button", "Approve")
	w.reads("Approved.")
	w.click("link", "People")
	w.click("button", "New token")
	w.types("Name", "kitchen-tablet")
	w.click("button", "Create")
	w.find("textbox", "The token")
	w.click("button", "Close")
	w.click("button", "Revoke kitchen-tablet …")
	w.click("button", "Revoke")
	w.reads("Revoked.")
	w.reads("revoked")
}

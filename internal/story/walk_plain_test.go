package story_test

import "testing"

// What waits and what is wrong is said in words for people, and figures say since when they
// are counted.
func TestWalkPlainWords(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/queue")
	w.reads("Somebody must say yes or no. The code of the question is ")
	if w.has("it waits for a yes") {
		t.Error("the queue shows the daemon's words")
	}
	w.picture("plain-queue")
	w.open("/health")
	w.reads("Since the start at ")
	w.reads("Tokens by day")
	w.until("the plots before the checks", `[...document.querySelectorAll("h2")].map((e) => e.textContent).join().match(/The last hour.*The last two weeks.*Checks.*What is on/)`)
	w.picture("plain-health")
	w.open("/people")
	w.reads("in this hour")
	w.picture("plain-people")
}

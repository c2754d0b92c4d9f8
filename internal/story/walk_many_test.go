package story_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	manyTalks    = 10_000
	longMessages = 20_000
	pageOfRows   = 50
)

// imported is a document that dragoman sessions import takes.
type imported struct {
	Key      string            `json:"key"`
	Messages []importedMessage `json:"messages"`
	Created  time.Time         `json:"created"`
	Updated  time.Time         `json:"updated"`
}

type importedMessage struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	At      time.Time `json:"created_at"`
}

// saidOf makes a conversation of questions and answers that end at a time.
func saidOf(key string, messages int, end time.Time) imported {
	d := imported{Key: key, Created: end.Add(-time.Duration(messages) * time.Minute), Updated: end}
	for i := range messages {
		m := importedMessage{Role: "user", Content: fmt.Sprintf("What do you know about the number %d, and is it a good one to think of today?", i), At: d.Created.Add(time.Duration(i+1) * time.Minute)}
		if i%2 == 1 {
			m.Role = "assistant"
			m.Content = fmt.Sprintf("The number **%d** is as good as any other:\n\n- it is neither *large* nor small\n- `%d` has a square, which is %d\n\nI would not worry about it until tomorrow.", i, i, i*i)
		}
		d.Messages = append(d.Messages, m)
	}
	return d
}

// crowded is a house with 10,000 conversations, most of them the operator's own, and one of
// 20,000 messages.
func crowded(t *testing.T) *daemon {
	t.Helper()
	h := newHouse(t, walkPlan())
	path := filepath.Join(h.dir, "many.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	enc := json.NewEncoder(out)
	now := time.Now().UTC()
	fmt.Fprintln(out, "[")
	for i := range manyTalks - 1 {
		key := fmt.Sprintf("web:c%010x", i)
		if i%5 == 0 {
			key = fmt.Sprintf("telegram:%d", 100_000+i)
		}
		if err := enc.Encode(saidOf(key, 2, now.Add(-time.Duration(i)*time.Minute))); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(out, ",")
	}
	if err := enc.Encode(saidOf("web:long", longMessages, now)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(out, "]")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*most) // a busy machine takes more than one
	defer cancel()
	if out, err := h.command(ctx, "sessions", "import", path).CombinedOutput(); err != nil {
		t.Fatalf("dragoman sessions import: %v\n%s", err, out)
	}
	t.Logf("filling the store took %s", time.Since(began).Round(time.Millisecond))
	d := h.start()
	if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: channels.MustKey("web:default"), Text: "How does a sundial work?"}); err != nil {
		t.Fatal(err)
	}
	return d
}

// stopwatch notes in a page when something is drawn for the first time.
const stopwatch = `new MutationObserver((_, o) => { if (document.querySelector(%q)) { requestAnimationFrame(() => { window.drawnAt = performance.now(); }); o.disconnect(); } }).observe(document, { childList: true, subtree: true })`

// drawnAfter opens a view and returns how long it took until it showed something.
func (w *walker) drawnAfter(path, selector string) time.Duration {
	w.t.Helper()
	script := call(w, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(stopwatch, selector)})
	w.do(chromedp.Navigate(w.site + path))
	w.until(selector, "window.drawnAt")
	call(w, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(script))
	return time.Duration(asks[float64](w, "window.drawnAt") * float64(time.Millisecond))
}

// asked is how many requests to the API the page has made since it was loaded, and their bytes.
func (w *walker) requests() (n, bytes int) {
	w.t.Helper()
	list := asks[[]int](w, `performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/v1/")).map((e) => e.transferSize)`)
	for _, b := range list {
		bytes += b
	}
	return len(list), bytes
}

// With 10,000 conversations, one of them with 20,000 messages, the page asks for pages of
// fifty, draws no more than it shows and some around it, and is as quick as with few.
func TestWalkMany(t *testing.T) {
	pageKit(t)
	d := crowded(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/talk") // the files of the page are in the browser's cache from here on
	const soon = time.Second
	figure := func(what string, took time.Duration, limit time.Duration) {
		t.Logf("%s: %d ms", what, took.Milliseconds())
		if os.Getenv("DRAGOMAN_BENCH") != "" && took > limit {
			t.Errorf("%s took %s, want at most %s", what, took, limit)
		}
	}
	bounded := func(where string, mostRequests, mostBytes, mostElements int) {
		n, bytes := w.requests()
		nodes := asks[int](w, `document.querySelectorAll("*").length`)
		t.Logf("%s: %d requests, %d bytes, %d elements", where, n, bytes, nodes)
		if n > mostRequests || bytes > mostBytes || nodes > mostElements {
			t.Errorf("%s: want at most %d requests, %d bytes and %d elements", where, mostRequests, mostBytes, mostElements)
		}
	}
	figure("the list of 10,000 conversations is drawn", w.drawnAfter("/talk", ".row"), soon)
	w.drawn()
	bounded("the list", 12, 60_000, 2000)
	if n := asks[int](w, `document.querySelectorAll(".row").length`); n != pageOfRows {
		t.Errorf("the list draws %d rows, want %d", n, pageOfRows)
	}
	for i := range 10 {
		rows := (i + 2) * pageOfRows
		took := w.timed(`document.querySelector(".rows").scrollTop = 1e9`, fmt.Sprintf(`(document.querySelector(".rows").dispatchEvent(new Event("scroll")), document.querySelectorAll(".row").length >= %d)`, rows))
		if i == 9 {
			figure("the eleventh page of the list", took, soon)
		}
	}
	bounded("500 rows further", 30, 400_000, 9000)

	figure("a conversation of 20,000 messages is drawn", w.drawnAfter("/talk/web:long", ".message"), soon)
	w.drawn()
	bounded("the conversation", 18, 120_000, 3000)
	asks[bool](w, `(window.numbers = () => [...document.querySelectorAll(".mine .bubble")].map((e) => Number(e.textContent.match(/\d+/)[0])), true)`)
	for i := range 20 {
		oldest := longMessages - (i+2)*pageOfRows
		took := w.timed(`document.querySelector(".scroll").scrollTop = 0`, fmt.Sprintf(`numbers()[0] === %d`, oldest))
		if i == 19 {
			figure("the page 1,000 messages ago", took, soon)
		}
		if seen := asks[int](w, `numbers().find((_, i) => document.querySelectorAll(".mine")[i].getBoundingClientRect().bottom > document.querySelector(".scroll").getBoundingClientRect().top)`); seen < oldest+pageOfRows-2 || seen > oldest+pageOfRows+2 {
			t.Errorf("earlier messages came, and the reader sees number %d and not %d, as before", seen, oldest+pageOfRows)
		}
	}
	figure("a letter with 1,000 messages drawn", w.timed(`(() => { const e = document.querySelector("#text"); e.value = "a"; e.dispatchEvent(new Event("input", { bubbles: true })); })()`, `document.querySelector("#text").value === "a"`), 100*time.Millisecond)
	bounded("1,000 messages further", 90, 1_500_000, 12_000)
	for range 20 { // and down again, page by page
		newest := asks[int](w, `numbers().at(-1)`)
		if newest == longMessages-2 {
			break
		}
		w.timed(`document.querySelector(".scroll").scrollTop += 1e6`, fmt.Sprintf(`numbers().at(-1) > %d`, newest))
	}
	if all := asks[[]int](w, `numbers()`); all[len(all)-1] != longMessages-2 || len(all) > 250 {
		t.Errorf("at the end again, %d questions are drawn, the last one with the number %d", len(all), all[len(all)-1])
	}

	w.open("/talk")
	figure("a search in titles and words", w.timed(`(() => { const e = document.querySelector("#search"); e.value = "the gnomon throws"; e.dispatchEvent(new Event("input", { bubbles: true })); })()`, `document.querySelector(".row mark")`), 2*soon)
	w.until("one row, with the words", `document.querySelectorAll(".row").length === 1`)
	bounded("the search", 40, 400_000, 2000)
}

// timed runs a statement and returns how long it takes until a condition holds and is drawn.
func (w *walker) timed(statement, condition string) time.Duration {
	w.t.Helper()
	ms := asks[float64](w, fmt.Sprintf(`(async () => {
		const began = performance.now();
		%s;
		for (let n = 0; !(%s); n++) {
			if (performance.now() - began > 20000) return -1;
			await new Promise(requestAnimationFrame);
		}
		await new Promise(requestAnimationFrame);
		return performance.now() - began;
	})()`, statement, condition))
	if ms < 0 {
		w.picture("failed-" + w.t.Name())
		w.t.Fatalf("waited in vain for %s after %s", condition, statement)
	}
	return time.Duration(ms * float64(time.Millisecond))
}

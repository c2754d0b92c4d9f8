package story_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
)

const (
	deltaLimit  = 4 * time.Millisecond // of the page's own time, for one piece of an answer
	deltaEvery  = 12 * time.Millisecond
	manyAnswers = 1000
	tabMayGrow  = 4e6 // bytes of JavaScript: 150 to 300 messages are kept
)

// metrics are what the browser counts of a tab.
func (w *walker) metrics() map[string]float64 {
	w.t.Helper()
	found := map[string]float64{}
	for _, m := range call(w, performance.GetMetrics, cdp.Empty{}).Metrics {
		found[m.Name] = m.Value
	}
	return found
}

// benchmarked skips a test that only make bench-page runs.
func benchmarked(t *testing.T) {
	t.Helper()
	pageKit(t)
	if os.Getenv("DRAGOMAN_BENCH") == "" {
		t.Skip("run it with: make bench-page")
	}
}

// long is an answer of about a thousand words with all kinds of blocks.
var long = strings.Repeat(shown+"\n\n", 5)

// One piece of a long answer with code, tables and formulas costs the page at most 4 ms of
// script, style and layout, in a conversation with thirty answers.
func TestBenchDelta(t *testing.T) {
	benchmarked(t)
	pieces := strings.SplitAfter(long, " ")
	p := walkPlan()
	p.options = agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		if !strings.Contains(r.LastUser(), "slowly") {
			return walkModel
		}
		return func(x *agenttest.Exchange) {
			for _, piece := range pieces {
				x.Text(piece)
				x.Flush()
				x.Wait(deltaEvery)
			}
			x.End("stop")
		}
	}}
	d := newHouse(t, p).start()
	k := channels.MustKey("web:default")
	for i := range 30 {
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: k, Text: fmt.Sprintf("sundial %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web:default")
	w.until("formulas", `document.querySelector(".formula math")`)
	call(w, performance.Enable, performance.EnableParams{})
	w.types("Write a message", "Tell it slowly\r")
	w.until("the answer to begin", `document.querySelector(".growing")?.textContent.length > 100`)
	asks[bool](w, `(window.draws = 0, new MutationObserver(() => { window.draws++; }).observe(document.querySelector(".growing"), { childList: true, subtree: true, characterData: true }), true)`)
	before := w.metrics()
	began := time.Now()
	deadline := began.Add(time.Duration(len(pieces)) * deltaEvery * 3)
	for asks[bool](w, `Boolean(document.querySelector(".growing"))`) && time.Now().Before(deadline) {
		<-time.After(200 * time.Millisecond)
	}
	took := time.Since(began)
	after := w.metrics()
	var spent time.Duration
	for _, part := range []string{"ScriptDuration", "LayoutDuration", "RecalcStyleDuration"} {
		ms := (after[part] - before[part]) * 1000
		t.Logf("%s: %.0f ms", part, ms)
		spent += time.Duration(ms * float64(time.Millisecond))
	}
	draws := asks[int](w, `window.draws`)
	each := spent / time.Duration(len(pieces))
	t.Logf("%d pieces in %s, drawn %d times: %.2f ms for a piece", len(pieces), took.Round(time.Millisecond), draws, float64(each)/1e6)
	if each > deltaLimit {
		t.Errorf("a piece costs %s, want at most %s", each, deltaLimit)
	}
}

// A tab in which a thousand answers came holds hardly more than after the first 250.
func TestBenchTab(t *testing.T) {
	benchmarked(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	call(w, performance.Enable, performance.EnableParams{})
	w.open("/talk/web:default")
	k := channels.MustKey("web:default")
	var first, last float64
	for i := range manyAnswers {
		about := "a clock"
		if i%10 == 0 {
			about = "a sundial" // which has code and formulas
		}
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: k, Text: fmt.Sprintf("How does %s of number %d work?", about, i)}); err != nil {
			t.Fatal(err)
		}
		w.until("the answer", fmt.Sprintf(`[...document.querySelectorAll(".mine .bubble")].at(-1)?.textContent.includes("number %d work") && !document.querySelector(".growing")`, i))
		if n := i + 1; n == 100 || n%250 == 0 {
			w.drawn()
			call(w, heapprofiler.CollectGarbage, cdp.Empty{})
			m := w.metrics()
			last = m["JSHeapUsedSize"]
			if n == 250 {
				first = last
			}
			t.Logf("after %d answers: %.1f MB of JavaScript, %.0f nodes, %.0f listeners", n, last/1e6, m["Nodes"], m["JSEventListeners"])
		}
	}
	if last > first+tabMayGrow {
		t.Errorf("the tab holds %.1f MB after %d answers, and %.1f MB after 250", last/1e6, manyAnswers, first/1e6)
	}
}

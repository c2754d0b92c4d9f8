package story_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

const (
	paintLimit = time.Second
	paintTimes = 5
)

// A browser that has never seen the page shows each view within a second: its first paint,
// and the view with what is in it. The median of five counts, because other programs run
// beside it.
func TestBenchFirstPaint(t *testing.T) {
	benchmarked(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	for _, view := range []struct{ path, drawn string }{{"/talk", ".row"}, {"/talk/telegram:72", ".message"}, {"/health", ".card"}, {"/queue", "table.data"}} {
		var painted, drawn []time.Duration
		for range paintTimes {
			w.do(chromedp.Navigate("about:blank"))
			call(w, network.ClearBrowserCache, cdp.Empty{})
			drawn = append(drawn, w.drawnAfter(view.path, view.drawn))
			ms := asks[float64](w, `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now()`)
			painted = append(painted, time.Duration(ms*float64(time.Millisecond)))
		}
		t.Logf("%s: first paint %s, drawn %s", view.path, spread(painted), spread(drawn))
		if median(painted) > paintLimit {
			t.Errorf("%s: the first paint is there after %s, want at most %s", view.path, median(painted), paintLimit)
		}
	}
}

// median is the one in the middle of an odd number of times.
func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// spread is the median, the shortest and the longest time.
func spread(times []time.Duration) string {
	return fmt.Sprintf("%d ms (%d to %d)", median(times).Milliseconds(), slices.Min(times).Milliseconds(), slices.Max(times).Milliseconds())
}

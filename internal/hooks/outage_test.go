package hooks_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/internal/hooks"
	"dragoman/internal/stream"
	"dragoman/internal/testkit"
)

// TestOutageInTheLog: a hook that is down for a day has a line when it fails
// first, one an hour with the count, and one when it works again. Every event
// is counted all the same.
func TestOutageInTheLog(t *testing.T) {
	var down atomic.Bool
	var clock atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer srv.Close()
	now := func() time.Time { return time.Unix(1_760_000_000, clock.Load()) }
	w := start(t, hooks.Options{Now: now, Store: &notes{}, Pauses: []time.Duration{10000 * time.Hour}}, hooks.Hook{On: []stream.Name{stream.TurnDone}, URL: srv.URL})
	defer w.stop()
	told := 0
	tell := func(n int, step time.Duration) {
		for range n {
			w.Emit(turnDone)
			told++
			testkit.Eventually(t, "the event", func() bool { return w.seen.get("turn_done ok")+w.seen.get("turn_done failed") == told })
			clock.Add(int64(step))
		}
	}
	tell(2, 0)
	down.Store(true)
	tell(24*6, 10*time.Minute) // a day
	down.Store(false)
	tell(3, 0)
	down.Store(true)
	tell(2, 0)
	w.stop()
	log := w.log.String()
	if n := strings.Count(log, "hook failed"); n != 25 || strings.Count(log, "hook works again") != 1 {
		t.Errorf("%d lines about failures, want one an hour of 24, and one of the next; it works again %d times, want once:\n%s",
			n, strings.Count(log, "hook works again"), log)
	}
	for _, want := range []string{"failures=139 ", "hook works again\" hook=\"hooks[0] 127.0.0.1", "failures=144\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if ok, failed := w.seen.get("turn_done ok"), w.seen.get("turn_done failed"); ok != 5 || failed != 146 {
		t.Errorf("%d events counted as told and %d as failed, want 5 and 146", ok, failed)
	}
}

package live_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels/live"
	"dragoman/channels/live/livetest"
)

// An answer that is no longer renewed, because its turn failed or the machine died, is
// removed from the page. One whose typing sign is renewed stays, however long a tool takes.
func TestSignsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{}
		hub, err := live.New(live.Options{Name: "web", Room: "default", Feed: h.readFeed, Visitor: livetest.Alone})
		if err != nil {
			t.Fatal(err)
		}
		h.hub = hub
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = hub.Run(ctx, h) }()
		synctest.Wait()
		seen := httptest.NewRecorder()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			hub.Handler().ServeHTTP(seen, httptest.NewRequestWithContext(ctx, "GET", "/events", nil))
		}()
		synctest.Wait()
		preview(t, h, "t", "half an answer", "")
		for range 10 {
			time.Sleep(4 * time.Second)
			if err := hub.Typing(ctx, room); err != nil {
				t.Fatal(err)
			}
		}
		preview(t, h, "t", "half an answer, and more", "")
		time.Sleep(30 * time.Second)
		cancel()
		<-gone
		synctest.Wait()
		body := seen.Body.String()
		more, end := strings.Index(body, `"text":", and more"`), strings.Index(body, "event: end")
		idle := strings.LastIndex(body, `data: {"busy":false`)
		if more < 0 || end < more || idle < end || strings.Count(body, "event: end") != 1 {
			t.Errorf("want the delta, then one end, then a state that is not busy; the viewer got\n%s", body)
		}
		if got := strings.Count(body, "event: beat"); got < 3 {
			t.Errorf("%d beats in 70 seconds, want at least 3", got)
		}
	})
}

package story_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/internal/respond"
	"dragoman/internal/testkit"
)

const pageToken = "a-token-of-at-least-sixteen-characters"

// page is a client of the page's HTTP API.
func (d *daemon) page(token string) *live.Client {
	d.t.Helper()
	s, err := api.ReadStatus.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	transport := &http.Transport{}
	d.t.Cleanup(transport.CloseIdleConnections)
	c := &live.Client{HTTP: &http.Client{Transport: transport}, URL: "http://" + s.Listen + "/api/chat", Header: http.Header{}}
	if token != "" {
		c.Header.Set("Authorization", "Bearer "+token)
	}
	return c
}

// The page's API: nothing without the token, an answer that grows before the
// reader's eyes, a message that is sent twice and answered once, and a history
// that is there after a restart.
func TestPage(t *testing.T) {
	h := newHouse(t, plan{rest: `http: {listen: "127.0.0.1:0", token: "` + pageToken + `"}`})
	d := h.start()
	var refused *respond.Refusal
	for _, wrong := range []string{"", "not the token, and longer than it"} {
		if err := d.page(wrong).Post(t.Context(), "message-0", "hello"); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
			t.Errorf("Post with token %q = %v, want 401", wrong, err)
		}
		if code, body := d.get("/metrics", "Authorization", "Bearer "+wrong); code != http.StatusUnauthorized || strings.Contains(body, "dragoman_") {
			t.Errorf("/metrics with token %q = %d %s, want 401", wrong, code, body)
		}
	}
	page := d.page(pageToken)
	ctx, leave := context.WithCancel(t.Context())
	var mu sync.Mutex
	kinds, grown := map[string]int{}, ""
	reading := make(chan error, 1)
	attached := make(chan struct{})
	go func() {
		var once sync.Once
		reading <- page.Events(ctx, -1, func(e live.Event) {
			once.Do(func() { close(attached) })
			mu.Lock()
			defer mu.Unlock()
			kinds[e.Kind]++
			if e.Preview != nil {
				grown += e.Preview.Text
			}
		})
	}()
	<-attached
	for range 2 { // the second one is a retry
		if err := page.Post(ctx, "message-1", "tell me !hold page #1"); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(h.t, "the beginning of the answer", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(grown, "the beginning")
	})
	h.gates.open("page")
	var items []live.Item
	testkit.Eventually(h.t, "the answer", func() bool {
		var err error
		if items, err = page.Feed(ctx, 0, 50); err != nil {
			t.Fatal(err)
		}
		return len(items) == 2 && items[1].State == "sent"
	})
	if !strings.HasSuffix(items[1].Text, "the end of page. #1") {
		t.Errorf("the answer = %q", items[1].Text)
	}
	testkit.Eventually(h.t, "the answer to be shown", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return kinds["message"] == 2
	})
	leave()
	<-reading
	if n := len(h.asked()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	d.end(syscall.SIGTERM)
	d = h.start()
	if again, err := d.page(pageToken).Feed(t.Context(), 0, 50); err != nil || len(again) != 2 || again[1].Text != items[1].Text {
		t.Errorf("after a restart the feed holds %d items (%v), want the same two", len(again), err)
	}
	if err := d.page(pageToken).Post(t.Context(), "message-1", "tell me !hold page #1"); err != nil {
		t.Fatal(err)
	}
	if err := d.page(pageToken).Post(t.Context(), "message-2", "good night #2"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(h.t, "the next answer", func() bool {
		items, err := d.page(pageToken).Feed(t.Context(), 0, 50)
		return err == nil && len(items) == 4 && items[3].State == "sent"
	})
	if n := len(h.asked()); n != 2 {
		t.Errorf("the model was asked %d times, want twice: a retry after a restart is a retry, too", n)
	}

	// Another room is another conversation.
	work := d.page(pageToken)
	work.Room = "work"
	if err := work.Post(t.Context(), "message-3", "in the other room #3"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(h.t, "the answer in the other room", func() bool {
		items, err := work.Feed(t.Context(), 0, 50)
		return err == nil && len(items) == 2 && items[1].State == "sent"
	})
	if items, err := d.page(pageToken).Feed(t.Context(), 0, 50); err != nil || len(items) != 4 {
		t.Errorf("the first room has %d messages (%v), want its 4", len(items), err)
	}
	for _, m := range h.asked()[2].Messages {
		if strings.Contains(m.Content, "good night") {
			t.Errorf("in the other room the model reads %q of the first", m.Content)
		}
	}
	if list := h.dragoman("sessions", "list"); !strings.Contains(list, "web:default") || !strings.Contains(list, "web:work") {
		t.Errorf("sessions list:\n%s\nwant both rooms", list)
	}
}

package api_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// The feed has what people wrote and were sent, in pages from its end, with the numbers
// that events name.
func TestFeed(t *testing.T) {
	s := filled(t)
	k := channels.MustKey("telegram:1")
	for i := range 3 {
		m := channels.Inbound{Key: k, ID: fmt.Sprint("more", i), Text: fmt.Sprint("more ", i), Sender: channels.Person{IDs: []string{"1"}}}
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
			t.Fatal(err)
		}
	}
	clients(t, func() api.Options { return optionsOf(s) }, func(t *testing.T, c *api.Client) {
		var got []string
		for q := (api.FeedPart{Key: k, Limit: 2}); ; {
			page, err := api.ReadFeed.Call(t.Context(), c, q)
			if err != nil {
				t.Fatal(err)
			}
			var shown []string
			for _, it := range page.Data {
				shown = append(shown, fmt.Sprint(it.Seq, " ", it.From, " ", it.Text, " ", it.State, " ", it.Waiting))
			}
			got = append(shown, got...)
			if page.Next == "" {
				break
			}
			q.Before = page.Next
		}
		want := []string{
			"1 person hello  false", "2 dragoman hi queued false",
			"3 person more 0  true", "4 person more 1  true", "5 person more 2  true",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the feed (-want +got):\n%s", diff)
		}
		if _, err := api.ReadFeed.Call(t.Context(), c, api.FeedPart{Key: k, Before: "x"}); err == nil {
			t.Error("before=x is taken")
		}
	})
}

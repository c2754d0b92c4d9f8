package app_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
)

// What is deleted is not on the page any more, and the room goes on.
func TestDeletedIsGoneFromThePage(t *testing.T) {
	t.Parallel()
	for _, store := range config.FileStores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "store: {type: "+store+"}")
			r := p.run()
			c := r.page("hall")
			r.ask(c, "a secret")
			r.until("the answer is sent", func() bool { items := r.feed(c); return len(items) == 2 && items[1].State == "sent" })
			if err := api.Delete.Call(t.Context(), r.admin, api.About{Key: channels.MustKey("web:hall")}); err != nil {
				t.Fatal(err)
			}
			if items := r.feed(c); len(items) != 0 {
				t.Errorf("the page shows %+v", items)
			}
			// The same id again is a message that was answered.
			for _, id := range []string{"message-hall-0", "another-id"} {
				if err := c.Post(t.Context(), id, "said as "+id); err != nil {
					t.Fatal(err)
				}
			}
			r.until("an answer", func() bool { items := r.feed(c); return len(items) == 2 && items[1].State == "sent" })
			if items := r.feed(c); items[0].ID != "another-id" {
				t.Errorf("the page shows %+v", items)
			}
		})
	}
}

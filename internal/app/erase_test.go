package app_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
)

// An erasure that was cut off is finished by the next start, without a word
// from anybody.
func TestAStartFinishesAnErasure(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "store: {type: sqlite}")
	r := p.run()
	c := r.page("hall")
	r.ask(c, "a secret")
	r.until("the answer is sent", func() bool { items := r.feed(c); return len(items) == 2 && items[1].State == "sent" })
	r.stop()
	cut := `{"id": "A", "at": "2026-06-01T12:00:00Z", "told": true, "erasure": {"Keys": ["web:hall"]}, "deletes": ["web:hall"]}`
	if err := os.WriteFile(p.state("erasing.json"), []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	r = p.run()
	r.until("the erasure is finished", func() bool {
		_, err := os.Stat(p.state("erasing.json"))
		return errors.Is(err, fs.ErrNotExist)
	})
	if _, err := api.ReadConversation.Call(t.Context(), r.admin, api.About{Key: channels.MustKey("web:hall")}); err == nil {
		t.Error("the conversation is still there")
	}
}

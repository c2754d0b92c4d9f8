package story_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
)

// importedInto puts conversations into the store of a house that does not run.
func importedInto(t *testing.T, h *house, all []imported) {
	t.Helper()
	path := filepath.Join(h.dir, "some.json")
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.command(t.Context(), "sessions", "import", path).CombinedOutput(); err != nil {
		t.Fatalf("dragoman sessions import: %v\n%s", err, out)
	}
}

// A filter shows what is far below the first page, and says how to leave it where it has
// nothing.
func TestWalkFilters(t *testing.T) {
	pageKit(t)
	h := newHouse(t, walkPlan())
	now := time.Now().UTC()
	var all []imported
	key := func(i int) string { return fmt.Sprintf("web:c%010x", i) }
	for i := range 2 * pageOfRows {
		all = append(all, saidOf(key(i), 2, now.Add(-time.Duration(i)*time.Minute)))
	}
	importedInto(t, h, all)
	d := h.start()
	if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: channels.MustKey("web:default"), Text: "How does a sundial work?"}); err != nil {
		t.Fatal(err)
	}
	for i := range 2*pageOfRows - 1 {
		if err := api.MarkRead.Call(t.Context(), d.admin, api.ReadUpTo{Key: channels.MustKey(key(i))}); err != nil {
			t.Fatal(err)
		}
	}
	w := d.walker(chromium(t), d.linked())
	w.open("/talk")
	rows := fmt.Sprintf(`document.querySelectorAll(".row").length === %d`, pageOfRows)
	w.until("the first page", rows)
	w.click("button", "Unread")
	w.until("the new one and the oldest", fmt.Sprintf(`document.querySelectorAll(".row").length === 2 && document.querySelector(".row[href*='%s']")`, strings.TrimPrefix(key(2*pageOfRows-1), "web:")))
	w.click("button", "Waiting")
	w.reads("Nothing under “Waiting”")
	w.click("link", "For you…") // which is of all conversations
	w.reads("Unread and unanswered")
	w.click("link", "Talk…")
	w.click("button", "Waiting")
	w.reads("Nothing under “Waiting”")
	w.click("button", "Show all conversations")
	w.until("the first page again", rows)
}

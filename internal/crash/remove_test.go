//go:build !nowhatsapp

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/media"
	"dragoman/sessions"
)

// removals are commands that take something away, at once or not at all, with
// the steps at which they are killed. "" is a random moment.
var removals = []struct {
	name  string
	args  []string
	steps []string
	left  func(h *eraseHouse) int
}{
	{"pair remove", []string{"pair", "remove", "whatsapp", erasedPerson}, []string{"unpair.before", "unpair.after", ""}, (*eraseHouse).pairings},
	{"sessions delete", []string{"sessions", "delete", "whatsapp:" + erasedPerson, "--yes"}, []string{"delete.before", "delete.after", ""}, (*eraseHouse).said},
}

// pairings is how many people may talk.
func (h *eraseHouse) pairings() int {
	h.t.Helper()
	s, _ := openStore(h.t, h.state, h.store)
	defer s.Close()
	list, err := s.Pairings(h.t.Context(), time.Time{})
	h.must(err)
	return len(list)
}

// own is the key of the person's own conversation.
var own = channels.MustKey("whatsapp:" + erasedPerson)

// files is the folder of what came with it.
func (h *eraseHouse) files() string {
	return filepath.Join(h.state, "media", filepath.Dir(media.Name(channels.Inbound{Key: own, ID: "1", Attachments: []channels.Attachment{{}}}, 0)))
}

// said is how many messages and summaries its transcript has. What waits stays.
func (h *eraseHouse) said() (n int) {
	h.t.Helper()
	s, _ := openStore(h.t, h.state, h.store)
	defer s.Close()
	h.must(s.Dump(h.t.Context(), []channels.Key{own}, func(r sessions.Record) error {
		switch {
		case r.Messages != nil:
			n += len(r.Messages.Messages)
		case r.Conversation != nil:
			n += len(r.Conversation.Summaries)
		}
		return nil
	}))
	return n
}

// TestRemovalsKilled kills what takes something away in the middle: all of it is
// there or nothing, the same command finishes it with the files that came with
// it, and so does an erasure of the person that is killed as well.
func TestRemovalsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds the program")
	}
	t.Parallel()
	bin := build(t)
	for _, store := range []string{"sqlite", "file"} {
		for i := range removals[0].steps {
			t.Run(fmt.Sprint(store, " ", i, " ", removals[0].steps[i]), func(t *testing.T) {
				h := newEraseHouse(t, bin, store)
				if _, err := os.Stat(h.files()); err != nil {
					t.Fatal(err)
				}
				for _, r := range removals {
					all := r.left(h)
					if all == 0 {
						t.Fatalf("%s has nothing to take away", r.name)
					}
					var after time.Duration
					if r.steps[i] == "" {
						after = time.Millisecond + rand.N(150*time.Millisecond)
					}
					if h.command(r.steps[i], after, r.args...) && r.steps[i] != "" {
						t.Errorf("%s was not killed at %s", r.name, r.steps[i])
					}
					if n := r.left(h); n != 0 && n != all {
						t.Errorf("%s, killed at %q, leaves %d of %d", r.name, r.steps[i], n, all)
					}
					if !h.command("", 0, r.args...) || r.left(h) != 0 {
						t.Errorf("%s, done again, leaves %d of %d", r.name, r.left(h), all)
					}
				}
				if files, err := os.ReadDir(h.files()); err == nil {
					t.Errorf("delete leaves the files %v", files)
				}
				h.erase(eraseSteps[rand.N(len(eraseSteps))], 0)
				h.erase("", 0)
				h.gone()
			})
		}
	}
}

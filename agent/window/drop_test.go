package window_test

import (
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Whoever shortens a history that has gaps, because messages in it were replaced, loses
// none without counting it.
func TestDropFirstCountsGaps(t *testing.T) {
	h := sessions.History{FirstSeq: 1}
	for _, seq := range []int64{1, 2, 3, 9, 10, 14} { // 4 to 8 and 11 to 13 were replaced
		h.Messages = append(h.Messages, sessions.Message{Seq: seq, Role: sessions.RoleUser, Content: "a"})
	}
	for n := range len(h.Messages) {
		short := h
		short.DropFirst(n)
		if got := window.Uncovered(short); got != 0 || short.Omitted != n {
			t.Errorf("without the first %d: Uncovered = %d, Omitted = %d, want 0 and %d", n, got, short.Omitted, n)
		}
	}
	h.DropFirst(-1)
	h.DropFirst(len(h.Messages))
	if h.Omitted != 6 || len(h.Messages) != 0 {
		t.Errorf("without all of them: %+v", h)
	}
}

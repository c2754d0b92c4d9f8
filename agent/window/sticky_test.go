package window_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestFitIsStickyInATurn grows a turn by one group after another, as a loop of tool
// calls does. Whenever it fits, what was shown is shown again before what is new.
// Nothing that was dropped comes back. Every user message and the newest group stay.
// Each drop frees enough that the next is not due at once.
func TestFitIsStickyInATurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(400, 3000).Draw(t, "budget")
		history := later(1000, rapid.IntRange(0, 5).Draw(t, "history"))
		msgs := append(history, sessions.Message{Seq: 2000, Role: sessions.RoleUser, Content: "Go through the shelves."})
		users := 1
		before, _ := window.Fit(msgs, users, budget, nil)
		room := budget
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			seq := int64(2001 + 3*i)
			fresh := asked(seq, "look", strings.Repeat("word ", rapid.IntRange(1, budget/6).Draw(t, "size")))
			if rapid.IntRange(0, 9).Draw(t, "steered") == 0 && users < 4 {
				fresh = append(fresh, sessions.Message{Seq: seq + 2, Role: sessions.RoleUser, Content: "Hurry."})
				users++
			}
			msgs = append(msgs, fresh...)
			view, listed := window.Fit(msgs, users, budget, nil)
			checkSticky(t, before, fresh, view, room, users)
			if len(listed) > 0 {
				room = budget - budget/8 // from now on a digest has the rest
			}
			checkDigest(t, msgs, view, listed, budget)
			if err := window.Validate(view); err != nil {
				t.Fatalf("Validate(Fit()) = %v, want nil", err)
			}
			before = view
		}
	})
}

// checkSticky compares the view of a turn with the view before fresh was added.
func checkSticky(t *rapid.T, before, fresh, view []sessions.Message, room, users int) {
	t.Helper()
	inTurn := func(msgs []sessions.Message) (turn []sessions.Message) {
		for _, m := range msgs {
			if m.Seq >= 2000 {
				turn = append(turn, m)
			}
		}
		return turn
	}
	extended := append(inTurn(before), fresh...)
	got := inTurn(view)
	if window.Count(extended, nil) <= room {
		if !reflect.DeepEqual(got, extended) {
			t.Fatalf("there is room for what was shown and what is new, and the turn is shown as\n%swant\n%s", show(got), show(extended))
		}
		return
	}
	if n := count(got, sessions.RoleUser); n != users {
		t.Fatalf("%d user messages are shown, want %d", n, users)
	}
	if !reflect.DeepEqual(got[len(got)-len(fresh):], fresh) {
		t.Fatalf("the newest group is not shown, or not whole:\n%s", show(got))
	}
	known := make(map[string]bool)
	for _, m := range extended {
		known[fmt.Sprint(m.Seq, m.Content)] = true
	}
	for _, m := range got {
		if !known[fmt.Sprint(m.Seq, m.Content)] {
			t.Fatalf("message %d comes back, or is shown in another way", m.Seq)
		}
	}
	// Apart from user messages and the newest group, half of the room is free.
	pinned := 0
	for i, m := range got {
		if m.Role == sessions.RoleUser || i >= len(got)-len(fresh) {
			pinned += window.EstimateMessage(&got[i])
		}
	}
	if rest := window.Count(got, nil) - pinned; rest > room/2 {
		t.Fatalf("%d tokens of older groups stay where something had to go, want at most half of %d", rest, room)
	}
}

// checkDigest checks that the digest lists exactly what is not shown, and comes
// before the groups that are shown.
func checkDigest(t *rapid.T, msgs, view, listed []sessions.Message, budget int) {
	t.Helper()
	shown := append(slices.Clone(view), listed...)
	if got, want := window.Missing(msgs, shown), window.Missing(msgs, view)-len(listed); got != want {
		t.Fatalf("%d messages are listed and not shown; with them %d are missing, want %d", len(listed), got, want)
	}
	at := slices.IndexFunc(view, func(m sessions.Message) bool { return m.Synthetic })
	if (at >= 0) != (len(listed) > 0) {
		t.Fatalf("%d messages are listed, the digest is message %d", len(listed), at)
	}
	if at < 0 {
		return
	}
	digest := &view[at]
	if n := window.EstimateMessage(digest); n > budget/8 {
		t.Fatalf("the digest takes %d tokens, want at most an eighth of %d", n, budget)
	}
	if at == 0 || view[at-1].Role != sessions.RoleUser || view[at+1].Role != sessions.RoleAssistant {
		t.Fatalf("the digest is not between the question and the groups that are shown:\n%s", show(view))
	}
	if n := strings.Count(digest.Content, "\n- look "); 2*n != len(listed) {
		t.Fatalf("%d messages are listed in %d entries:\n%s", len(listed), n, digest.Content)
	}
}

// TestFitShortensWhatIsHuge: where not everything fits, an old message that takes
// most of the room is cut to its ends, the same way in later requests, and all others
// stay whole. The message that the turn answers is not touched.
func TestFitShortensWhatIsHuge(t *testing.T) {
	msgs := later(1, 10)
	msgs = append(msgs, sessions.Message{Seq: 100, Role: sessions.RoleUser, Content: "huge " + strings.Repeat("word ", 900) + "end"})
	msgs = append(msgs, later(101, 10)...)
	before := ""
	for i := range 5 {
		msgs = append(msgs, sessions.Message{Seq: int64(200 + i), Role: sessions.RoleUser, Content: fmt.Sprint("question ", i)})
		view, _ := window.Fit(msgs, 1, 1000, nil)
		if window.Missing(msgs, view) != 0 || window.Count(view, nil) > 1000 {
			t.Fatalf("%d messages are left out, %d tokens stay of 1000; want none", window.Missing(msgs, view), window.Count(view, nil))
		}
		for j, m := range view {
			short := m.Content != msgs[j].Content
			if short != (m.Seq == 100) {
				t.Errorf("message %d is shown as %.40q", m.Seq, m.Content)
			}
			if short && (!strings.HasPrefix(m.Content, "huge word") || !strings.HasSuffix(m.Content, "word end")) {
				t.Errorf("the huge one is shown as %q", m.Content)
			}
		}
		if now := show(view); !strings.HasPrefix(now, before) {
			t.Error("a request does not begin with the one before it")
		} else {
			before = now
		}
	}
	last := &msgs[len(msgs)-1]
	last.Content = strings.Repeat("now ", 700)
	if view, _ := window.Fit(msgs, 1, 1000, nil); view[len(view)-1].Content != last.Content {
		t.Errorf("what is asked is shown as %.40q", view[len(view)-1].Content)
	}
}

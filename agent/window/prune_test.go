package window_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// family is one emoji of seven characters.
const family = "👨‍👩‍👧‍👦"

// asked returns a tool group: a call of tool and its result.
func asked(seq int64, tool, result string) []sessions.Message {
	id := fmt.Sprint("c", seq)
	return []sessions.Message{
		{Seq: seq, Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: id, Name: tool, Arguments: "{}"}}},
		{Seq: seq + 1, Role: sessions.RoleTool, Name: tool, ToolCallID: id, Content: result},
	}
}

// later returns n small tool groups.
func later(seq int64, n int) (msgs []sessions.Message) {
	for i := range int64(n) {
		msgs = append(msgs, asked(seq+2*i, "get", "little")...)
	}
	return msgs
}

func talkOf(groups ...[]sessions.Message) []sessions.Message {
	msgs := []sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: "go"}}
	for _, g := range groups {
		msgs = append(msgs, g...)
	}
	return msgs
}

// windowFor returns the window of which msgs take this many percent.
func windowFor(msgs []sessions.Message, percent float64) int {
	return int(float64(window.Count(msgs, nil)) * 100 / percent)
}

func TestCase36Prune(t *testing.T) {
	result := strings.Repeat("The log says that it is well. ", 2000) // 60,000 characters
	const first, last = 2, 3
	for _, test := range []struct {
		name     string
		tool     string
		result   string
		after    int // further tool groups
		percent  float64
		want     string // whole, soft, hard
		original int
	}{
		{"31 percent", "get", result, 3, 31, "soft", 60_000},
		{"30 percent or less", "get", result, 3, 29.9, "whole", 0},
		{"50 percent or less", "get", result, 3, 49.9, "soft", 60_000},
		{"51 percent", "get", result, 3, 51, "hard", 60_000},
		{"15,999 characters", "get", result[:15_999], 3, 31, "whole", 0},
		{"15,999 characters in a full window", "get", result[:15_999], 3, 120, "whole", 0},
		{"16,000 characters", "get", result[:16_000], 3, 31, "soft", 16_000},
		{"characters are no bytes", "get", strings.Repeat("é", 15_999), 3, 31, "whole", 0},
		{"one of the last three", "get", result, 2, 99, "whole", 0},
		{"the skill tool", "skill", result, 3, 99, "whole", 0},
		{"pictures of several", "get", strings.Repeat(family, 9000), 3, 31, "soft", 63_000},
	} {
		t.Run("case 36: "+test.name, func(t *testing.T) {
			msgs := window.Repair(talkOf(asked(first, test.tool, test.result), later(4, test.after)))
			before := window.Repair(msgs)
			view := window.DefaultPrune().Apply(msgs, window.PruneTarget{Window: windowFor(msgs, test.percent)})
			if err := window.Validate(view); err != nil {
				t.Fatalf("Validate(Apply()) = %v, want nil", err)
			}
			got := view[first].Content
			switch test.want {
			case "whole":
				if got != test.result {
					t.Errorf("the result was pruned: %.80q…", got)
				}
			case "soft":
				checkSoft(t, got, test.result, test.original)
			case "hard":
				if len(got) > 200 || !strings.Contains(got, fmt.Sprint(test.original)) || !strings.Contains(got, test.tool) {
					t.Errorf("result = %q, want a notice that names the tool and its size", got)
				}
			}
			if diff := cmp.Diff(before, msgs); diff != "" {
				t.Error("Apply changed its argument, which is what the disk has")
			}
			if diff := cmp.Diff(view[last:], msgs[last:]); diff != "" {
				t.Errorf("other messages changed:\n%s", diff)
			}
		})
	}
}

// TestCase36Boundaries: a limit is passed when the share is larger than it, not
// equal.
func TestCase36Boundaries(t *testing.T) {
	result := strings.Repeat("The log says that it is well. ", 2000)
	msgs := window.Repair(talkOf(asked(2, "get", result), later(4, 3)))
	const tokens = 100_000
	for percent, want := range map[int][2]string{30: {"whole", "soft"}, 50: {"soft", "hard"}} {
		for over, want := range want {
			fixed := tokens*percent/100 - window.Count(msgs, nil) + over
			got := window.DefaultPrune().Apply(msgs, window.PruneTarget{Window: tokens, Fixed: fixed})[2].Content
			is := "hard"
			switch {
			case got == result:
				is = "whole"
			case len(got) > 1000:
				is = "soft"
			}
			if is != want {
				t.Errorf("%d tokens over %d percent: %s, want %s", over, percent, is, want)
			}
		}
	}
}

// checkSoft checks that got is the ends of result around a notice that says how long
// it is.
func checkSoft(t *testing.T, got, result string, original int) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Error("the pruned result is not UTF-8")
	}
	head, rest, found := strings.Cut(got, "\n[… ")
	notice, tail, closed := strings.Cut(rest, " …]\n")
	if !found || !closed || !strings.Contains(notice, fmt.Sprintf("of %d characters", original)) {
		t.Fatalf("result = %.60q, want a notice of %d characters in the middle", got, original)
	}
	if !strings.HasPrefix(result, head) || !strings.HasSuffix(result, tail) {
		t.Error("the ends are not those of the result")
	}
	for end, n := range map[string]int{"head": utf8.RuneCountInString(head), "tail": utf8.RuneCountInString(tail)} {
		if n != 1500 {
			t.Errorf("the %s has %d characters, want 1500", end, n)
		}
	}
}

// TestPruneIsSticky replays a growing conversation: what one request showed, the next
// shows again, except that a result may be pruned further. A conversation that was
// loaded again gives the same views.
func TestPruneIsSticky(t *testing.T) {
	result := strings.Repeat("x y z ", 10_000)
	msgs := talkOf()
	windowTokens := 8 * window.Count(asked(1, "get", result), nil) // each takes about an eighth
	p := window.DefaultPrune()
	changes, pruned := 0, 0
	var before []sessions.Message
	for i := range 30 {
		msgs = append(msgs, asked(int64(2*i+2), "get", result)...)
		msgs[len(msgs)-2].Usage = &sessions.Usage{Input: window.Count(before, nil) * 3 / 2}
		view := p.Apply(window.Repair(msgs), window.PruneTarget{Window: windowTokens})
		for j := range before {
			if view[j].Content == before[j].Content {
				continue
			}
			changes++
			if len(view[j].Content) > len(before[j].Content) {
				t.Fatalf("request %d shows message %d again with %d bytes after %d", i, j, len(view[j].Content), len(before[j].Content))
			}
		}
		before = view
	}
	for _, m := range before {
		if m.Role == sessions.RoleTool && len(m.Content) < len(result) {
			pruned++
		}
	}
	if pruned != 27 {
		t.Errorf("%d results are pruned at the end, want all 30 but those of the last three", pruned)
	}
	if changes > 2*pruned {
		t.Errorf("%d changes to what was shown before, want at most two for each of %d", changes, pruned)
	}
}

// TestPruneIsStickyWhenUsageFalls: what was pruned while the provider counted much
// stays pruned when it counts little and nothing would be pruned any more.
func TestPruneIsStickyWhenUsageFalls(t *testing.T) {
	result := strings.Repeat("x y z ", 10_000)
	msgs := talkOf(asked(2, "get", result))
	size := 4 * window.Count(msgs, nil) // the result is a quarter of it
	p, low := window.DefaultPrune(), 0
	var before []sessions.Message
	for i := range 40 {
		msgs = append(msgs, asked(int64(2*i+4), "get", "little")...)
		percent, model := 250, "counts much"
		if i >= 8 {
			percent, model = 60, "counts little" // this forgets what the other one counted
		}
		msgs[len(msgs)-2].Model = model
		msgs[len(msgs)-2].Usage = &sessions.Usage{Input: window.Count(before, nil) * percent / 100}
		view := p.Apply(window.Repair(msgs), window.PruneTarget{Window: size})
		switch n := len(view[2].Content); {
		case before != nil && n > len(before[2].Content):
			t.Fatalf("request %d shows the result with %d bytes again, after %d", i, n, len(before[2].Content))
		case i == 7 && n >= len(result):
			t.Fatal("the result was never pruned, so the test proves nothing")
		default:
			low = n
		}
		before = view
	}
	t.Logf("%d bytes of %d are left", low, len(result))
}

// TestPruneForced: after a refusal every result that may be pruned becomes a notice.
func TestPruneForced(t *testing.T) {
	text := strings.Repeat("a result ", 100)
	msgs := window.Repair(talkOf(
		asked(2, "get", text), asked(4, "skill", text), asked(6, "get", "ok"), asked(8, "get", text),
		later(10, 2), asked(14, "get", text)))
	for name, test := range map[string]struct {
		forced window.Forced
		want   []int // indexes that changed
	}{
		"nothing":     {window.Forced{}, nil},
		"up to a seq": {window.Forced{Seq: 5}, []int{2}},
		"all":         {window.Forced{Seq: 99}, []int{2, 8}},
		"a turn":      {window.Forced{Turn: "t9"}, nil},
	} {
		view := window.DefaultPrune().Apply(msgs, window.PruneTarget{Window: 1 << 20, Forced: test.forced})
		var changed []int
		for i := range view {
			if view[i].Content != msgs[i].Content {
				changed = append(changed, i)
			}
		}
		if !reflect.DeepEqual(changed, test.want) {
			t.Errorf("%s: results %v changed, want %v", name, changed, test.want)
		}
	}
}

func TestPruneOff(t *testing.T) {
	msgs := talkOf(asked(2, "get", strings.Repeat("x ", 50_000)), later(4, 4))
	p := window.DefaultPrune()
	p.Off = true
	if diff := cmp.Diff(msgs, p.Apply(msgs, window.PruneTarget{Window: 10})); diff != "" {
		t.Error("pruning is off and changed something")
	}
}

// TestPruneUsesUsage: sizes are corrected by what the provider counted.
func TestPruneUsesUsage(t *testing.T) {
	result := strings.Repeat("The log says that it is well. ", 2000)
	msgs := window.Repair(talkOf(asked(2, "get", result), later(4, 6)))
	sight := window.PruneTarget{Window: windowFor(msgs, 25)}
	if view := window.DefaultPrune().Apply(msgs, sight); view[2].Content != result {
		t.Error("pruned at 25 %, want only beyond 30 %")
	}
	size := 0
	for i := range msgs {
		if msgs[i].Role == sessions.RoleAssistant {
			msgs[i].Model, msgs[i].Usage = "m", &sessions.Usage{Input: 2 * size}
		}
		size = window.Count(msgs[:i+1], nil)
	}
	if view := window.DefaultPrune().Apply(msgs, sight); view[2].Content == result {
		t.Error("not pruned where the provider counts twice as much, which is 40 % and more")
	}
}

func TestCalibrate(t *testing.T) {
	for _, test := range []struct {
		name              string
		factor            float64
		reported, counted int
		times             int
		atLeast, atMost   float64
	}{
		{"nothing known", 1, 0, 100, 1, 1, 1},
		{"one odd report", 1, 200, 100, 1, 1.2, 1.4},
		{"many", 1, 200, 100, 50, 1.99, 2},
		{"never below a half", 1, 30, 100, 50, 0.5, 0.51},
		{"never above three", 1, 500, 100, 50, 2.99, 3},
		{"only what was not cached", 1, 10, 100, 50, 1, 1},
		{"nonsense", 1, 100_000, 100, 50, 1, 1},
		{"nothing counted", 1, 100, 0, 1, 1, 1},
	} {
		f := test.factor
		for range test.times {
			f = window.Calibrate(f, test.reported, test.counted)
		}
		if f < test.atLeast || f > test.atMost {
			t.Errorf("%s: factor = %.2f, want %.2f to %.2f", test.name, f, test.atLeast, test.atMost)
		}
	}
}

// TestEnds cuts texts of every kind at and around every border.
func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", " ", "\n", "\r\n", "é", "e\u0301", "世", family, "🇮🇹", "👍🏿", "\xff", "각", "क्षि",
		}), 0, 60).Draw(t, "parts")
		s := strings.Join(parts, "")
		head, tail := rapid.IntRange(-1, 30).Draw(t, "head"), rapid.IntRange(-1, 30).Draw(t, "tail")
		got := window.Ends(s, head, tail)
		size := utf8.RuneCountInString(s)
		if size <= max(head, 0)+max(tail, 0) {
			if got != s {
				t.Fatalf("Ends(%q, %d, %d) = %q, want it unchanged", s, head, tail, got)
			}
			return
		}
		if !utf8.ValidString(got) || !strings.Contains(got, fmt.Sprintf("of %d characters", size)) {
			t.Fatalf("Ends(%q, %d, %d) = %q", s, head, tail, got)
		}
		if !utf8.ValidString(s) {
			return
		}
		first, rest, _ := strings.Cut(got, "[… ")
		_, last, _ := strings.Cut(rest, " …]")
		first, last = strings.TrimSuffix(first, "\n"), strings.TrimPrefix(last, "\n")
		if !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) || utf8.RuneCountInString(first) != max(head, 0) || utf8.RuneCountInString(last) != max(tail, 0) {
			t.Fatalf("Ends(%q, %d, %d) = %q + %q, want that many characters of each end", s, head, tail, first, last)
		}
	})
}

// TestEstimateOfHugeTexts: an estimate from samples is close to that of the whole
// text, and never more than its bytes.
func TestEstimateOfHugeTexts(t *testing.T) {
	for name, unit := range map[string]string{
		"prose": "The harbour was quiet when the last ferry came in.\n", "han": "昨天晚上我们在河边散步", "emoji": family, "bytes": "\xff\xfe\xfd",
	} {
		text := strings.Repeat(unit, 12<<20/len(unit))
		each := float64(window.EstimateText(strings.Repeat(unit, 1000))) / 1000
		got, want := float64(window.EstimateText(text)), each*float64(12<<20/len(unit))
		if got < want*0.98 || got > want*1.02 || int(got) > len(text) {
			t.Errorf("EstimateText(12 MB of %s) = %.0f, want %.0f within 2 %%", name, got, want)
		}
	}
}

func BenchmarkEstimateHuge(b *testing.B) {
	text := strings.Repeat("Some words, 世界 and 🎉 123456.\n", 12<<20/38)
	for b.Loop() {
		window.EstimateText(text)
	}
}

func BenchmarkPrune(b *testing.B) {
	var msgs []sessions.Message
	for i := range 50 {
		msgs = append(msgs, asked(int64(2*i+1), "get", strings.Repeat("x y z ", 10_000))...)
	}
	p := window.DefaultPrune()
	b.ReportAllocs()
	for b.Loop() {
		p.Apply(msgs, window.PruneTarget{Window: 1 << 17})
	}
}

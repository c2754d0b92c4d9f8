package crash_test

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// repeatMark stands in front of what may have been sent before; it is part of
// the promise, so it is written here a second time.
const repeatMark = "↻ "

// unfinished stands at the end of a preview that no answer replaced.
const unfinished = "…"

// verdict is what the chats show in the end, and the store has.
type verdict struct {
	flaws      []string // messages without an outcome of their own, by chat
	twice      []string // answered again without the mark
	disordered []string // answered before an earlier one
	marked     int      // sent with the mark
	repeated   int      // of those, seen before
	leftovers  int      // previews that a crash left behind, visibly unfinished
	answers    int
	stopped    int // replies to /stop
	renewed    int // replies to /new
	failures   int // sentences about a turn that failed
	paused     int // sentences about a pause

	outside, files, instead int // in a group because the topic is gone, files, and what came in their place
}

// verdict reads all chats as their people see them, and the store.
func (c *campaign) verdict() verdict {
	c.t.Helper()
	var v verdict
	rows := c.rows()
	for chat := range chats {
		sent, shown := c.talk.sent[chat], c.people.shown(chat)
		if c.people.heard != nil {
			sent = c.people.heard(chat, sent, rows[chat])
		}
		before := len(v.twice) + len(v.disordered) + len(v.flaws)
		seen := v.chat(chat, sent, shown, c.stored[chat])
		v.flaws = append(v.flaws, outcomes(sent, rows[chat], seen, c.talk.revoked, c.asked, c.deaths)...)
		if len(v.twice)+len(v.disordered)+len(v.flaws) > before {
			asked := slices.DeleteFunc(slices.Clone(c.asked), func(q request) bool { return !q.about(sent) })
			c.t.Logf("chat %d said (0 is /stop) %v\nwas told %q\nand has %v\nthe model was asked %v\nthe daemon died %v", chat, sent, shown, rows[chat], asked, c.deaths)
		}
	}
	c.placed(&v)
	return v
}

// chat judges what one chat shows of the bot's words, and returns which
// messages they answer, also by saying that there is no answer. The store has what was
// said beside answers.
func (v *verdict) chat(id int, sent []int, shown []string, has stored) (seen map[int]bool) {
	seen = make(map[int]bool)
	v.flaws = append(v.flaws, has.flaws...)
	turns := newEnds(has.failures, shown)
	pieces := map[string]bool{}
	newest, sure := 0, 0
	renewals, pauses := 0, 0
	for i, text := range shown {
		words := fmt.Sprintf("chat %d: %s", id, text)
		switch marked := strings.HasPrefix(text, repeatMark); {
		case isFailure(text):
			v.failures++
			turn, again := turns.next(text, shown[i+1:])
			switch {
			case !again:
				newest = v.end(words, turn, marked, seen, newest)
			case marked:
				v.marked++
				v.repeated++
			default:
				v.twice = append(v.twice, words)
			}
		case strings.HasPrefix(strings.TrimPrefix(text, repeatMark), toldRenewed):
			v.renewed++
			if !marked {
				renewals++
			}
		case strings.TrimPrefix(text, repeatMark) == toldPaused:
			v.paused++
			if !marked {
				pauses++
			}
		case strings.HasPrefix(text, pieceMark): // of a long answer
			if pieces[text] {
				v.twice = append(v.twice, fmt.Sprintf("%.80s", words))
			}
			pieces[text] = true
		case strings.HasSuffix(text, unfinished) && !strings.HasSuffix(text, "done."):
			v.leftovers++
		case replied(text): // it overtakes answers that wait
			v.stopped++
			if !marked {
				sure++
			}
		default:
			v.answers++
			newest = v.end(words, marks(text), marked, seen, newest)
		}
	}
	stops := 0
	for _, mark := range sent {
		if mark == stopped || mark == renewed { // a /new shows what there is of the answer it ends
			stops++
		}
	}
	if sure > stops {
		v.twice = append(v.twice, fmt.Sprintf("chat %d: %d replies to %d /stops or /news", id, sure, stops))
	}
	if renewals > has.renewed || renewals < has.renewed && v.renewed == renewals {
		v.flaws = append(v.flaws, fmt.Sprintf("chat %d: %d replies to /new are shown, of %d", id, renewals, has.renewed))
	}
	if pauses > has.paused {
		v.twice = append(v.twice, fmt.Sprintf("chat %d: %d sentences about a pause are shown, of %d", id, pauses, has.paused))
	}
	return seen
}

// end judges how the messages of a turn ended: by an answer, or a sentence in its place.
// Its words say where it was read.
func (v *verdict) end(words string, about []int, marked bool, seen map[int]bool, newest int) int {
	if marked {
		v.marked++
	}
	again := false
	for _, n := range about {
		switch {
		case seen[n] && marked:
			again = true
		case seen[n]:
			v.twice = append(v.twice, words)
		case n < newest:
			v.disordered = append(v.disordered, fmt.Sprintf("%.200s %v after #%d", words, about, newest))
		}
		seen[n] = true
		newest = max(newest, n)
	}
	if again {
		v.repeated++
	}
	return newest
}

func (v verdict) check(t *testing.T) {
	t.Helper()
	for _, s := range v.flaws {
		t.Error(s)
	}
	for _, s := range v.twice {
		t.Errorf("answered twice without the mark: %s", s)
	}
	for _, s := range v.disordered {
		t.Errorf("out of order: %s", s)
	}
}

// line is one of a report's table.
type line struct {
	what  string
	value any
}

// report is what a campaign measured.
type report struct {
	verdict
	campaign      *campaign
	own           []line
	kills, random int
	atStep        map[string]int
	took, settled time.Duration
}

func (r report) String() string {
	var b strings.Builder
	b.WriteString("| what | number |\n|---|---|\n")
	named := 0
	for _, n := range r.atStep {
		named += n
	}
	lines := []line{
		{"kills (SIGKILL)", r.kills},
		{"of those at a named step", named},
		{"of those at a random moment", r.random},
		{"messages, over " + strconv.Itoa(chats) + " chats", r.campaign.talk.messages},
		{"answers", r.answers},
		{"/stop said", r.campaign.talk.stops},
		{"/new said", r.campaign.talk.news},
		{"outages of the model", r.campaign.silences},
		{"refusals and other moods of the model's server", r.campaign.refusals()},
		{"sentences about a turn that failed", r.failures},
		{"**lost, or dropped without a word**", len(r.flaws)},
		{"**out of order within a chat**", len(r.disordered)},
		{"**answered twice without the mark**", len(r.twice)},
	}
	lines = append(lines, r.own...)
	lines = append(lines, line{"campaign", r.took.Round(time.Second)}, line{"last start until everything was answered", r.settled.Round(10 * time.Millisecond)})
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %v |\n", l.what, l.value)
	}
	names := make([]string, 0, len(r.atStep))
	for name, n := range r.atStep {
		names = append(names, fmt.Sprintf("%s %d", name, n))
	}
	sort.Strings(names)
	fmt.Fprintf(&b, "\nKills by step: %s.\n", strings.Join(names, ", "))
	return b.String()
}

// writeSection puts a report into its place in a document.
func writeSection(path, name, table string) error {
	text := fmt.Sprintf("Written by `make crash` on %s.\n\n%s", time.Now().UTC().Format("2006-01-02"), table)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := testkit.ReplaceSection(string(old), name, text)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}

func TestVerdictFindsFlaws(t *testing.T) {
	const sorry = "Sorry, the model is away (error 0a1b2c)."
	tests := []struct {
		name  string
		sent  []int
		shown []string
		news  int // replies to /new
		want  string
	}{
		{"good", []int{1, 2, 3}, []string{"Seen: #1 done.", "Seen: #2 #3 done."}, 0, "3 0 0 0 0"},
		{"one is missing", []int{1, 2}, []string{"Seen: #1 done."}, 0, "1 0 0 0 0"},
		{"twice", []int{1}, []string{"Seen: #1 done.", "Seen: #1 done."}, 0, "1 1 0 0 0"},
		{"twice with the mark", []int{1}, []string{"Seen: #1 done.", "↻ Seen: #1 done."}, 0, "1 0 0 1 1"},
		{"mark without a repeat", []int{1}, []string{"↻ Seen: #1 done."}, 0, "1 0 0 1 0"},
		{"order", []int{1, 2}, []string{"Seen: #2 done.", "Seen: #1 done."}, 0, "2 0 1 0 0"},
		{"leftover", []int{1}, []string{"Seen: #1 …", "Seen: #1 done."}, 0, "1 0 0 0 0"},
		{"a leftover is no answer", []int{1}, []string{"Seen: #1 …"}, 0, "0 0 0 0 0"},
		{"a stopped part is no answer", []int{1, stopped}, []string{"Seen: #1\n\n(stopped)"}, 0, "0 0 0 0 0"},
		{"a stop told twice", []int{1, stopped}, []string{"Stopped.", "Stopped."}, 0, "0 1 0 0 0"},
		{"a stop told again with the mark", []int{1, stopped}, []string{"Stopped.", "↻ Stopped."}, 0, "0 0 0 0 0"},
		{"a failure", []int{1, 2}, []string{"Seen: #1 done.", sorry}, 0, "2 0 0 0 0"},
		{"a failure twice", []int{2}, []string{sorry, sorry}, 0, "1 1 0 0 0"},
		{"a failure twice with the mark", []int{2}, []string{sorry, "↻ " + sorry}, 0, "1 0 0 1 1"},
		{"a failure too early", []int{1, 2}, []string{sorry, "Seen: #1 done."}, 0, "2 0 1 0 0"},
		{"a failure after the answer", []int{2}, []string{"Seen: #2 done.", sorry}, 0, "1 1 0 0 0"},
		{"two failures with the same words", []int{1, 3}, []string{toldEmpty, "↻ " + toldEmpty, toldEmpty}, 0, "2 0 0 1 1"},
		{"two failures, both with the mark, and one of them twice", []int{1, 2, 3}, []string{toldEmpty, "Seen: #2 done.", "↻ " + toldEmpty, "Seen: #4 done.", "↻ " + toldEmpty}, 0, "4 0 0 2 1"},
		{"two failures, one with the mark", []int{1, 3}, []string{toldEmpty, "↻ " + toldEmpty}, 0, "2 0 0 1 0"},
		{"a new one", []int{renewed}, []string{toldRenewed}, 1, "0 0 0 0 0"},
		{"a piece twice", nil, []string{"§1.2 and", "§1.2 and"}, 0, "0 1 0 0 0"},
		{"a pause", []int{1}, []string{toldPaused, "Seen: #1 done."}, 0, "1 0 0 0 0"},
		{"a pause told twice", []int{1}, []string{toldPaused, toldPaused, "Seen: #1 done."}, 0, "1 1 0 0 0"},
		{"a pause told again with the mark", []int{1}, []string{toldPaused, "↻ " + toldPaused}, 0, "0 0 0 0 0"},
		{"a piece twice with the mark", nil, []string{"§1.2 and", "↻ §1.2 and"}, 0, "0 0 0 1 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v verdict
			seen := v.chat(1, tt.sent, tt.shown, stored{failures: map[string][][]int{toldEmpty: {{1}, {3}}, sorry: {{2}}}, renewed: tt.news, paused: 1})
			got := fmt.Sprint(len(seen), len(v.twice), len(v.disordered), v.marked, v.repeated)
			if got != tt.want || len(v.flaws) > 0 {
				t.Errorf("seen, twice, disordered, marked, repeated = %s, want %s; flaws: %q", got, tt.want, v.flaws)
			}
		})
	}
}

func TestVerdictMissesReplies(t *testing.T) {
	for _, tt := range []struct {
		shown []string
		flaws int
	}{
		{[]string{toldRenewed}, 1},
		{[]string{toldRenewed, toldRenewed}, 0},
		{[]string{toldRenewed, "↻ " + toldRenewed}, 0},
		{[]string{toldRenewed, toldRenewed, toldRenewed}, 1},
	} {
		var v verdict
		v.chat(1, nil, tt.shown, stored{renewed: 2})
		if len(v.flaws) != tt.flaws {
			t.Errorf("%q: flaws = %q, want %d", tt.shown, v.flaws, tt.flaws)
		}
	}
}

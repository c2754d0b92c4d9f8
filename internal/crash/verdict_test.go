package crash_test

import (
	"fmt"
	"os"
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
		seen := v.chat(chat, sent, shown)
		v.flaws = append(v.flaws, outcomes(sent, rows[chat], seen, c.talk.revoked, c.asked, c.deaths)...)
		if len(v.twice)+len(v.disordered)+len(v.flaws) > before {
			c.t.Logf("chat %d said (0 is /stop) %v\nwas told %q\nand has %v", chat, sent, shown, rows[chat])
		}
	}
	return v
}

// chat judges what one chat shows of the bot's words, and returns which
// messages they answer.
func (v *verdict) chat(id int, sent []int, shown []string) (seen map[int]bool) {
	seen = make(map[int]bool)
	newest, sure := 0, 0
	for _, text := range shown {
		switch marked := strings.HasPrefix(text, repeatMark); {
		case strings.HasSuffix(text, unfinished) && !strings.HasSuffix(text, "done."):
			v.leftovers++
		case replied(text): // it overtakes answers that wait
			v.stopped++
			if !marked {
				sure++
			}
		default:
			v.answers++
			newest = v.answer(fmt.Sprintf("chat %d: %s", id, text), marked, seen, newest)
		}
	}
	stops := 0
	for _, mark := range sent {
		if mark == stopped {
			stops++
		}
	}
	if sure > stops {
		v.twice = append(v.twice, fmt.Sprintf("chat %d: %d replies to %d /stops", id, sure, stops))
	}
	return seen
}

// answer judges one answer, whose words say where it was read.
func (v *verdict) answer(words string, marked bool, seen map[int]bool, newest int) int {
	if marked {
		v.marked++
	}
	again := false
	for _, n := range marks(words) {
		switch {
		case seen[n] && marked:
			again = true
		case seen[n]:
			v.twice = append(v.twice, words)
		case n < newest:
			v.disordered = append(v.disordered, fmt.Sprintf("%s after #%d", words, newest))
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
		{"outages of the model", r.campaign.silences},
		{"**lost, or dropped without a /stop for it**", len(r.flaws)},
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
	tests := []struct {
		name  string
		sent  []int
		shown []string
		want  string
	}{
		{"good", []int{1, 2, 3}, []string{"Seen: #1 done.", "Seen: #2 #3 done."}, "3 0 0 0 0"},
		{"one is missing", []int{1, 2}, []string{"Seen: #1 done."}, "1 0 0 0 0"},
		{"twice", []int{1}, []string{"Seen: #1 done.", "Seen: #1 done."}, "1 1 0 0 0"},
		{"twice with the mark", []int{1}, []string{"Seen: #1 done.", "↻ Seen: #1 done."}, "1 0 0 1 1"},
		{"mark without a repeat", []int{1}, []string{"↻ Seen: #1 done."}, "1 0 0 1 0"},
		{"order", []int{1, 2}, []string{"Seen: #2 done.", "Seen: #1 done."}, "2 0 1 0 0"},
		{"leftover", []int{1}, []string{"Seen: #1 …", "Seen: #1 done."}, "1 0 0 0 0"},
		{"a leftover is no answer", []int{1}, []string{"Seen: #1 …"}, "0 0 0 0 0"},
		{"a stopped part is no answer", []int{1, stopped}, []string{"Seen: #1\n\n(stopped)"}, "0 0 0 0 0"},
		{"a stop told twice", []int{1, stopped}, []string{"Stopped.", "Stopped."}, "0 1 0 0 0"},
		{"a stop told again with the mark", []int{1, stopped}, []string{"Stopped.", "↻ Stopped."}, "0 0 0 0 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v verdict
			seen := v.chat(1, tt.sent, tt.shown)
			got := fmt.Sprint(len(seen), len(v.twice), len(v.disordered), v.marked, v.repeated)
			if got != tt.want {
				t.Errorf("seen, twice, disordered, marked, repeated = %s, want %s", got, tt.want)
			}
		})
	}
}

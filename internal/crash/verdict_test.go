package crash_test

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

// repeatMark stands in front of what may have been sent before; it is part of
// the promise, so it is written here a second time.
const repeatMark = "↻ "

// unfinished stands at the end of a preview that no answer replaced.
const unfinished = "…"

// verdict is what the chats show in the end.
type verdict struct {
	where      []string // the chats with lost messages
	lost       int      // messages without an answer that no /stop excuses, and /stops without a reply
	twice      []string // answered again without the mark
	disordered []string // answered before an earlier one
	marked     int      // sent with the mark
	repeated   int      // of those, seen before
	leftovers  int      // previews that a crash left behind, visibly unfinished
	answers    int
	stopped    int // replies to /stop
}

// verdict reads all chats as their people see them.
func (c *campaign) verdict() verdict {
	var v verdict
	for i := range chats {
		id := int64(firstChat + i)
		v.chat(id, c.sent[id], c.api.FromBot(id), c.turn)
	}
	return v
}

// chat judges one chat: what was sent to the bot, and what it shows of the
// bot's.
func (v *verdict) chat(id int64, sent []int, shown []string, turn func(n int) int) {
	var told stops
	seen := make(map[int]bool)
	newest := 0
	for _, text := range shown {
		if !strings.HasSuffix(text, "done.") {
			if strings.HasSuffix(text, unfinished) {
				v.leftovers++
				continue
			}
		}
		if told.take(text) {
			v.stopped++
			for _, mark := range agenttest.Marks(text) {
				n, _ := strconv.Atoi(mark[1:])
				seen[n] = true
			}
			continue // it overtakes answers that wait
		}
		v.answers++
		marked := strings.HasPrefix(text, repeatMark)
		if marked {
			v.marked++
		}
		again := false
		for _, mark := range agenttest.Marks(text) {
			n, _ := strconv.Atoi(mark[1:])
			switch {
			case seen[n] && marked:
				again = true
			case seen[n]:
				v.twice = append(v.twice, fmt.Sprintf("chat %d: %s", id, text))
			case n < newest:
				v.disordered = append(v.disordered, fmt.Sprintf("chat %d: %s after #%d", id, text, newest)+" in: "+strings.Join(shown, " | "))
			}
			seen[n] = true
			newest = max(newest, n)
		}
		if again {
			v.repeated++
		}
	}
	untold, extra := told.untold(sent)
	if lost := told.missing(sent, seen, turn) + untold; lost > 0 {
		v.lost += lost
		v.where = append(v.where, fmt.Sprintf("chat %d was told %q\nand said (0 is /stop) %v", id, shown, sent))
	}
	if extra > 0 {
		v.twice = append(v.twice, fmt.Sprintf("chat %d: %d more replies than /stops", id, extra))
	}
}

func (v verdict) check(t *testing.T) {
	t.Helper()
	if v.lost > 0 {
		t.Errorf("%d messages were never answered; %s", v.lost, strings.Join(v.where, "\n"))
	}
	for _, s := range v.twice {
		t.Errorf("answered twice without the mark: %s", s)
	}
	for _, s := range v.disordered {
		t.Errorf("out of order: %s", s)
	}
}

// report is what a campaign measured.
type report struct {
	verdict
	kills, random, messages int
	stops                   int
	unrest                  *unrest
	atStep                  map[string]int
	took, settled           time.Duration
}

func (r report) String() string {
	var b strings.Builder
	line := func(what string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", what, value) }
	b.WriteString("| what | number |\n|---|---|\n")
	named := 0
	for _, n := range r.atStep {
		named += n
	}
	line("kills (SIGKILL)", r.kills)
	line("of those at a named step", named)
	line("of those at a random moment", r.random)
	line("messages, over "+strconv.Itoa(chats)+" chats", r.messages)
	line("/stop said", r.stops)
	line("refusals of the bot's token (401), which was well again", r.unrest.refused)
	line("outages of the network", r.unrest.outages)
	line("outages of the model", r.unrest.silences)
	line("**lost**", r.lost)
	line("**out of order within a chat**", len(r.disordered))
	line("**answered twice without the mark**", len(r.twice))
	line("sent with the mark ↻, because an earlier sending may have arrived", r.marked)
	line("of those, really seen twice", r.repeated)
	line("previews left unfinished by a kill, visibly (…)", r.leftovers)
	line("answers", r.answers)
	line("campaign", r.took.Round(time.Second))
	line("last start until everything was answered", r.settled.Round(10*time.Millisecond))
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
		{"good", []int{1, 2, 3}, []string{"Seen: #1 done.", "Seen: #2 #3 done."}, "0 0 0 0 0"},
		{"lost", []int{1, 2}, []string{"Seen: #1 done."}, "1 0 0 0 0"},
		{"twice", []int{1}, []string{"Seen: #1 done.", "Seen: #1 done."}, "0 1 0 0 0"},
		{"twice with the mark", []int{1}, []string{"Seen: #1 done.", "↻ Seen: #1 done."}, "0 0 0 1 1"},
		{"mark without a repeat", []int{1}, []string{"↻ Seen: #1 done."}, "0 0 0 1 0"},
		{"order", []int{1, 2}, []string{"Seen: #2 done.", "Seen: #1 done."}, "0 0 1 0 0"},
		{"leftover", []int{1}, []string{"Seen: #1 …", "Seen: #1 done."}, "0 0 0 0 0"},
		{"a stop ends a turn", []int{1, stopped, 2}, []string{"Stopped.", "Seen: #2 done."}, "0 0 0 0 0"},
		{"a stop ends one turn", []int{1, 2, stopped}, []string{"Stopped."}, "1 0 0 0 0"},
		{"a stop ends a turn of two", []int{2, 3, stopped}, []string{"Stopped."}, "0 0 0 0 0"},
		{"a stop shows a part, and ends no other", []int{1, 2, stopped}, []string{"Seen: #1\n\n(stopped)"}, "1 0 0 0 0"},
		{"a stop shows a part of a turn of two", []int{2, 3, stopped}, []string{"Seen: #2\n\n(stopped)"}, "0 0 0 0 0"},
		{"a stop excuses nothing later", []int{stopped, 1}, []string{"Stopped."}, "1 0 0 0 0"},
		{"a stop of nothing", []int{1, stopped}, []string{"Nothing is running now."}, "1 0 0 0 0"},
		{"a stop of what waits", []int{1, 2, stopped}, []string{"Stopped. Your message was still waiting; it is not answered any more. Ask again when you like."}, "0 0 0 0 0"},
		{"a stop without a reply", []int{1, stopped}, []string{"Seen: #1 done."}, "1 0 0 0 0"},
		{"a stop told twice", []int{1, stopped}, []string{"Stopped.", "Stopped."}, "0 1 0 0 0"},
		{"a leftover is no answer", []int{1}, []string{"Seen: #1 …"}, "1 0 0 0 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v verdict
			v.chat(1, tt.sent, tt.shown, func(n int) int { return min(n, 2) })
			got := fmt.Sprint(v.lost, len(v.twice), len(v.disordered), v.marked, v.repeated)
			if got != tt.want {
				t.Errorf("lost, twice, disordered, marked, repeated = %s, want %s", got, tt.want)
			}
		})
	}
}

package crash_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rules"
)

// stored is what the store holds in the end of what the daemon said in a chat, beside
// its answers.
type stored struct {
	// failures are the sentences about turns that failed: by sentence, the messages of
	// each turn.
	failures map[string][][]int
	renewed  int // replies to /new
	paused   int // sentences about a pause
	files    int
	flaws    []string
}

// toldEmpty is the sentence about an empty answer. Others have an id.
const toldEmpty = "(The model gave an empty answer. Please ask again, or in other words.)"

var failureForm = regexp.MustCompile(`^Sorry, .* \(error [0-9a-f]{6}\)\.`)

// failure is the sentence about a failed turn in a reply, without its mark and markup.
func failure(text string) (sentence string, is bool) {
	line, _, _ := strings.Cut(strings.TrimPrefix(text, repeatMark), "\n")
	line = strings.Trim(line, "*_")
	return line, failureForm.MatchString(line) || line == toldEmpty
}

func isFailure(text string) bool {
	_, is := failure(text)
	return is
}

// ends gives the turns of a chat that failed to the sentences that it shows.
type ends struct {
	left    map[string][][]int // by sentence, the messages of turns not yet shown
	repeats map[string]int     // how many more are shown than turns failed
	begun   map[string]bool
}

func newEnds(failures map[string][][]int, shown []string) *ends {
	e := &ends{left: maps.Clone(failures), repeats: map[string]int{}, begun: map[string]bool{}}
	for _, text := range shown {
		if sentence, is := failure(text); is {
			e.repeats[sentence]++
		}
	}
	for sentence := range e.repeats {
		e.repeats[sentence] -= len(failures[sentence])
	}
	return e
}

// next are the messages of the turn that text is about, or again: it was shown before.
// Sentences may be the same for several turns; where one is shown too often, those with
// the mark are repeats, if enough of them are left in later, which is shown afterwards, for
// the turns that ended before the next answer.
func (e *ends) next(text string, later []string) (turn []int, again bool) {
	sentence, _ := failure(text)
	marked := strings.HasPrefix(text, repeatMark)
	spare := marked && e.begun[sentence] && e.repeats[sentence] > 0
	if len(e.left[sentence]) == 0 || spare && enough(sentence, e.left[sentence], later) {
		e.repeats[sentence]--
		return nil, true
	}
	turn = e.left[sentence][0]
	e.left[sentence] = e.left[sentence][1:]
	e.begun[sentence] = true
	return turn, false
}

// enough reports whether the sentence is shown as often before the next answer in later as
// turns end with it before that answer.
func enough(sentence string, turns [][]int, later []string) bool {
	shown := 0
	for _, text := range later {
		other, is := failure(text)
		switch about := marks(text); {
		case is && other == sentence:
			shown++
		case !is && strings.HasPrefix(strings.TrimPrefix(text, repeatMark), "Seen: #") && len(about) > 0:
			ended := 0
			for _, turn := range turns {
				if len(turn) > 0 && turn[0] < about[0] {
					ended++
				}
			}
			return shown >= ended
		}
	}
	return true
}

// said reads what the daemon said, from a store that no daemon has.
func (c *campaign) said(store *engine.Store) {
	numbers := map[string]int{}
	for chat := range chats {
		numbers[c.people.name(chat)] = chat
		c.stored[chat] = stored{failures: map[string][][]int{}}
	}
	turns := map[string][]int{}
	var replies []sessions.OutboxRecord
	err := store.Dump(context.Background(), nil, func(r sessions.Record) error {
		if r.Messages != nil {
			for _, m := range r.Messages.Messages {
				if m.Role == sessions.RoleUser && m.Turn != "" {
					turns[m.Turn] = append(turns[m.Turn], marks(noted.ReplaceAllString(m.Content, ""))...)
				}
			}
		}
		if r.Outbox != nil && r.Outbox.Key.Channel() == c.channel {
			replies = append(replies, *r.Outbox)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range replies {
		chat, known := numbers[o.Key.Chat()]
		if !known {
			continue
		}
		s := &c.stored[chat]
		sentence, failed := failure(o.Text)
		switch {
		case o.State == sessions.DeliveryDead:
			s.flaws = append(s.flaws, fmt.Sprintf("chat %d: %.60q was given up: %s", chat, o.Text, o.Error))
		case failed && o.Part <= 1:
			s.failures[sentence] = append(s.failures[sentence], turns[o.Turn])
		case strings.HasPrefix(o.Text, toldRenewed):
			s.renewed++
		case o.Text == toldPaused:
			s.paused++
		case o.File != "" && o.State == sessions.DeliverySent:
			s.files++
		}
	}
}

// more is the end of a list of names that is too long.
var more = regexp.MustCompile(` and (\d+) more\.`)

// unsaid is how many of dropped a reply neither names nor counts.
func unsaid(reply string, dropped []int) int {
	_, list, _ := strings.Cut(reply, toldUnanswered)
	named := marks(list)
	n := 0
	for _, mark := range dropped {
		if !slices.Contains(named, mark) {
			n++
		}
	}
	if m := more.FindStringSubmatch(list); m != nil {
		counted, _ := strconv.Atoi(m[1]) // digits
		n -= counted
	}
	return n
}

// droppedBy are the messages that the /news among rows have ended, and what is wrong with
// their replies: each has to name what it dropped, or shows the beginning of the answer.
func droppedBy(rows []row, all []request, deaths []time.Time) (ended map[int]bool, flaws []string) {
	ended = make(map[int]bool)
	for i, s := range rows {
		if s.mark != renewed {
			continue
		}
		if !strings.Contains(s.whole, toldRenewed) {
			flaws = append(flaws, fmt.Sprintf("the /new %d has no reply", s.seq))
		}
		var dropped []int
		for _, r := range rows[:i] {
			if r.mark > 0 && r.state == rules.InClosed && r.why == byNew && !ended[r.mark] {
				ended[r.mark] = true
				dropped = append(dropped, r.mark)
			}
		}
		if strings.Contains(s.whole, toldPartial) {
			begun := lastAsked(dropped, since(all, deaths, s.at)).marks
			dropped = slices.DeleteFunc(dropped, func(n int) bool { return slices.Contains(begun, n) })
		}
		if n := unsaid(s.whole, dropped); n > 0 {
			flaws = append(flaws, fmt.Sprintf("the /new %d dropped %v, and did not say so of %d", s.seq, dropped, n))
		}
	}
	return ended, flaws
}

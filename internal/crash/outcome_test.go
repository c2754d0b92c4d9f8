package crash_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
	"dragoman/sessions/rules"
	"dragoman/sessions/sqlite"
)

// row is what the store holds in the end of something that a person said.
type row struct {
	seq   int64
	id    string // the message's
	mark  int    // stopped: a /stop
	state string
	// edited: its author changed it while it waited, or was in a turn, which then begins anew.
	edited bool
	why    string    // of a closed one: by which command
	at     time.Time // accepted
	reply  string    // to a /stop, without the messages that it names
	whole  string    // to a /stop or /new
}

// byNew is why a row is closed of which a /new was the end.
const byNew = "new"

func (r row) String() string {
	return fmt.Sprintf("\n%d %s #%d %s %s %q", r.seq, r.at.Format("05.000"), r.mark, r.state, r.id, r.whole)
}

// request is what the model was asked once.
type request struct {
	at    time.Time
	marks []int
	again bool // its turn asks again: the model was away, or called tools
}

func (q request) String() string {
	return fmt.Sprintf("\n%s %v %t", q.at.Format("05.000"), q.marks, q.again)
}

// openStore opens the store of a state directory, which no daemon has.
func openStore(t *testing.T, state, kind string) (store *engine.Store, path string) {
	t.Helper()
	var err error
	if kind == "file" {
		path = filepath.Join(state, "sessions")
		store, err = file.Open(t.Context(), path, file.Options{})
	} else {
		path = filepath.Join(state, "dragoman.db")
		store, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, path
}

// rows reads the store, which no daemon has any more.
func (c *campaign) rows() (all [chats][]row) {
	c.t.Helper()
	store := c.open()
	defer store.Close()
	c.said(store)
	numbers, replies := map[string]int{}, map[string]string{}
	for chat := range chats {
		numbers[c.people.name(chat)] = chat
	}
	err := store.Dump(context.Background(), nil, func(r sessions.Record) error {
		switch {
		case r.Outbox != nil && r.Outbox.ReplyTo != "" && r.Outbox.Key.Channel() == c.channel:
			replies[r.Outbox.Key.Chat()+" "+r.Outbox.ReplyTo] += r.Outbox.Text
		case r.Inbox != nil && r.Inbox.Source == sessions.SourceChat && r.Inbox.Inbound.Edits == "" && r.Inbox.Inbound.Key.Channel() == c.channel:
			in := r.Inbox.Inbound
			chat, known := numbers[in.Key.Chat()]
			mark, said := c.mark(chat, in)
			if !known || !said {
				c.t.Errorf("the store has %+v, which nobody said", in)
			}
			all[chat] = append(all[chat], row{seq: r.Inbox.Seq, id: in.MessageID, mark: mark, state: r.Inbox.State, edited: r.Inbox.Rev > 0, why: r.Inbox.Why, at: r.Inbox.Accepted})
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for chat, list := range all {
		for i, r := range list {
			list[i].whole = replies[c.people.name(chat)+" "+r.id]
			list[i].reply = unnamed(list[i].whole)
		}
		slices.SortFunc(list, func(a, b row) int { return int(a.seq - b.seq) })
	}
	return all
}

// outcomes says what is wrong with the outcomes of one chat. Each message has
// one row and one outcome: an answer that is seen, the end of the turn that a
// /stop found running, the end of what waited if no turn ran and the reply says
// so, the end that a /new names, or to be taken back by its author.
func outcomes(sent []int, rows []row, seen, revoked map[int]bool, asked []request, deaths []time.Time) []string {
	ended := stoppedBy(rows, asked, deaths)
	dropped, flaws := droppedBy(rows, asked, deaths)
	flaw := func(format string, args ...any) { flaws = append(flaws, fmt.Sprintf(format, args...)) }
	found := make(map[int]int)
	for _, r := range rows {
		found[r.mark]++
		switch {
		case r.mark == stopped, r.mark == renewed:
			if r.mark == stopped && r.reply == "" {
				flaw("the /stop %d has no reply", r.seq)
			}
			for _, n := range marks(r.whole) {
				if wasAnswered(rows, n) {
					flaw("#%d was answered, and told to be stopped", n)
				}
			}
		case r.state == rules.InDone && !seen[r.mark]:
			flaw("#%d has no answer", r.mark)
		case r.state == rules.InClosed && r.why == byNew:
			if !dropped[r.mark] {
				flaw("#%d was dropped by a /new that nobody said", r.mark)
			}
		case r.state == rules.InClosed && !ended[r.mark]:
			flaw("#%d was dropped, and no /stop was for it", r.mark)
		case r.state == rules.InWithdrawn && !revoked[r.mark]:
			flaw("#%d was dropped as taken back, and was not", r.mark)
		case r.state != rules.InDone && r.state != rules.InClosed && r.state != rules.InWithdrawn:
			flaw("#%d is %s", r.mark, r.state)
		}
	}
	want := make(map[int]int)
	for _, n := range sent {
		want[n]++
	}
	for n := range want {
		if found[n] != want[n] {
			flaw("#%d was accepted %d times, and said %d times", n, found[n], want[n])
		}
	}
	return flaws
}

func wasAnswered(list []row, mark int) bool {
	return slices.ContainsFunc(list, func(r row) bool { return r.mark == mark && r.state == rules.InDone })
}

func wasEdited(list []row, marks []int) bool {
	return slices.ContainsFunc(list, func(r row) bool { return r.edited && slices.Contains(marks, r.mark) })
}

// stoppedBy are the messages that the /stops among rows may have ended: of each
// those of one turn, which is what the model was asked last about them. A turn that had not
// asked it yet has what waited in a row, and so has one that is about to ask again, after a
// request that failed, calls of tools or a change of what it asked; so has a reply that says
// so, all of it.
// A turn dies with its daemon: its successor has asked nothing yet.
func stoppedBy(rows []row, all []request, deaths []time.Time) map[int]bool {
	ended := make(map[int]bool)
	for i, s := range rows {
		if s.mark != stopped || s.reply == "" || s.reply == toldNothing {
			continue
		}
		var open []int
		for _, r := range rows[:i] {
			if r.mark > 0 && r.state == rules.InClosed && r.why != byNew && !ended[r.mark] {
				open = append(open, r.mark)
			}
		}
		// The sentence speaks of one message; more of them have to be named.
		told := len(open) == 1 || unsaid(s.whole, open) <= 0
		asked := since(all, deaths, s.at)
		last := lastAsked(open, asked)
		running := last.marks
		began := len(running) > 0
		again := last.again || began && moodOver(running) != nil || wasEdited(rows, running)
		for _, n := range open {
			known := slices.ContainsFunc(asked, func(q request) bool { return slices.Contains(q.marks, n) })
			switch {
			case strings.HasSuffix(s.reply, toldWaiting) && told,
				began && slices.Contains(running, n),
				began && !known && s.reply == toldStopped && again,
				!began && !known && !strings.Contains(s.reply, toldPartial):
				ended[n] = true
			}
		}
	}
	return ended
}

// since are the requests before at of the daemon that ran then.
func since(asked []request, deaths []time.Time, at time.Time) []request {
	var died time.Time
	for _, d := range deaths {
		if d.Before(at) && d.After(died) {
			died = d
		}
	}
	return slices.DeleteFunc(slices.Clone(asked), func(q request) bool { return !q.at.Before(at) || q.at.Before(died) })
}

// lastAsked is the last request about one of these messages. On a busy machine the model may
// hear of an ended turn after the next one has asked.
func lastAsked(marks []int, asked []request) request {
	for _, q := range slices.Backward(asked) {
		if q.about(marks) {
			return q
		}
	}
	return request{}
}

// about reports whether q asked about one of these messages.
func (q request) about(marks []int) bool {
	return slices.ContainsFunc(marks, func(n int) bool { return slices.Contains(q.marks, n) })
}

func TestOutcomesFindFlaws(t *testing.T) {
	const (
		done      = rules.InDone
		closed    = rules.InClosed
		withdrawn = rules.InWithdrawn
	)
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	said := func(n int, state string) row { return row{mark: n, state: state} }
	stop := func(s int, reply string) row {
		return row{mark: stopped, state: done, at: at(s), reply: unnamed(reply), whole: reply}
	}
	fresh := func(s int, reply string) row { return row{mark: renewed, state: done, at: at(s), whole: reply} }
	ended := func(n int) row { return row{mark: n, state: closed, why: byNew} }
	begins := toldRenewed + " The old one is kept."
	ask := func(s int, marks ...int) request { return request{at: at(s), marks: marks} }
	partial := "Seen: #1\n\n*" + toldPartial + "*"
	waited := "Stopped. Your message was still waiting; " + toldWaiting
	tests := []struct {
		name  string
		rows  []row
		asked []request
		seen  []int
		want  string
	}{
		{"answered", []row{said(1, done)}, []request{ask(1, 1)}, []int{1}, ""},
		{"no answer", []row{said(1, done)}, []request{ask(1, 1)}, nil, "#1 has no answer"},
		{"left", []row{said(1, "waiting")}, nil, nil, "#1 is waiting"},
		{"accepted twice", []row{said(1, done), said(1, done)}, nil, []int{1}, "#1 was accepted 2 times, and said 1 times"},
		{"dropped", []row{said(1, closed)}, []request{ask(1, 1)}, nil, "#1 was dropped, and no /stop was for it"},
		{"a stop ends a turn", []row{said(1, closed), stop(3, "Stopped."), said(2, done)}, []request{ask(1, 1), ask(4, 1, 2)}, []int{1, 2}, ""},
		{"a stop ends a turn that was to ask again", []row{said(19, closed), said(20, closed), stop(3, toldStopped)}, []request{ask(1, 19)}, nil, ""},
		{"a stop ends a turn that was to ask again after tools", []row{said(1, closed), said(2, closed), stop(3, toldStopped)}, []request{{at: at(1), marks: []int{1}, again: true}}, nil, ""},
		{"a stop ends a turn that was to ask again after a change", []row{{mark: 1, state: closed, edited: true}, said(2, closed), stop(3, toldStopped)}, []request{ask(1, 1)}, nil, ""},
		{"a stop ends a turn, and the model hears of the one before", []row{said(1, done), said(2, closed), said(4, closed), stop(5, toldStopped)}, []request{ask(2, 2, 4), ask(3, 1)}, []int{1}, ""},
		{"a stop ends a turn of two", []row{said(1, closed), said(2, closed), stop(3, partial)}, []request{ask(1, 1, 2)}, nil, ""},
		{"a stop ends what waits behind the turn", []row{said(1, closed), said(2, closed), stop(3, partial)}, []request{ask(1, 1)}, nil, "#2 was dropped, and no /stop was for it"},
		{"the next turn shows what a stop dropped", []row{said(1, closed), said(2, closed), stop(3, "Stopped."), said(4, done)}, []request{ask(1, 1), ask(4, 1, 2, 4)}, []int{1, 2, 4}, "#2 was dropped, and no /stop was for it"},
		{"two stops end two turns", []row{said(1, closed), said(2, closed), stop(3, partial), stop(5, partial)}, []request{ask(1, 1), ask(4, 2)}, nil, ""},
		{"a stop of a turn that has not asked", []row{said(1, closed), stop(3, "Stopped.")}, nil, nil, ""},
		{"a part of a turn that has not asked", []row{said(1, closed), stop(3, partial)}, nil, nil, "#1 was dropped, and no /stop was for it"},
		{"a stop of what waits", []row{said(1, closed), stop(3, waited)}, nil, nil, ""},
		{"a stop names what waits", []row{said(1, closed), said(2, closed), stop(3, waited+toldUnanswered+"message #1”, “message #2”.")}, []request{ask(1, 1)}, nil, ""},
		{"a stop names one of two", []row{said(1, closed), said(2, closed), stop(3, waited+toldUnanswered+"message #1”.")}, []request{ask(1, 1)}, nil, "#2 was dropped, and no /stop was for it"},
		{"a new one", []row{said(1, done), fresh(3, begins)}, nil, []int{1}, ""},
		{"a new one names what it drops", []row{ended(1), ended(2), fresh(3, begins+toldUnanswered+"message #1”, “message #2”.")}, nil, nil, ""},
		{"a new one counts what it drops", []row{ended(1), ended(2), fresh(3, begins+toldUnanswered+"message #1”, and 1 more.")}, nil, nil, ""},
		{"a new one counts too few", []row{ended(1), ended(2), ended(4), fresh(3, begins+toldUnanswered+"message #1”, and 1 more.")}, nil, nil, "the /new 0 dropped [1 2 4], and did not say so of 1"},
		{"a new one in silence", []row{ended(1), fresh(3, begins)}, []request{ask(1, 1)}, nil, "the /new 0 dropped [1], and did not say so of 1"},
		{"a new one shows the beginning", []row{ended(1), ended(2), fresh(3, partial+begins+toldUnanswered+"message #2”.")}, []request{ask(1, 1)}, nil, ""},
		{"a new one shows the beginning only", []row{ended(1), ended(2), fresh(3, partial+begins)}, []request{ask(1, 1)}, nil, "the /new 0 dropped [2], and did not say so of 1"},
		{"a new one names what is answered", []row{said(1, done), fresh(3, begins+toldUnanswered+"message #1”.")}, nil, []int{1}, "#1 was answered, and told to be stopped"},
		{"a new one without a reply", []row{fresh(3, "")}, nil, nil, "the /new 0 has no reply"},
		{"dropped by no new one", []row{ended(1)}, nil, nil, "#1 was dropped by a /new that nobody said"},
		{"a stop of what is answered", []row{said(1, done), stop(3, partial)}, []request{ask(1, 1)}, []int{1}, "#1 was answered, and told to be stopped"},
		{"a stop of what is said later", []row{stop(3, waited), said(1, closed)}, nil, nil, "#1 was dropped, and no /stop was for it"},
		{"a stop of nothing", []row{said(1, closed), stop(3, toldNothing)}, nil, nil, "#1 was dropped, and no /stop was for it"},
		{"a stop without a reply", []row{stop(3, "")}, nil, nil, "the /stop 0 has no reply"},
		{"taken back", []row{said(9, withdrawn)}, nil, nil, ""},
		{"not taken back", []row{said(1, withdrawn)}, nil, nil, "#1 was dropped as taken back, and was not"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen := make(map[int]bool)
			for _, n := range tt.seen {
				seen[n] = true
			}
			var sent []int
			for _, r := range tt.rows {
				if r.mark <= 0 || !slices.Contains(sent, r.mark) {
					sent = append(sent, r.mark)
				}
			}
			if got := strings.Join(outcomes(sent, tt.rows, seen, map[int]bool{9: true}, tt.asked, nil), "; "); got != tt.want {
				t.Errorf("flaws = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestStoppedAfterADeath is the stop of a turn whose predecessor, of one message
// less, had asked when the daemon was killed.
func TestStoppedAfterADeath(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	rows := []row{{mark: 1, state: rules.InClosed}, {mark: 2, state: rules.InClosed}, {mark: stopped, state: rules.InDone, at: at(3), reply: "Stopped."}}
	sent, asked := []int{1, 2, stopped}, []request{{at: at(1), marks: []int{1}}}
	for _, tt := range []struct {
		name   string
		deaths []time.Time
		flaws  int
	}{
		{"lives", nil, 1},
		{"died", []time.Time{at(2)}, 0},
		{"died before it asked", []time.Time{at(0)}, 1},
		{"died later", []time.Time{at(4)}, 1},
	} {
		if got := outcomes(sent, rows, nil, nil, asked, tt.deaths); len(got) != tt.flaws {
			t.Errorf("%s: flaws = %q, want %d", tt.name, got, tt.flaws)
		}
	}
}

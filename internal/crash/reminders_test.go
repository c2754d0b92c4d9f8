package crash_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
)

// scheduling is a model that makes these calls of schedule for whoever asks, and does a task.
func scheduling(calls ...string) agenttest.Reply {
	return func(x *agenttest.Exchange) {
		last := x.Request.Messages[len(x.Request.Messages)-1]
		switch {
		case strings.Contains(last.Content, "tell the news"):
			x.Text("no news")
		case last.Role == "tool":
			x.Text("I will.")
		default:
			for i, args := range calls {
				x.Tools(agenttest.ToolDelta{Index: agenttest.At(i), ID: fmt.Sprint("call_", i), Name: "schedule", Arguments: args})
			}
			x.End("tool_calls")
			return
		}
		x.End("stop")
	}
}

// over waits until the daemon says that nothing is left to come: no reminder, nothing that
// waits and nothing unsent. All of so many due times ran.
func (p *program) over(due int) {
	p.t.Helper()
	admin := api.Dial(filepath.Join(p.dir, "state", "dragoman.sock"))
	defer admin.Close()
	var list api.Page[api.Job]
	var st api.Status
	idle := testkit.Poll(40*time.Second, func() bool {
		var err error
		list, err = api.ListJobs.Call(p.t.Context(), admin, api.JobQuery{})
		if err != nil || len(list.Data) > 0 {
			return false
		}
		st, err = api.ReadStatus.Call(p.t.Context(), admin, api.None{})
		return err == nil && st.QueueCounts != nil && st.Waiting+st.Postponed+st.Unsent+st.Unknown == 0
	})
	if !idle {
		p.t.Errorf("something is left to come: %+v, %+v", list.Data, st.QueueCounts)
	}
	log, err := api.ListOccurrences.Call(p.t.Context(), admin, api.JobLimited{Limit: 200})
	if err != nil || len(log.Data) != due || slices.ContainsFunc(log.Data, func(o api.Occurrence) bool { return o.Outcome != "ran" }) {
		p.t.Errorf("the outcomes are %+v, %v; want that each of %d ran", log.Data, err, due)
	}
}

// The daemon is killed around each step of what comes due: as it fires, as the turn of a task
// ends, and as either is delivered. Both arrive once, on each network and store.
func TestRemindersKilled(t *testing.T) {
	t.Parallel()
	few := []string{"remind.before@1", "remind.after@1", "remind.after@2", "commit.after@2", "sent.before@2", "sending.after@2"}
	for _, place := range []struct {
		name  string
		store func(t *testing.T) string
		room  func(t *testing.T) room
		steps []string
	}{
		{"page sqlite", func(*testing.T) string { return "{type: sqlite}" }, onThePage, append([]string{
			"remind.before@2", "commit.before@2", "sending.before@2", "sent.after@2", "sending.after@3", "sent.before@3",
		}, few...)},
		{"telegram file", func(*testing.T) string { return "{type: file}" }, onTelegram, few},
		{"telegram postgres", func(t *testing.T) string { return fmt.Sprintf("{type: postgres, url: %q}", pgtest.Database(t, "", "")) }, onTelegram, few},
		{"irc sqlite", func(*testing.T) string { return "{type: sqlite}" }, onIRC, few},
		{"whatsapp sqlite", func(*testing.T) string { return "{type: sqlite}" }, onWhatsApp, few},
	} {
		for _, step := range stepsOf(t, place.steps...) {
			t.Run(place.name+" "+step, func(t *testing.T) {
				t.Parallel()
				p := newProgramOn(t, place.store(t), scheduling(`{"text":"call Ann","in":"2s"}`, `{"prompt":"tell the news","in":"2s"}`))
				r := place.room(t)
				r.enter(p)
				cmd := p.start(step)
				dead := ended(cmd)
				r.say(p, dead)
				dead = p.restarted(cmd, dead, step)
				r.untilShown(p, dead, "I will.", "call Ann", "no news")
				p.over(2)
				r.once(p, "I will.", "call Ann", "no news")
			})
		}
	}
}

// back moves what is due in the store of p, which does not run, two hours back.
func (p *program) back() {
	p.t.Helper()
	store, _ := openStore(p.t, filepath.Join(p.dir, "state"), "sqlite")
	defer store.Close()
	notes, err := store.Notes(p.t.Context(), sessions.NoteFilter{Kind: "reminder"})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range notes {
		if n.Due.IsZero() {
			continue
		}
		const ago = 2 * time.Hour
		data := map[string]json.RawMessage{}
		var from time.Time
		err := json.Unmarshal(n.Data, &data)
		if err == nil {
			err = json.Unmarshal(data["from"], &from)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		data["from"], _ = json.Marshal(from.Add(-ago))
		n.Data, _ = json.Marshal(data)
		n.Due = n.Due.Add(-ago)
		err = store.AddNotes(p.t.Context(), n)
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// What came due while no daemon ran comes in one message, once, though the daemon is killed
// around each step of telling it.
func TestLateRemindersKilled(t *testing.T) {
	t.Parallel()
	for _, step := range stepsOf(t, "remind.before@1", "remind.after@1", "sending.before@1", "sent.before@1", "sending.after@1", "sent.after@1") {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newProgramOn(t, "{type: sqlite}", scheduling(`{"text":"call Ann","in":"1h"}`, `{"text":"call Bob","in":"1h"}`, `{"text":"call Eve","in":"1h"}`))
			r := onThePage(t)
			cmd := p.start("")
			dead := ended(cmd)
			r.say(p, dead)
			r.untilShown(p, dead, "I will.")
			_ = cmd.Process.Signal(os.Interrupt)
			<-dead
			p.back()
			cmd = p.launch(step)
			dead = p.restarted(cmd, ended(cmd), step)
			r.untilShown(p, dead, "3 reminders are late:")
			p.over(3)
			r.once(p, "3 reminders are late:")
			shown, err := r.shown(p)
			if err != nil || len(shown) != 3 || strings.Count(shown[2], "I was not running") != 3 {
				t.Errorf("the room shows %q, %v; want one message with three reminders", shown, err)
			}
		})
	}
}

// Three nodes have twenty reminders that come due within seconds. Two of them are killed in
// between, one after the other. Each reminder comes once. They are due late enough for all
// nodes to know of them, and to fire them in the same moment.
func TestRemindersOverNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	t.Parallel()
	const reminders = 20
	var calls, texts []string
	for i := range reminders {
		texts = append(texts, fmt.Sprintf("number %02d.", i))
		calls = append(calls, fmt.Sprintf(`{"text":%q,"in":"%ds"}`, texts[i], 20+i/4))
	}
	store := fmt.Sprintf("{type: postgres, url: %q}", pgtest.Database(t, "", ""))
	r := onTelegram(t)
	var nodes [3]*program
	var kills [3]func()
	start := func(i int) {
		cmd := nodes[i].start("")
		dead := ended(cmd)
		kills[i] = func() { _ = cmd.Process.Kill(); <-dead }
	}
	for i := range nodes {
		nodes[i] = newProgramOn(t, store, scheduling(calls...))
		nodes[i].configure(r.settings)
		start(i)
	}
	t.Cleanup(func() {
		for _, kill := range kills {
			kill()
		}
	})
	r.say(nodes[0], nil)
	for i, after := range []int{5, 12} {
		testkit.Eventually(t, fmt.Sprint(after, " reminders"), func() bool {
			shown, _ := r.shown(nodes[0])
			return len(shown) > after
		})
		kills[i]()
		start(i)
	}
	r.untilShown(nodes[2], nil, texts...)
	nodes[2].over(reminders)
	r.once(nodes[2], texts...)
}

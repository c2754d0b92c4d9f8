package story_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// changes lets somebody else write the file that q is about.
func (n *askedNet) changes(q askedQuestion) {
	n.t.Helper()
	err := os.WriteFile(filepath.Join(n.house.state, "workspace", q.file), []byte("something else"), 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
}

// passes lets questions in the store of a house, where no daemon runs, have waited that long.
func (h *house) passes(long time.Duration) {
	h.t.Helper()
	s, err := sqlite.Open(h.t.Context(), filepath.Join(h.state, "dragoman.db"), sqlite.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	notes, err := s.Notes(h.t.Context(), sessions.NoteFilter{Kind: "approval"})
	for _, n := range notes {
		err = errors.Join(err, s.ChangeNotes(h.t.Context(), n.Kind, n.Owner, func([]sessions.Note) ([]sessions.Note, []string, error) {
			older, err := olderQuestion(n, long)
			return []sessions.Note{older}, nil, err
		}))
	}
	err = errors.Join(err, s.Close())
	if err != nil {
		h.t.Fatal(err)
	}
}

// olderQuestion is the record of a question that was asked that much earlier.
func olderQuestion(n sessions.Note, by time.Duration) (sessions.Note, error) {
	var all map[string]any
	err := json.Unmarshal(n.Data, &all)
	if err != nil {
		return n, err
	}
	for _, name := range []string{"asked", "until"} {
		at, err := time.Parse(time.RFC3339Nano, all[name].(string))
		if err != nil {
			return n, err
		}
		all[name] = at.Add(-by)
	}
	n.Data, err = json.Marshal(all)
	if !n.Due.IsZero() {
		n.Due = n.Due.Add(-by)
	}
	return n, err
}

// modelRead reports whether the model was told something instead of a result of a tool.
func (h *house) modelRead(words string) bool {
	for _, r := range h.model.Requests() {
		for _, m := range r.Messages {
			if m.Role == "tool" && strings.Contains(m.Content, words) {
				return true
			}
		}
	}
	return false
}

// What Ann allowed was that a file is replaced that was as she was told. A daemon that was
// down when the time was over says so when it is back.
func TestAskedAndThingsChange(t *testing.T) {
	h := newHouse(t, plan{rest: askedSettings("telegram:72")})
	n := &askedNet{
		daemon: h.start(), heard: func() []string { return h.api.FromBot(ann.ID) },
		asks:   func(text string) { h.tell(ann, text) },
		denies: func(code string) { h.tell(ann, "/deny "+code) },
	}
	n.run(t, []askedCase{
		{"the file has changed", func(q askedQuestion) {
			n.changes(q)
			h.tell(ann, "/allow "+q.code)
			testkit.Eventually(t, "the model to be told", func() bool { return h.modelRead("something has changed since the person was asked") })
		}, "closed"},
		{"too late", func(q askedQuestion) {
			n.kill()
			h.passes(11 * time.Minute)
			n.daemon = h.start()
			testkit.Eventually(t, "the model to be told", func() bool { return h.modelRead("nobody allowed it in time") })
			h.tell(ann, "/allow "+q.code)
			const late = "Nothing has changed: write_file was settled before (nobody allowed it until"
			testkit.Eventually(t, "an answer to the late yes", func() bool { return strings.Contains(strings.Join(n.heard(), "\n"), late) })
		}, "expired"},
	})
}

// A backup was made while Ann was asked, and she allowed it afterwards. After the restore the
// old yes is no yes, it is not run again, and she is told that nothing waits.
func TestAskedAndRestored(t *testing.T) {
	h := newHouse(t, plan{rest: askedSettings("telegram:72")})
	n := &askedNet{
		daemon: h.start(), heard: func() []string { return h.api.FromBot(ann.ID) },
		asks: func(text string) { h.tell(ann, text) },
	}
	q := n.question()
	backup := filepath.Join(h.dir, "backup")
	h.dragoman("backup", backup)
	h.tell(ann, "/allow "+q.code)
	testkit.Eventually(t, "the file", func() bool { return n.written(q) })
	testkit.Eventually(t, "the call to be done", func() bool { return n.state(q) == "used" && h.modelRead("Wrote "+q.file) })
	hears := func(words string) func() bool {
		return func() bool { return strings.Contains(strings.Join(n.heard(), "\n"), words) }
	}
	testkit.Eventually(t, "the question to become the decision", hears("allowed by Ann"))
	testkit.Eventually(t, "Telegram to know what came in", func() bool { return h.api.Unconfirmed() == 0 })
	n.kill()
	out := h.dragoman("restore", backup, "--yes")
	if !strings.Contains(out, "Left out: 1 token, code or pending approval.") {
		t.Errorf("the restore says %q", out)
	}
	n.daemon = h.start()
	const lost = "the person was asked about it, and the answer is lost"
	testkit.Eventually(t, "the model to be told", func() bool { return h.modelRead(lost) })
	testkit.Eventually(t, "an answer", hears(lost)) // the model repeats what it read
	h.tell(ann, "/allow "+q.code)
	testkit.Eventually(t, "an answer to the yes", hears("No question here waits for your answer."))
	_, err := os.Stat(filepath.Join(h.state, "workspace", q.file))
	if err == nil || n.state(q) != "" {
		t.Errorf("after the restore the question is %q, and the file: %v; want neither", n.state(q), err)
	}
	if hears("May I run")() {
		t.Errorf("Ann is asked again: %q", n.heard())
	}
}

// wroteFiles is how many calls of write_file a daemon has run.
func (d *daemon) wroteFiles() (n int) {
	d.t.Helper()
	_, page := d.read("/metrics")
	found := regexp.MustCompile(`dragoman_tool_calls_total\{[^}]*outcome="ok",tool="write_file"\} (\d+)`).FindStringSubmatch(page)
	if found != nil {
		n, _ = strconv.Atoi(found[1])
	}
	return n
}

// Two nodes share a database. Ann is asked by one of them; a yes comes to each of them at
// the same moment, and a no to one. One counts, and what is allowed runs once, on one node.
func TestAskedOnTwoNodes(t *testing.T) {
	l := newHouse(t, plan{})
	url := pgtest.Database(t, "", "")
	var nodes []*daemon
	for _, name := range []string{"a", "b"} {
		nodes = append(nodes, l.node(name, "store: {type: postgres, url: \""+url+"\"}\n"+askedSettings("telegram:72")).start())
	}
	n := &askedNet{
		daemon: nodes[0], heard: func() []string { return l.api.FromBot(ann.ID) },
		asks: func(text string) { l.tell(ann, text) },
	}
	ran := 0
	for _, no := range []string{"allow", "deny", "allow", "deny"} {
		q := n.question()
		id := n.idOf(q)
		var both sync.WaitGroup
		decisions := make([]api.Decision, len(nodes))
		for i, answer := range []string{"allow", no} {
			both.Go(func() {
				var err error
				decisions[i], err = api.AnswerApproval.Call(t.Context(), nodes[i].admin, api.Answer{ID: id, Answer: answer})
				if err != nil {
					t.Error(err)
				}
			})
		}
		both.Go(func() { l.tell(ann, "/allow "+q.code) })
		both.Wait()
		if decisions[0].Changed && decisions[1].Changed {
			t.Errorf("both answers counted: %+v", decisions)
		}
		testkit.Eventually(t, "the question to be over", func() bool { return n.state(q) == "used" || n.state(q) == "denied" })
		if n.state(q) == "used" {
			ran++
			testkit.Eventually(t, "the file", func() bool { return n.written(q) })
			continue
		}
		testkit.Eventually(t, "the model to be told", func() bool { return l.modelRead("the person has refused it") })
		if n.written(q) {
			t.Errorf("%s was refused, and is there", q.file)
		}
	}
	if ran < 2 {
		t.Errorf("of four calls %d ran, want at least those that nobody refused", ran)
	}
	testkit.Eventually(t, "the calls to be counted", func() bool { return nodes[0].wroteFiles()+nodes[1].wroteFiles() >= ran })
	if got := nodes[0].wroteFiles() + nodes[1].wroteFiles(); got != ran {
		t.Errorf("write_file ran %d times, want %d", got, ran)
	}
}

// idOf is the id of a question.
func (n *askedNet) idOf(q askedQuestion) (id string) {
	n.t.Helper()
	list, err := api.ListApprovals.Call(n.t.Context(), n.admin, api.ApprovalQuery{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, a := range list.Data {
		if strings.Contains(a.Arguments, `"`+q.file+`"`) {
			id = a.ID
		}
	}
	return id
}

package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit/pgtest"
)

// helpers are how many tasks the model below hands out, side by side.
const helpers = 3

// part is what one of them is told.
var part = regexp.MustCompile(`do part (\d)`)

// delegating is a model that hands out tasks. Each of them writes a line and sends a message,
// and its answer has the results of both. asked counts its requests.
func delegating(asked *atomic.Int64) agenttest.Reply {
	return func(x *agenttest.Exchange) {
		asked.Add(1)
		last := x.Request.Messages[len(x.Request.Messages)-1]
		n := part.FindStringSubmatch(x.Request.LastUser())
		var results []string
		for _, m := range x.Request.Messages {
			if m.Role == "tool" {
				results = append(results, strings.Join(strings.Fields(m.Content), " "))
			}
		}
		switch {
		case last.Role == "tool" && n != nil:
			x.Text(fmt.Sprintf("part %s: %s", n[1], strings.Join(results, "; ")))
		case last.Role == "tool":
			x.Text("All parts: " + strings.Join(results, " | "))
		case n != nil:
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "write", Name: "write_file", Arguments: `{"path":"book.txt","content":"line of part ` + n[1] + `\n","append":true}`})
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(1), ID: "send", Name: "send_message", Arguments: `{"to":"Bob","text":"sent by part ` + n[1] + `"}`})
			x.End("tool_calls")
			return
		default:
			for i := range helpers {
				x.Tools(agenttest.ToolDelta{Index: agenttest.At(i), ID: fmt.Sprint("task_", i), Name: "delegate", Arguments: fmt.Sprintf(`{"task":"do part %d","tools":["write_file","send_message"]}`, i)})
			}
			x.End("tool_calls")
			return
		}
		x.End("stop")
	}
}

// The daemon is killed around each step of three helpers that work side by side: before, in
// and after their loops. What each of them did is the result of its call, it wrote its line at
// most once and sent its message once, and the person gets one answer.
func TestTasksKilled(t *testing.T) {
	t.Parallel()
	sqlite := func(*testing.T) string { return "{type: sqlite}" }
	few := []string{"journal.tool_start.after@4", "journal.model.after@3", "journal.tool_done.after@7"}
	for _, place := range []struct {
		name  string
		store func(t *testing.T) string
		steps []string
	}{
		// The turn has one answer, three calls of delegate, and its last answer with the commit.
		// The helpers have two answers each, the second to fourth and fifth to seventh of all, two
		// calls each, and an accepted message.
		{"sqlite", sqlite, append([]string{
			"journal.model.before@1", "journal.model.after@1", "journal.tool_start.before@1", "journal.tool_start.after@1", "journal.tool_start.after@3",
			"journal.model.before@2", "journal.model.after@2", "journal.model.before@4", "journal.tool_start.before@4", "journal.tool_start.after@9",
			"accept.before@2", "accept.after@2", "accept.after@4", "journal.tool_done.before@1", "journal.tool_done.after@1", "journal.tool_done.before@6",
			"journal.model.before@5", "journal.model.after@5", "journal.model.before@7", "journal.model.after@7", "journal.tool_done.before@9", "journal.tool_done.after@9",
			"commit.before@1", "commit.after@1", "sending.after@1", "sent.before@1",
		}, few...)},
		{"file", func(*testing.T) string { return "{type: file}" }, few},
		{"postgres", func(t *testing.T) string { return fmt.Sprintf("{type: postgres, url: %q}", pgtest.Database(t, "", "")) }, few},
	} {
		for _, step := range stepsOf(t, place.steps...) {
			t.Run(place.name+" "+step, func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int64
				p := newProgramOn(t, place.store(t), delegating(&asked))
				p.configure("agent: {delegate: {enabled: true}}\nroutes: [{from: 'web:books', to: 'web:bob', name: Bob}]\n")
				r := onThePage(t)
				cmd := p.start(step)
				dead := ended(cmd)
				r.say(p, dead)
				dead = p.restarted(cmd, dead, step)
				r.say(p, dead) // a browser does not know that it was taken
				r.untilShown(p, dead, "All parts: ")
				r.once(p, "All parts: ")
				p.helped(r, asked.Load())
			})
		}
	}
}

// helped wants that each helper did its part once, and says so in the answer, and that the
// model was asked again only for what was under way.
func (p *program) helped(r room, asked int64) {
	p.t.Helper()
	shown, err := r.shown(p)
	if err != nil || len(shown) != 2 {
		p.t.Fatalf("the room shows %q, %v; want the message and its answer", shown, err)
	}
	results := strings.Split(strings.TrimPrefix(shown[1], "All parts: "), " | ")
	if len(results) != helpers {
		p.t.Fatalf("the answer is %q, want %d results", shown[1], helpers)
	}
	book, _ := os.ReadFile(filepath.Join(p.dir, "work", "book.txt"))
	bob := onThePage(p.t)
	bob.shown = func(p *program) ([]string, error) { return p.tryFeed("web:bob") }
	for i, result := range results {
		lines := strings.Count(string(book), fmt.Sprintf("line of part %d\n", i))
		cut := strings.Contains(result, "interrupted: it may or may not have happened")
		if !strings.HasPrefix(result, fmt.Sprintf("part %d: ", i)) || lines > 1 || lines == 0 && !cut {
			p.t.Errorf("helper %d wrote %d lines, and its result is %q", i, lines, result)
		}
		if !strings.Contains(result, "on its way to Bob") {
			p.t.Errorf("helper %d says of its message: %q", i, result)
		}
		bob.untilShown(p, nil, fmt.Sprintf("Whoever runs me asked me to tell you this.\n\nsent by part %d", i))
		bob.once(p, fmt.Sprintf("Whoever runs me asked me to tell you this.\n\nsent by part %d", i))
	}
	if most := int64(2 + 2*helpers + helpers); asked > most {
		p.t.Errorf("the model was asked %d times, want at most %d: what was journaled is not asked again", asked, most)
	}
}

package crash_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit/pgtest"
)

// asker is a model that calls the tool of a server which asks the person for a name, and says
// what the call gave.
func asker(x *agenttest.Exchange) {
	last := x.Request.Messages[len(x.Request.Messages)-1]
	if last.Role == "tool" {
		x.Text(saysOfForm + last.Content)
		x.End("stop")
		return
	}
	x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "ask", Name: "good__ask", Arguments: "{}"})
	x.End("tool_calls")
}

const (
	asksForm   = "The server **good** asks you something" // begins the question
	saysOfForm = "It says: "                              // begins the answer
)

// asking is a server of tools at an address, which a daemon of p accepts. answers counts how
// often it gets what the person wrote.
func (p *program) asking(era string) (answers *atomic.Int64) {
	p.t.Helper()
	answers = new(atomic.Int64)
	good := mcptest.Handler(era)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(`"action":"accept"`)) {
			answers.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		good.ServeHTTP(w, r)
	}))
	p.t.Cleanup(server.Close)
	if c, is := good.(io.Closer); is {
		p.t.Cleanup(func() { _ = c.Close() })
	}
	p.configure(fmt.Sprintf("mcp: {servers: {good: {url: %q, tools: {ask: allow}}}}\n", server.URL))
	cmd := p.start("")
	dead := ended(cmd)
	out, err := p.command("mcp", "accept", "good", "--yes").Output()
	if err != nil {
		p.t.Fatalf("accept the tools: %v: %s", err, out)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	<-dead
	return answers
}

// answersForm waits for the question or the end of the turn, and answers the question.
func (r room) answersForm(p *program, dead <-chan error) {
	p.t.Helper()
	text := p.untilFeed(r.key, dead, func(text string) bool {
		return strings.HasPrefix(text, asksForm) || strings.HasPrefix(text, saysOfForm)
	})
	if strings.HasPrefix(text, asksForm) {
		p.sayUntilTaken(r.key, "answer-01", "Zoe", dead)
	}
}

// What a turn whose server asks may come to, after a kill.
const (
	formTold   = iota // the question is shown once, and the server gets the answer once
	formLost          // the call had begun and asked nobody yet: the answer says that it was cut
	formCut           // the same after the person has answered; the server may have got it
	formUntold        // the same, and the server has not
)

// formSteps are the steps of such a turn, and what a kill there leads to. The call begins twice,
// without an answer and with it.
var formSteps = []struct {
	step string
	ends int
}{
	{"journal.tool_start.before@1", formTold},
	{"journal.tool_start.after@1", formLost},
	{"journal.tool_ask.before@1", formLost},
	{"journal.tool_ask.after@1", formTold},
	{"notes.form.before@1", formTold},
	{"notes.form.after@1", formTold},
	{"park.before@1", formTold},
	{"park.after@1", formTold},
	{"sending.before@1", formTold},
	{"sending.after@1", formTold},
	{"sent.before@1", formTold},
	{"sent.after@1", formTold},
	{"notes.form.before@2", formTold}, // the answer
	{"notes.form.after@2", formTold},
	{"accept.before@2", formTold},
	{"accept.after@2", formTold},
	{"journal.resumed.before@1", formTold},
	{"journal.resumed.after@1", formTold},
	{"journal.tool_start.before@2", formTold},
	{"journal.tool_start.after@2", formUntold},
	{"journal.tool_done.before@1", formCut},
	{"journal.tool_done.after@1", formTold},
	{"commit.before@1", formTold},
	{"commit.after@1", formTold},
	{"sending.after@3", formTold},
	{"sent.before@3", formTold},
}

// The daemon is killed around each step of a server's question: as it is stored, put, parked,
// shown and answered, and as the call goes on. The person reads the question once and one
// answer, and the server gets what they wrote once; or the answer says that the call was cut.
// A call of the former era is always cut, because it ends with its process.
func TestFormsKilled(t *testing.T) {
	t.Parallel()
	sqlite := func(*testing.T) string { return "{type: sqlite}" }
	few := []string{"park.after@1", "notes.form.after@2", "journal.tool_done.before@1"}
	var all []string
	ends := map[string]int{}
	for _, s := range formSteps {
		all = append(all, s.step)
		ends[s.step] = s.ends
	}
	for _, place := range []struct {
		name, era string
		store     func(t *testing.T) string
		steps     []string
	}{
		{"sqlite", "good", sqlite, all},
		{"sqlite older", "good@old", sqlite, few},
		{"file", "good", func(*testing.T) string { return "{type: file}" }, few},
		{"postgres", "good", func(t *testing.T) string { return fmt.Sprintf("{type: postgres, url: %q}", pgtest.Database(t, "", "")) }, few},
	} {
		for _, step := range stepsOf(t, place.steps...) {
			t.Run(place.name+" "+step, func(t *testing.T) {
				t.Parallel()
				p := newProgramOn(t, place.store(t), asker)
				answers := p.asking(place.era)
				r := onThePage(t)
				cmd := p.start(step)
				dead := ended(cmd)
				r.say(p, dead)
				r.answersForm(p, dead)
				dead = p.restarted(cmd, dead, step)
				r.say(p, dead) // a browser does not know what was taken
				r.answersForm(p, dead)
				r.untilShown(p, dead, saysOfForm)
				want := ends[step]
				if place.era == "good@old" && want == formTold {
					want = formUntold
				}
				p.over(0)
				p.endedForm(r, want, answers.Load())
			})
		}
	}
}

// endedForm wants that the room shows what a turn came to, and that the server got the answer
// so often.
func (p *program) endedForm(r room, want int, answers int64) {
	p.t.Helper()
	r.once(p, saysOfForm)
	shown, err := r.shown(p)
	if err != nil {
		p.t.Fatal(err)
	}
	questions, repeated := count(shown, asksForm)
	end := shown[slices.IndexFunc(shown, func(text string) bool { return strings.HasPrefix(text, saysOfForm) })]
	told := strings.Contains(end, "answer: accept Zoe")
	cut := strings.Contains(end, "may or may not have happened")
	ok := false
	switch want {
	case formTold:
		ok = told && questions == 1 && answers == 1
	case formLost:
		ok = cut && questions == 0 && answers == 0
	case formCut:
		ok = cut && questions == 1 && answers == 1
	case formUntold:
		ok = cut && questions == 1 && answers == 0
	}
	if !ok || repeated > 0 {
		p.t.Errorf("%d questions, %d answers reached the server, and the room shows %q", questions, answers, shown)
	}
}

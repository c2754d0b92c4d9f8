package crash_test

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

// spent is what the daemon has counted of the budgets of the person and of all, in tokens.
func (p *program) spent() map[string]float64 {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api/v1/statistics/budgets", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	resp, err := p.http.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct {
		Data []struct {
			Of   string
			Used float64
		}
	}
	err = json.NewDecoder(resp.Body).Decode(&page)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("the budgets are answered with %s: %v", resp.Status, err)
	}
	used := map[string]float64{}
	for _, b := range page.Data {
		used[b.Of] = b.Used
	}
	return used
}

// The daemon is killed at each step of a turn with two calls of the model, and answers after
// the next start. A kill gives back nothing that was journaled, and nothing counts twice: the
// turn has used what it uses without a kill.
func TestBudgetsKilled(t *testing.T) {
	steps := stepsOf(t,
		"journal.model.before@1", "journal.model.after@1", "journal.tool_start.after@1", "journal.tool_done.before@1", "journal.tool_done.after@1",
		"commit.before@1", "commit.after@1", "sending.after@1",
	)
	t.Parallel()
	const room = "web:books"
	booked := func(text string) bool { return text == "It is booked." }
	use := func(step string) map[string]float64 {
		p := newProgram(t)
		p.configure("limits: {budgets: {unit: tokens, person: {day: 1000000}, all: {day: 1000000}}}\n")
		cmd := p.start(step)
		dead := ended(cmd)
		p.sayUntilTaken(room, "question-1", "book it", dead)
		if step != "" {
			dead = p.restarted(cmd, dead, step)
			p.sayUntilTaken(room, "question-1", "book it", dead)
		}
		p.untilFeed(room, dead, booked)
		used := p.spent()
		if step == "" {
			_ = cmd.Process.Kill()
			<-dead
		}
		return used
	}
	want := use("")
	if want["person"] == 0 || want["person"] != want["all"] {
		t.Fatalf("without a kill the budgets are used as %v", want)
	}
	for _, step := range steps {
		got := use(step)
		// The result of a tool that was cut off has some words more. A call takes over a thousand.
		if math.Abs(got["person"]-want["person"]) > 50 || got["all"] != got["person"] {
			t.Errorf("killed at %s: the budgets are used as %v, want %v", step, got, want)
		}
	}
}

// dies waits until the daemon is dead, as it must be at step.
func (p *program) dies(cmd *exec.Cmd, dead <-chan error, step string) {
	p.t.Helper()
	select {
	case <-dead:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		p.t.Fatalf("the daemon passed no %s", step)
	}
}

// A call of the model takes long, and kill -9 cuts it. It is charged its estimated input in the
// turn that follows: once, also if the daemon is killed again around the commit of that, and
// twice if another call is cut.
func TestACallThatAKillCutIsCharged(t *testing.T) {
	t.Parallel()
	const (
		room  = "web:books"
		noted = "notes.calls.after@1"
	)
	done := func(text string) bool { return text == "It is done." }
	use := func(hang int32, kills ...string) float64 {
		var calls atomic.Int32
		p := newProgramOn(t, "{type: sqlite}", func(x *agenttest.Exchange) {
			if calls.Add(1) <= hang {
				x.Stall()
			}
			x.Text("It is ", "done.")
			x.End("stop")
		})
		p.configure("limits: {budgets: {unit: tokens, person: {day: 1000000}, all: {day: 1000000}}}\n")
		for i, step := range kills {
			cmd := p.launch(step) // it may die before it answers: the turn is in the store
			dead := ended(cmd)
			if i == 0 {
				p.sayUntilTaken(room, "question-1", "do it", dead)
			}
			p.dies(cmd, dead, step)
		}
		cmd := p.start("")
		dead := ended(cmd)
		p.sayUntilTaken(room, "question-1", "do it", dead)
		p.untilFeed(room, dead, done)
		used := p.spent()
		_ = cmd.Process.Kill()
		<-dead
		if used["all"] != used["person"] {
			t.Errorf("killed at %q: the budgets are used as %v", kills, used)
		}
		return used["all"]
	}
	whole := use(0)
	input := use(1, noted) - whole
	t.Logf("a call uses %v tokens, and one that was cut is charged %v", whole, input)
	if input < whole/2 || input > whole*2 {
		t.Errorf("a call that was cut is charged %v tokens, want about the input of one that uses %v", input, whole)
	}
	for _, step := range stepsOf(t, "journal.cut.before@1", "journal.cut.after@1", "commit.before@1", "sending.before@1", "commit.after@1") {
		if got := use(1, noted, step); math.Abs(got-whole-input) > 50 {
			t.Errorf("killed at %s: %v tokens are counted, want %v", step, got, whole+input)
		}
	}
	if got := use(2, noted, noted); math.Abs(got-whole-2*input) > 50 {
		t.Errorf("cut twice: %v tokens are counted, want %v", got, whole+2*input)
	}
}

// With keep, a message beyond the budget waits over kills and restarts, behind it what comes
// later. When the limit is raised both are answered, in order, and the sentence was said once.
func TestKeptMessagesAreKilled(t *testing.T) {
	t.Parallel()
	const room = "web:books"
	sentence := func(text string) bool {
		return strings.HasPrefix(text, "I have used today's 10 tokens for everybody. I go on at ") && strings.Contains(text, " and answer you then, or ")
	}
	done := func(text string) bool { return text == "It is done." }
	for _, step := range stepsOf(t, "park.before@1", "park.after@1", "sent.after@2") {
		t.Run(step, func(t *testing.T) {
			p := newProgramOn(t, "{type: sqlite}", func(x *agenttest.Exchange) {
				x.Text("It is ", "done.")
				x.End("stop")
			})
			p.configure("limits: {budgets: {unit: tokens, keep: true, all: {day: 10}}}\n")
			cmd := p.start(step)
			dead := ended(cmd)
			p.sayUntilTaken(room, "question-1", "do it", dead)
			p.untilFeed(room, dead, done)
			p.sayUntilTaken(room, "question-2", "do more", dead)
			p.untilFeed(room, dead, sentence)
			p.dies(cmd, dead, step)
			again := p.start("")
			dead = ended(again)
			defer func() {
				_ = again.Process.Kill()
				<-dead
			}()
			p.sayUntilTaken(room, "question-2", "do more", dead)
			p.untilFeed(room, dead, sentence)
			p.sayUntilTaken(room, "question-3", "do most", dead)
			list, err := p.command("queue").Output()
			if err != nil || !strings.Contains(string(list), "parked") {
				t.Errorf("the queue shows %s, %v; want a parked turn", list, err)
			}
			path := filepath.Join(p.dir, "dragoman.yaml")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			err = os.WriteFile(path, []byte(strings.Replace(string(text), "day: 10}", "day: 1000000}", 1)), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Process.Signal(syscall.SIGHUP); err != nil { // which reloads
				t.Fatal(err)
			}
			answered := func() bool {
				n := 0
				for _, text := range p.feed(room) {
					if done(text) {
						n++
					}
				}
				return n == 3
			}
			if !testkit.Poll(20*time.Second, answered) {
				t.Fatalf("the room shows %q, want three answers", p.feed(room))
			}
			want := []string{"do it", "It is done.", "do more", "", "do most", "It is done.", "It is done."}
			got := p.feed(room)
			for i := range min(len(got), len(want)) {
				if want[i] == "" && sentence(got[i]) {
					want[i] = got[i]
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the room shows %q, want %q", got, want)
			}
		})
	}
}

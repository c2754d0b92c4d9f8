package crash_test

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"
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

package crash_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// questionCode is in a question of the daemon.
var questionCode = regexp.MustCompile(`/allow ([A-Z0-9]{4})`)

// say writes into a room of the page. It fails while no daemon runs.
func (p *program) say(room, id, text string) error {
	url := p.url + "/api/chat/messages?room=" + strings.TrimPrefix(room, "web:")
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, url, strings.NewReader(`{"id":"`+id+`","text":"`+text+`"}`))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Dragoman", "1")
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the page answers %s", resp.Status)
	}
	return nil
}

// sayUntilTaken writes into a room, as often as a browser would: until the daemon has taken
// it, or is dead.
func (p *program) sayUntilTaken(room, id, text string, dead <-chan error) {
	p.t.Helper()
	var err error
	for range 200 {
		err = p.say(room, id, text)
		if err == nil {
			return
		}
		select {
		case <-dead:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	p.t.Fatalf("a message is not taken: %v", err)
}

// untilFeed waits until the room shows a text for which is holds, and returns it. It gives
// up when the daemon is dead.
func (p *program) untilFeed(room string, dead <-chan error, is func(string) bool) string {
	p.t.Helper()
	for range 1000 {
		select {
		case <-dead:
			return ""
		default:
		}
		feed, err := p.tryFeed(room)
		if i := slices.IndexFunc(feed, is); err == nil && i >= 0 {
			return feed[i]
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatalf("the room shows %q", p.feed(room))
	return ""
}

// ended is closed when cmd has ended.
func ended(cmd *exec.Cmd) <-chan error {
	dead := make(chan error)
	go func() {
		_ = cmd.Wait()
		close(dead)
	}()
	return dead
}

// restarted waits until the daemon is dead, as it must be at step, and starts it again until
// the test ends.
func (p *program) restarted(cmd *exec.Cmd, dead <-chan error, step string) <-chan error {
	p.t.Helper()
	select {
	case <-dead:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		p.t.Fatalf("the daemon passed no %s", step)
	}
	again := p.start("")
	deadAgain := ended(again)
	p.t.Cleanup(func() {
		_ = again.Process.Kill()
		<-deadAgain
	})
	return deadAgain
}

// The daemon is killed at each step of a question: when it is proposed, parked, shown,
// decided, when its turn goes on, and around the call. The tool runs at most once, the
// question is shown once, and the person gets an answer.
func TestApprovalsKilled(t *testing.T) {
	t.Parallel()
	// A kill between "used" and the end of the call leaves it unknown whether it ran.
	unknown := []string{"notes.approval.after@5", "journal.tool_start.before@1", "journal.tool_start.after@1"}
	steps := []string{
		"park.before@1", "park.after@1", "journal.resumed.before@1", "journal.resumed.after@1", "journal.tool_start.before@1", "journal.tool_start.after@1",
		"journal.tool_done.before@1", "journal.tool_done.after@1", "commit.before@1", "commit.after@1",
	}
	for _, n := range []string{"1", "2", "3", "4", "5"} { // proposed, shown, looked at, decided, used
		steps = append(steps, "notes.approval.before@"+n, "notes.approval.after@"+n)
	}
	for _, step := range stepsOf(t, steps...) {
		t.Run(step, func(t *testing.T) {
			const room = "web:books"
			p := newProgram(t)
			p.configure("agent: {tools: {write_file: ask}}\n")
			isQuestion := func(text string) bool { return strings.Contains(text, "May I run") }
			booked := func(text string) bool { return text == "It is booked." }
			answer := func(dead <-chan error, id string) {
				question := p.untilFeed(room, dead, func(text string) bool { return isQuestion(text) || booked(text) })
				if code := questionCode.FindStringSubmatch(question); code != nil {
					p.sayUntilTaken(room, id, "/allow "+code[1], dead)
				}
			}
			cmd := p.start(step)
			dead := ended(cmd)
			p.sayUntilTaken(room, "question-1", "book it", dead)
			answer(dead, "answer-01")
			dead = p.restarted(cmd, dead, step)
			p.sayUntilTaken(room, "question-1", "book it", dead) // the network does not know that it was taken
			answer(dead, "answer-02")
			p.untilFeed(room, dead, booked)
			questions := 0
			for _, text := range p.feed(room) {
				if isQuestion(text) {
					questions++
				}
			}
			lines := p.lines()
			if questions != 1 || lines > 1 || lines < 1 && !slices.Contains(unknown, step) {
				t.Errorf("%d questions, and the tool ran %d times: %q", questions, lines, p.feed(room))
			}
		})
	}
}

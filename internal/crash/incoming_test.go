package crash_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// call calls the webhook of this test under an id, and returns the status of the answer.
func (p *program) call(name, id string) (int, error) {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/api/v1/hooks/"+name, strings.NewReader(`{"what":"it"}`))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	req.Header.Set("webhook-id", id)
	resp, err := p.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// The daemon is killed at each step of a call of a webhook, and of what it leads to. The
// caller calls again: what the call leads to happens, and happens once.
func TestIncomingKilled(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"prompt": {
			"accept.before@1", "accept.after@1", "journal.model.after@1", "journal.tool_start.after@1", "journal.tool_done.before@1", "journal.tool_done.after@1",
			"commit.before@1", "commit.after@1", "sending.after@1", "sent.before@1",
		},
		"message": {"accept.before@1", "accept.after@1", "sending.after@1", "sent.before@1"},
	} {
		for _, step := range stepsOf(t, steps...) {
			t.Run(name+" "+step, func(t *testing.T) {
				p := newProgram(t)
				p.configure(fmt.Sprintf("incoming_webhooks:\n  - {name: prompt, verify: bearer, secret: %s, to: 'web:prompt', prompt: 'book {{what}}'}\n"+
					"  - {name: message, verify: bearer, secret: %s, to: 'web:message', message: 'book {{what}}'}\n", programToken, programToken))
				cmd := p.start(step)
				_, _ = p.call(name, "once")
				untilDead(t, cmd, step)
				cmd = p.start("")
				defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
				want := http.StatusOK
				if step == "accept.before@1" {
					want = http.StatusAccepted
				}
				if status, err := p.call(name, "once"); status != want || err != nil {
					t.Errorf("the repeat is answered %d, %v; want %d", status, err, want)
				}
				lines := map[string]int{"prompt": 2, "message": 1}[name]
				var list []string
				for range 500 {
					list = p.feed("web:" + name)
					if len(list) >= lines {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				if status, err := p.call(name, "once"); status != http.StatusOK || err != nil {
					t.Errorf("one more repeat is answered %d, %v", status, err)
				}
				time.Sleep(200 * time.Millisecond) // for what should not happen
				list = p.feed("web:" + name)
				if len(list) != lines {
					t.Errorf("the room shows %q, want %d", list, lines)
				}
				// A tool that was cut off may or may not have run; it is never run again.
				open := strings.HasPrefix(step, "journal.tool_start.after")
				if n := p.lines(); name == "prompt" && (n > 1 || n == 0 && !open) || name == "message" && n > 0 {
					t.Errorf("the tool wrote %d lines", n)
				}
			})
		}
	}
}

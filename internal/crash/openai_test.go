package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

// program is a client of OpenAI's API, and the daemon that it talks to.
type program struct {
	t    *testing.T
	dir  string
	url  string
	http *http.Client
	log  *os.File
	env  []string // of the daemon
}

const programToken = "the-token-of-a-program"

func newProgram(t *testing.T) *program {
	t.Helper()
	return newProgramOn(t, "{type: sqlite}", bookkeeper)
}

// newProgramOn is newProgram with a store of the configuration, and another model.
func newProgramOn(t *testing.T, store string, reply agenttest.Reply) *program {
	t.Helper()
	model := agenttest.Serve(t, agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return reply }})
	addr := testkit.FreeAddress(t)
	p := &program{t: t, dir: t.TempDir(), url: "http://" + addr, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var err error
	p.log, err = os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.log.Close() })
	text := fmt.Sprintf("state_dir: %s/state\nstore: %s\nhttp: {listen: %q, token: %s}\nmodel: {type: openai, base_url: %s, name: fake, context_window: 200000}\nworkspace: %s/work\n",
		p.dir, store, addr, programToken, model.URL(), p.dir)
	if err := os.WriteFile(filepath.Join(p.dir, "dragoman.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// configure adds to the configuration.
func (p *program) configure(text string) {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, "dragoman.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = f.Close()
}

// bookkeeper is the model: it writes one line into a file, and says what came of it.
func bookkeeper(x *agenttest.Exchange) {
	last := x.Request.Messages[len(x.Request.Messages)-1]
	if last.Role == "tool" {
		x.Text("It is ", "booked.")
		x.End("stop")
		return
	}
	x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_0", Name: "write_file", Arguments: `{"path":"book.txt","content":"a line\n","append":true}`})
	x.End("tool_calls")
}

// command is a command line of the program, with its configuration.
func (p *program) command(args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command(build(p.t), append(args, "--config", filepath.Join(p.dir, "dragoman.yaml"))...)
	cmd.Stderr = p.log
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// launch runs the daemon, which dies at a step if that is not "". It does not wait for it.
func (p *program) launch(at string) *exec.Cmd {
	p.t.Helper()
	cmd := p.command("run")
	cmd.Stdout = p.log
	cmd.Env = append(cmd.Env, "DRAGOMAN_CRASH="+at)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// start is launch, and waits until the daemon answers.
func (p *program) start(at string) *exec.Cmd {
	p.t.Helper()
	cmd := p.launch(at)
	for range 600 {
		if resp, err := p.http.Get(p.url + "/healthz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound { // as somebody else's server would say
				return cmd
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatal("the daemon does not start")
	return nil
}

// send sends the request of this test, under a name that makes it a repeat of those of the
// same name, and returns all of the answer that came.
func (p *program) send(room, once string, stream bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	body := fmt.Sprintf(`{"model":"dragoman","stream":%v,"messages":[{"role":"user","content":"book it"}]}`, stream)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	req.Header.Set("Idempotency-Key", once)
	if room != "" {
		req.Header.Set("X-Session-Key", room)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", resp.Status, data)
	}
	return data, err
}

// ask sends the request of this test, and returns the text of the answer.
func (p *program) ask(room string) (string, error) {
	data, err := p.send(room, "once", false)
	if err != nil {
		return "", err
	}
	var got struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(data, &got); err != nil || len(got.Choices) != 1 {
		return "", fmt.Errorf("%s: %w", data, err)
	}
	return got.Choices[0].Message.Content, nil
}

// lines are how often the tool wrote.
func (p *program) lines() int {
	data, _ := os.ReadFile(filepath.Join(p.dir, "work", "book.txt"))
	return strings.Count(string(data), "a line")
}

// feed is what the room of a conversation shows.
func (p *program) feed(room string) (list []string) {
	p.t.Helper()
	list, err := p.tryFeed(room)
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// tryFeed is feed while the daemon may be dead.
func (p *program) tryFeed(room string) (list []string, err error) {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api/chat/feed?room="+strings.TrimPrefix(room, "web:"), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("the feed answers %s: %s", resp.Status, said)
	}
	var got struct{ Items []struct{ Text string } }
	err = json.NewDecoder(resp.Body).Decode(&got)
	for _, it := range got.Items {
		list = append(list, it.Text)
	}
	return list, err
}

// The daemon is killed at each step of a request. The client sends it again, with its
// key: it is answered, nothing is done twice, and a conversation has it once.
func TestOpenAIKilled(t *testing.T) {
	t.Parallel()
	for room, steps := range map[string][]string{
		"": {
			"notes.repeat.before@1", "notes.repeat.after@1", "notes.repeat.after@2", "notes.repeat.before@3", "notes.repeat.after@3",
			"notes.repeat.before@4", "notes.repeat.after@4", "notes.repeat.before@5", "notes.repeat.after@5",
		},
		"web:books": {
			"notes.repeat.before@1", "notes.repeat.after@1", "accept.before@1", "accept.after@1", "journal.model.after@1", "journal.tool_start.after@1",
			"journal.tool_done.before@1", "journal.tool_done.after@1", "commit.before@1", "commit.after@1", "sending.after@1", "sent.before@1",
		},
	} {
		for _, step := range stepsOf(t, steps...) {
			t.Run(room+" "+step, func(t *testing.T) {
				p := newProgram(t)
				cmd := p.start(step)
				died := make(chan error, 1)
				go func() { died <- cmd.Wait() }()
				text, err := p.ask(room)
				for wait := time.After(20 * time.Second); died != nil; {
					select {
					case <-died:
						died = nil
					case <-wait:
						_ = cmd.Process.Kill()
						t.Fatalf("the daemon passed no %s; it answered %q, %v", step, text, err)
					}
				}
				cmd = p.start("")
				text, err = p.ask(room)
				if err != nil || !strings.HasSuffix(text, "booked.") {
					t.Errorf("the repeat is answered %q, %v", text, err)
				}
				again, err := p.ask(room)
				if err != nil || again != text {
					t.Errorf("one more repeat is answered %q, %v, want %q", again, err, text)
				}
				// A tool that was cut off may or may not have run; it is never run again.
				open := strings.HasPrefix(step, "notes.repeat.after@3") || strings.HasPrefix(step, "journal.tool_start.after")
				if n := p.lines(); n > 1 || n == 0 && !open {
					t.Errorf("the tool wrote %d lines, want one", n)
				}
				if room != "" {
					if list := p.feed(room); len(list) != 2 || list[0] != "book it" || list[1] != text {
						t.Errorf("the room shows %q, want the message and its answer", list)
					}
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
		}
	}
}

// streamOf is the text of a stream, and whether it came to its end.
func streamOf(data []byte) (text string, whole bool) {
	for line := range strings.Lines(string(data)) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !found {
			continue
		}
		if rest == "[DONE]" {
			return text, true
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(rest), &c) == nil && len(c.Choices) == 1 {
			text += c.Choices[0].Delta.Content
		}
	}
	return text, false
}

// The same with a stream: what the kill cut off never looks like a whole answer, and the
// repeat is one.
func TestOpenAIStreamKilled(t *testing.T) {
	t.Parallel()
	for room, steps := range map[string][]string{
		"":          {"notes.repeat.after@1", "notes.repeat.after@3", "notes.repeat.before@5", "notes.repeat.after@5"},
		"web:books": {"accept.after@1", "journal.tool_done.after@1", "commit.before@1", "commit.after@1", "sent.after@1"},
	} {
		for _, step := range stepsOf(t, steps...) {
			t.Run(room+" "+step, func(t *testing.T) {
				p := newProgram(t)
				cmd := p.start(step)
				data, err := p.send(room, "once", true)
				if text, whole := streamOf(data); whole && !strings.HasSuffix(text, "booked.") {
					t.Errorf("the stream that was cut off ends as if it were whole: %q, %v", text, err)
				}
				untilDead(t, cmd, step)
				cmd = p.start("")
				defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
				data, err = p.send(room, "once", true)
				if text, whole := streamOf(data); err != nil || !whole || !strings.HasSuffix(text, "booked.") || strings.Count(text, "booked") != 1 {
					t.Errorf("the repeat streams %q (to its end: %v), %v", text, whole, err)
				}
				open := step == "notes.repeat.after@3"
				if n := p.lines(); n > 1 || n == 0 && !open {
					t.Errorf("the tool wrote %d lines, want one", n)
				}
				if room != "" {
					if list := p.feed(room); len(list) != 2 {
						t.Errorf("the room shows %q, want the message and its answer", list)
					}
				}
			})
		}
	}
}

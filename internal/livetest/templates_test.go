package livetest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/agent/window"
	"dragoman/internal/testkit"
)

// lesson is a rule that some templates have, and what Dragoman learns from the
// first refusal.
type lesson struct {
	says    string // in the refusal
	refuses func(*agenttest.Request) bool
}

var lessons = []lesson{
	{"This model only supports single tool-calls at once!", func(r *agenttest.Request) bool {
		return slices.ContainsFunc(r.Messages, func(m agenttest.RequestMessage) bool { return m.ToolCalls > 1 })
	}},
	{"Conversation roles must alternate", func(r *agenttest.Request) bool {
		return slices.ContainsFunc(r.Messages, func(m agenttest.RequestMessage) bool { return m.Role == "tool" })
	}},
}

// recording are the requests of one preset's conversation, and those of a
// conversation with a server that teaches each of the lessons.
type recording struct {
	bodies [][]byte
	taught [][][]byte
}

// Every request of a conversation is one that every chat template takes: of
// each preset, up to the first summary and after it, with calls of tools, an
// empty answer and messages of people one after the other. The conversations
// are held with a scripted server; each template then reads what it was sent. A
// template with a rule that is learnt reads what is sent once that is known.
func TestTemplates(t *testing.T) {
	need(t)
	presets := window.PresetNames()
	recordings := make(map[string]recording)
	for _, preset := range presets {
		t.Run("record/"+preset, func(t *testing.T) {
			r := recording{bodies: record(t, preset, nil)}
			for i := range lessons {
				r.taught = append(r.taught, record(t, preset, &lessons[i]))
			}
			recordings[preset] = r
		})
		figures.bodies += len(recordings[preset].bodies)
	}
	if t.Failed() {
		return
	}
	templates, err := filepath.Glob(filepath.Join(servers, "llama", "templates", "*.jinja"))
	if err != nil || len(templates) < 60 {
		t.Fatalf("there are %d templates (%v), want about 70", len(templates), err)
	}
	figures.templates, figures.presets = len(templates), len(presets)
	for _, template := range templates {
		name := strings.TrimSuffix(filepath.Base(template), ".jinja")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveLlama(t, "-c", "512", "--chat-template-file", template)
			for _, preset := range presets {
				judge(t, server, preset, recordings[preset])
			}
		})
	}
}

// judge counts whether the server's template takes a preset's requests.
func judge(t *testing.T, server, preset string, r recording) {
	t.Helper()
	refused, first := apply(t, server, r.bodies)
	learnt := 0
	for i, l := range lessons {
		if refused > 0 && strings.Contains(first, l.says) {
			refused, first = apply(t, server, r.taught[i])
			learnt = 1
		}
	}
	figures.Lock()
	defer figures.Unlock()
	figures.refused += refused
	if refused == 0 {
		figures.passed++
		figures.learnt += learnt
		return
	}
	t.Errorf("preset %s: %d requests are refused, the first: %s", preset, refused, first)
}

// apply has the server's template read each body, as it would to answer it. It
// counts those that are refused, and returns the reason of the first.
func apply(t *testing.T, server string, bodies [][]byte) (refused int, first string) {
	t.Helper()
	for n, body := range bodies {
		if code, text := send(t, http.MethodPost, "http://"+server+"/apply-template", body); code != http.StatusOK {
			if refused++; first == "" {
				first = fmt.Sprintf("request %d of %d, HTTP %d: %s", n, len(bodies), code, message(text))
			}
		}
	}
	return refused, first
}

// record holds a conversation with a server that teaches a lesson, if there is
// one, and returns the bodies of the requests that it took.
func record(t *testing.T, preset string, l *lesson) [][]byte {
	t.Helper()
	gate := make(chan struct{})
	server := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		if l != nil && l.refuses(r) {
			return agenttest.StatusReply(http.StatusBadRequest, nil, `{"error":{"message":"Jinja Exception: `+l.says+`"}}`)
		}
		return func(x *agenttest.Exchange) { scripted(x, gate) }
	}})
	h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: %s, name: scripted, context_window: 8192, retries: 0}\nsummary: {preset: %s}", server.URL(), preset))
	converse(h, func() {
		before := len(h.said())
		h.tell("Please !wait for what I forgot.")
		testkit.Eventually(t, "the model to be asked", func() bool {
			r := server.Requests()
			return strings.Contains(r[len(r)-1].LastUser(), "!wait")
		})
		h.tell("I forgot the tickets.")
		h.tell("And the cabin.")
		testkit.Eventually(t, "both messages to wait", func() bool {
			s, err := h.admin.Status(t.Context())
			return err == nil && s.Waiting >= 2
		})
		close(gate)
		h.next(before + 1)
	})
	taken := server.Requests()
	if l != nil {
		all := len(taken)
		if taken = slices.DeleteFunc(taken, l.refuses); all-len(taken) != 1 {
			t.Errorf("%q is said to %d requests, want 1: it is not learnt", l.says, all-len(taken))
		}
	}
	return telling(taken, preset == window.DefaultPreset)
}

// telling are the bodies of the requests that no other one contains: the first
// one of each kind, the last one before a summary, which repeats all earlier
// ones, the summary's own, and everything after it. Without first they begin
// with the one before the summary: until then all presets send the same.
func telling(all []*agenttest.Request, first bool) (bodies [][]byte) {
	const kinds = 10
	summary := slices.IndexFunc(all, summarises)
	for n, r := range all {
		if n >= summary-1 || first && n < kinds {
			bodies = append(bodies, r.Body)
		}
	}
	return bodies
}

// long is what people write: enough of it to fill a small window.
const long = "Ada and Tom plan the journey by ferry from Piraeus to Naxos in June, the tickets cost forty euros, the cabin is booked for two nights and the harbour office opens at seven. "

// converse holds a conversation until it was summarised, and goes on for some
// messages after that. forgotten, if there is one, is called once: people write
// while the model answers.
func converse(h *house, forgotten func()) {
	h.t.Helper()
	const mostTurns = 150
	left := 6
	for n := 1; left > 0; n++ {
		switch n % 6 {
		case 2:
			h.ask("Please !call the clock: what time is it?")
		case 3:
			h.ask("Please !parallel: what time is it, and where?")
		case 4:
			h.ask("Please say !nothing at all.")
		case 5:
			if forgotten != nil {
				forgotten()
				forgotten = nil
			}
			fallthrough
		default:
			h.ask(fmt.Sprintf("Message %d. %s", n, strings.Repeat(long, 4)))
		}
		if summarised(h) {
			left--
		}
		if n == mostTurns {
			h.t.Errorf("there is no summary after %d messages", n)
			return
		}
	}
}

// summarised reports whether a summary was made. It waits a little for one that
// is being made.
func summarised(h *house) bool {
	done := func() bool { return strings.Contains(h.out.String(), "conversation summarised") }
	if !strings.Contains(h.out.String(), "summaris") {
		return done()
	}
	return testkit.Poll(time.Second, done)
}

// summarises reports whether a request is the summariser's.
func summarises(r *agenttest.Request) bool {
	return len(r.Tools) == 0 && strings.Contains(r.LastUser(), "<transcript>")
}

var calls atomic.Int64

// scripted is a model that does what the newest message says.
func scripted(x *agenttest.Exchange, gate <-chan struct{}) {
	r := x.Request
	last := r.Messages[len(r.Messages)-1]
	// Messages of people that no answer parts are sent as one. Each is a line.
	lines := strings.Split(strings.TrimSpace(r.LastUser()), "\n")
	asked := lines[len(lines)-1]
	call := func(name, args string) agenttest.ToolDelta {
		return agenttest.ToolDelta{ID: fmt.Sprintf("call_%d", calls.Add(1)), Name: name, Arguments: args}
	}
	switch {
	case summarises(r):
		x.Text(summaryFor(r.Body))
	case last.Role == "tool":
		x.Text("The tools have answered.")
	case strings.Contains(asked, "!") && !strings.Contains(asked, "!wait") && len(r.Tools) == 0:
		x.Text("There are no tools here.")
	case strings.Contains(asked, "!call"):
		agenttest.ToolReply(call("time", "{}"))(x)
		return
	case strings.Contains(asked, "!parallel"):
		agenttest.ToolReply(call("time", "{}"), call("list_dir", `{"path":"."}`), call("recall", `{"query":"ferry"}`))(x)
		return
	case strings.Contains(asked, "!nothing"):
	case strings.Contains(asked, "!wait"):
		for open := false; !open; {
			select {
			case <-gate:
				open = true
			default:
				x.Wait(10 * time.Millisecond)
			}
		}
		x.Text("It is noted.")
	default:
		x.Text("I have noted it: " + long)
	}
	x.End("stop")
}

// summaryFor is a summary of the conversation in the form that is asked for.
func summaryFor(body []byte) string {
	if bytes.Contains(body, []byte("sentiment")) {
		return `{"title": "A journey to Naxos", "keywords": ["ferry"], "summary": "` + long + `", "key_points": ["the cabin is booked"], "key_facts": ["forty euros"], "sentiment": "neutral", "confidence": 8}`
	}
	return "## Goal\n" + long + "\n## Critical context\nThe tickets cost forty euros."
}

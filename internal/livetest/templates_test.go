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
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// lesson is a rule of some templates that Dragoman learns from the first
// refusal.
type lesson struct {
	message string // of the refusal
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

// recording holds the requests of one preset's conversation, and for each
// lesson those of a conversation with a server that teaches it.
type recording struct {
	bodies      [][]byte
	afterLesson [][][]byte
}

// Every chat template accepts every request, of each preset, up to the first
// summary and after it, with tool calls, an empty answer and several messages
// in a row. A scripted server holds the conversations, and each template then
// reads the requests. A template with a rule reads the requests that follow the
// lesson.
func TestTemplates(t *testing.T) {
	needServers(t)
	presets := window.PresetNames()
	recordings := make(map[string]recording)
	for _, preset := range presets {
		t.Run("record/"+preset, func(t *testing.T) {
			r := recording{bodies: record(t, preset, nil)}
			for i := range lessons {
				r.afterLesson = append(r.afterLesson, record(t, preset, &lessons[i]))
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
		t.Fatalf("%d templates (%v), want about 70", len(templates), err)
	}
	figures.templates, figures.presets = len(templates), len(presets)
	for _, template := range templates {
		name := strings.TrimSuffix(filepath.Base(template), ".jinja")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveLlama(t, "-c", "512", "--chat-template-file", template)
			for _, preset := range presets {
				checkPreset(t, server, preset, recordings[preset])
			}
		})
	}
}

// checkPreset counts whether the server's template accepts a preset's requests.
func checkPreset(t *testing.T, server, preset string, r recording) {
	t.Helper()
	refused, first := applyTemplate(t, server, r.bodies)
	learned := 0
	for i, l := range lessons {
		if refused > 0 && strings.Contains(first, l.message) {
			refused, first = applyTemplate(t, server, r.afterLesson[i])
			learned = 1
		}
	}
	figures.Lock()
	defer figures.Unlock()
	figures.refused += refused
	if refused == 0 {
		figures.passed++
		figures.learned += learned
		return
	}
	t.Errorf("preset %s: %d requests refused, the first: %s", preset, refused, first)
}

// applyTemplate sends each body to the server's template, as if for an answer.
// It counts the refused ones, and returns the reason of the first.
func applyTemplate(t *testing.T, server string, bodies [][]byte) (refused int, first string) {
	t.Helper()
	for n, body := range bodies {
		if code, text := send(t, http.MethodPost, "http://"+server+"/apply-template", body); code != http.StatusOK {
			refused++
			if first == "" {
				first = fmt.Sprintf("request %d of %d, HTTP %d: %s", n, len(bodies), code, errorMessage(text))
			}
		}
	}
	return refused, first
}

// record holds a conversation with a server that teaches a lesson, if l is not
// nil, and returns the bodies of the accepted requests.
func record(t *testing.T, preset string, l *lesson) [][]byte {
	t.Helper()
	gate := make(chan struct{})
	server := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		if l != nil && l.refuses(r) {
			return agenttest.StatusReply(http.StatusBadRequest, nil, `{"error":{"message":"Jinja Exception: `+l.message+`"}}`)
		}
		return func(x *agenttest.Exchange) { scripted(x, gate) }
	}})
	d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: %s, name: scripted, context_window: 8192, retries: 0}\nsummary: {preset: %s}", server.URL(), preset))
	converse(d, func() {
		before := len(d.answers())
		d.write("Please !wait for what I forgot.")
		testkit.Eventually(t, "the model to be asked", func() bool {
			r := server.Requests()
			return strings.Contains(r[len(r)-1].LastUser(), "!wait")
		})
		d.write("I forgot the tickets.")
		d.write("And the cabin.")
		testkit.Eventually(t, "both messages to wait", func() bool {
			s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
			return err == nil && s.Waiting >= 2
		})
		close(gate)
		d.next(before + 1)
	})
	accepted := server.Requests()
	if l != nil {
		all := len(accepted)
		accepted = slices.DeleteFunc(accepted, l.refuses)
		if all-len(accepted) != 1 {
			t.Errorf("%d requests were refused with %q, want 1: Dragoman did not learn", all-len(accepted), l.message)
		}
	}
	return distinctBodies(accepted, preset == window.DefaultPreset)
}

// distinctBodies returns the bodies that no later request contains: the first
// ones, of each kind; the last one before a summary, which repeats all earlier
// ones; the summary's own; and all later ones. Without first it leaves out the
// first ones, which are the same for all presets.
func distinctBodies(all []*agenttest.Request, withFirst bool) (bodies [][]byte) {
	const kinds = 10
	summary := slices.IndexFunc(all, summarises)
	for n, r := range all {
		if n >= summary-1 || withFirst && n < kinds {
			bodies = append(bodies, r.Body)
		}
	}
	return bodies
}

// long is a message that soon fills a small window.
const long = "Ada and Tom plan the journey by ferry from Piraeus to Naxos in June, the tickets cost forty euros, the cabin is booked for two nights and the harbour office opens at seven. "

// converse holds a conversation until it is summarised, and for some more
// messages. forgotten, if not nil, is called once; it writes while the model
// answers.
func converse(d *daemon, forgotten func()) {
	d.t.Helper()
	const maxTurns = 150
	left := 6
	for n := 1; left > 0; n++ {
		switch n % 6 {
		case 2:
			d.ask("Please !call the clock: what time is it?")
		case 3:
			d.ask("Please !parallel: what time is it, and where?")
		case 4:
			d.ask("Please say !nothing at all.")
		case 5:
			if forgotten != nil {
				forgotten()
				forgotten = nil
			}
			fallthrough
		default:
			d.ask(fmt.Sprintf("Message %d. %s", n, strings.Repeat(long, 4)))
		}
		if summarised(d) {
			left--
		}
		if n == maxTurns {
			d.t.Errorf("no summary after %d messages", n)
			return
		}
	}
}

// summarised reports whether a summary was made. If one is being made, it waits
// a little.
func summarised(d *daemon) bool {
	done := func() bool { return strings.Contains(d.out.String(), "conversation summarised") }
	if !strings.Contains(d.out.String(), "summaris") {
		return done()
	}
	return testkit.Poll(time.Second, done)
}

// summarises reports whether a request comes from the summariser.
func summarises(r *agenttest.Request) bool {
	return len(r.Tools) == 0 && strings.Contains(r.LastUser(), "<transcript>")
}

var calls atomic.Int64

// scripted is a model that obeys commands in the newest message.
func scripted(x *agenttest.Exchange, gate <-chan struct{}) {
	r := x.Request
	last := r.Messages[len(r.Messages)-1]
	// Messages in a row without an answer between them are sent as one message of
	// several lines.
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

// summaryFor returns a summary in the requested form.
func summaryFor(body []byte) string {
	if bytes.Contains(body, []byte("sentiment")) {
		return `{"title": "A journey to Naxos", "keywords": ["ferry"], "summary": "` + long + `", "key_points": ["the cabin is booked"], "key_facts": ["forty euros"], "sentiment": "neutral", "confidence": 8}`
	}
	return "## Goal\n" + long + "\n## Critical context\nThe tickets cost forty euros."
}

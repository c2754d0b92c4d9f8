package bench_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
)

// measurePrefix: how much of what the model reads it has read before. One
// chat, 50 turns; three of four call a tool, and one of these keeps a fact,
// which later prompts show.
func measurePrefix(t *testing.T, bin string, r *report) {
	const turns = 50
	h := newHouse(t, bin, plan{recorded: 4 * turns, reply: shortly})
	d := h.start()
	defer d.stop()
	for i := range turns {
		h.people.reset()
		h.people.say(firstChat, func(mark int) string {
			switch i % 4 {
			case 0:
				return fmt.Sprintf(`Please write down #%d. !tool write_file {"path":"notes-%d.txt","content":"number %d"}`, mark, mark, mark)
			case 1:
				return fmt.Sprintf(`What time is it for #%d? !tool time {}`, mark)
			case 2:
				return fmt.Sprintf(`Keep in mind #%d. !tool remember {"text":"The code of door %d is %d"}`, mark, i, 7919*i)
			default:
				return fmt.Sprintf("What do you think about #%d, compared with the others that I told you about?", mark)
			}
		})
		h.settle()
	}
	var before prompt
	summarised := false
	for _, req := range h.model.Requests() {
		if len(req.Tools) == 0 { // a summary, after which the prompt begins anew
			r.prefix.summaries++
			summarised = true
			continue
		}
		now, err := parsePrompt(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.prefix.add(before, now)
		if !summarised {
			r.between.add(before, now)
		}
		before, summarised = now, false
	}
	if r.prefix.requests < turns {
		t.Errorf("%d requests for %d turns", r.prefix.requests, turns)
	}
}

// shortly answers with the mark of the newest message alone: an echo would
// repeat the numbers of the facts beside it.
func shortly(r *agenttest.Request) agenttest.Reply {
	asks := strings.Contains(r.LastUser(), "!tool ") && r.Messages[len(r.Messages)-1].Role != "tool"
	if asks || len(r.Tools) == 0 {
		return answer(r)
	}
	marks := agenttest.Marks(r.LastUser())
	return agenttest.TextReply("I have heard " + marks[0] + ", and I have thought about it for a while.")
}

// prompt is a request as the model reads it: tools and messages in the order
// in which servers put them, without what only the server reads.
type prompt string

func parsePrompt(body []byte) (prompt, error) {
	var req struct {
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return "", fmt.Errorf("bench: a request: %w", err)
	}
	var b strings.Builder
	b.Write(req.Tools)
	for _, m := range req.Messages {
		b.Write(m)
	}
	return prompt(b.String()), nil
}

// common is how long the beginning is that a and b share.
func common(a, b prompt) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// shared adds up prompts that follow each other.
type shared struct {
	requests, summaries   int
	before, now, repeated int // bytes
	broken                int // requests that do not begin with the one before
}

func (s *shared) add(before, now prompt) {
	s.requests++
	if before == "" {
		return
	}
	n := common(before, now)
	s.before += len(before)
	s.now += len(now)
	s.repeated += n
	if n < len(before) {
		s.broken++
	}
}

func TestPrompt(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"stream":true,"tools":[{"t":1}]}`
	p, err := parsePrompt([]byte(body))
	if want := prompt(`[{"t":1}]{"role":"system","content":"s"}{"role":"user","content":"a"}`); err != nil || p != want {
		t.Errorf("parsePrompt = %q, %v, want %q", p, err, want)
	}
	var s shared
	s.add("", "abcd")
	s.add("abcd", "abcdef")
	s.add("abcdef", "abXdefgh")
	if s != (shared{requests: 3, before: 10, now: 14, repeated: 6, broken: 1}) {
		t.Errorf("the sums are %+v", s)
	}
}

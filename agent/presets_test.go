package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// chat is a conversation with an agent, kept as a store would keep it.
type chat struct {
	t   *testing.T
	a   *agent.Agent
	h   sessions.History
	seq int64
	// all is the transcript, which summaries do not shorten.
	all []sessions.Message
	// summaries are all summaries so far.
	summaries   []sessions.Summary
	unaccounted int
	turns       int
}

// say runs one turn and, after it, the summary that is then due.
func (c *chat) say(text string) agent.Result {
	c.t.Helper()
	c.turns++
	turn := turnOf(text)
	turn.ID = fmt.Sprint("turn-", c.turns)
	turn.History = c.h
	turn.History.Messages = slices.Clone(c.h.Messages)
	turn.Compact = func(ctx context.Context, keep *window.Keep) (sessions.History, error) {
		err := c.compact(ctx, keep)
		return c.h, err
	}
	res := run(c.t, c.a, turn)
	c.unaccounted += res.Unaccounted
	for _, m := range res.Messages {
		c.seq++
		m.Seq = c.seq
		c.all = append(c.all, m)
		c.h.Messages = append(c.h.Messages, m)
	}
	if c.a.Level(c.h) == recap.Due {
		if err := c.compact(c.t.Context(), nil); err != nil {
			c.t.Errorf("turn %d: Summarize() = %v", c.turns, err)
		}
	}
	return res
}

func (c *chat) compact(ctx context.Context, keep *window.Keep) error {
	s, err := c.a.Summarize(ctx, c.h, keep)
	if err != nil {
		return err
	}
	c.summaries = append(c.summaries, s)
	c.h.Summary = &s
	c.h.Messages = slices.DeleteFunc(slices.Clone(c.h.Messages), func(m sessions.Message) bool { return m.Seq <= s.CoversSeq })
	return nil
}

// facts are what people tell the scripted model: an item and its price.
var facts = regexp.MustCompile(`item-\d+ costs \$\d+\.\d\d`)

func fact(n int) string { return fmt.Sprintf("item-%d costs $%d.%02d", 1000+n, 100+n*7, n%100) }

// echoing is a model that calls a tool in every turn, and a summariser that copies
// every fact it reads, the newest ones if its limits have no room for all.
func echoing(c window.Compaction, summaries *[]agent.Request, turns *[]agent.Request) reply {
	return func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		last := r.Messages[len(r.Messages)-1]
		if len(r.Tools) == 0 && strings.Contains(last.Content, "<transcript>") {
			*summaries = append(*summaries, r)
			return response(echoed(last.Content, c, r.MaxTokens), "stop"), nil
		}
		*turns = append(*turns, r)
		if last.Role == sessions.RoleUser {
			n := len(*turns)
			return response("", "tool_calls", sessions.ToolCall{ID: "call_0", Name: "look", Arguments: fmt.Sprintf(`{"at":%d}`, n)}), nil
		}
		return response(fmt.Sprintf("I have looked into it (%d): the shelf holds what the list says, and nothing about it has changed since last week.", len(*turns)), "stop"), nil
	}
}

// echoed returns echoing's summary of text.
func echoed(text string, c window.Compaction, maxTokens int) string {
	var known []string
	for _, f := range facts.FindAllString(text, -1) {
		if !slices.Contains(known, f) {
			known = append(known, f)
		}
	}
	write := func(known []string) string {
		if c.Format != window.JSON {
			return "## Critical context\n" + strings.Join(known, "; ") + "."
		}
		b, err := json.Marshal(recap.Fields{
			Title: "Shelf", Keywords: []string{"shelf"}, Summary: "They looked at the shelf.",
			KeyPoints: []string{"They looked."}, KeyFacts: append([]string{}, known...), Sentiment: "neutral", Confidence: 8,
		})
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	for {
		s := write(known)
		shown := s
		var f recap.Fields
		if json.Unmarshal([]byte(s), &f) == nil {
			shown = f.Text()
		}
		if window.EstimateText(s) <= maxTokens && (c.MaxChars == 0 || len(shown) <= c.MaxChars) || len(known) == 0 {
			return s
		}
		known = known[1:]
	}
}

// survival returns the share of the first planted facts that s still has.
func survival(s sessions.Summary, planted []string) string {
	n := 0
	for _, f := range planted {
		if strings.Contains(s.Text, f) {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(planted))
}

// talkFor runs a conversation of n turns under c.
type talked struct {
	chat
	requests, asked []agent.Request
}

// shared returns what percentage of all requests' bytes begins the next request, and
// how many requests do not begin with the whole one before.
func (r *talked) shared() (percent float64, breaks int) {
	same, total := 0, 0
	var before []string
	for _, q := range r.requests {
		now := pieces(q)
		whole := true
		for i, p := range before {
			total += len(p)
			whole = whole && i < len(now)
			if whole {
				n := common(p, now[i])
				same += n
				whole = n == len(p) && n == len(now[i])
			}
		}
		if !whole {
			breaks++
		}
		before = now
	}
	return 100 * float64(same) / float64(total), breaks
}

// pieces returns the texts of a request in the order in which a model reads them.
func pieces(r agent.Request) []string {
	var all []string
	for _, s := range r.Tools {
		all = append(all, s.Name, s.Description, string(s.Parameters))
	}
	all = append(all, r.System)
	for _, m := range r.Messages {
		all = append(all, string(m.Role), m.Content, m.ToolCallID)
		for _, c := range m.ToolCalls {
			all = append(all, c.ID, c.Name, c.Arguments)
		}
	}
	return all
}

func (r *talked) size() int {
	n := 0
	for _, q := range r.requests {
		n += window.Count(q.Messages, nil) + window.EstimateText(q.System)
	}
	return n / len(r.requests)
}

// setting is the window and the prompt of a measured conversation.
type setting struct{ window, prompt int } // tokens

// With a tiny prompt the history counts most. The usual prompt is what agents of this
// kind have: 3,000 tokens of instructions, tools and notes, in Dragoman's default
// window.
var (
	bare  = setting{window: 16_384, prompt: 150}
	usual = setting{window: 32_768, prompt: 3000}
)

func talkFor(t *testing.T, c window.Compaction, turns int, s setting) *talked {
	t.Helper()
	r := &talked{}
	result := strings.Repeat("shelf row label count note ", 60)
	look := tool{agent.Spec{Name: "look"}, func(_ context.Context, c agent.Call) (string, error) {
		return string(c.Args) + " " + result, nil
	}}
	m := newScript(t, echoing(c, &r.asked, &r.requests))
	a := newAgent(t, m, agent.Options{System: strings.Repeat("Be kind. ", s.prompt/3), ContextWindow: s.window, Compaction: c}, look)
	r.chat = chat{t: t, a: a, h: sessions.History{Generation: "20260301_001"}}
	for i := range turns {
		text := fmt.Sprintf("Please look at place %d again and tell me what you find there.", i)
		if i < 10 || i%5 == 0 {
			text += " By the way, " + fact(i) + "."
		}
		r.say(text)
	}
	return r
}

// least is the minimum that consecutive requests must share, in percent, with a tiny
// prompt and with the usual one. The two presets that summarise after 20 messages
// cannot share more: see docs/internals/performance.md.
var least = map[string][2]float64{"picoclaw": {86, 93}, "terrarium": {73, 86}}

// TestPresetsMeasured runs the same conversation of 200 turns with tools under every
// preset and writes the results into docs/internals/performance.md.
func TestPresetsMeasured(t *testing.T) {
	testkit.OneGoroutine(t)
	var planted []string
	for i := range 10 {
		planted = append(planted, fact(i))
	}
	names := window.PresetNames()
	rows := make([]string, len(names))
	t.Run("presets", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rows[i] = measurePreset(t, name, planted)
			})
		}
	})
	var b strings.Builder
	b.WriteString("| preset | shared, bare prompt | shared, usual prompt | tokens per request | compactions | model calls per compaction | facts after 1 | after 3 | after 5 | unaccounted |\n|---|---|---|---|---|---|---|---|---|---|\n")
	b.WriteString(strings.Join(rows, ""))
	publish(t, "presets", b.String())
}

// measurePreset returns the row of one preset.
func measurePreset(t *testing.T, name string, planted []string) string {
	want, found := least[name]
	if !found {
		want = [2]float64{95, 95}
	}
	var got [2]float64
	var r *talked
	for i, s := range []setting{usual, bare} {
		breaks := 0
		r = talkFor(t, window.Presets[name], 200, s)
		got[1-i], breaks = r.shared()
		if got[1-i] < want[1-i] {
			t.Errorf("with %+v, requests share %.2f %%, want at least %.1f %%", s, got[1-i], want[1-i])
		}
		if breaks > len(r.summaries) {
			t.Errorf("with %+v, %d requests do not begin with the one before, and there were only %d compactions", s, breaks, len(r.summaries))
		}
		if r.unaccounted != 0 {
			t.Errorf("with %+v, %d messages are unaccounted for, want 0", s, r.unaccounted)
		}
	}
	after := func(n int) string {
		if len(r.summaries) < n {
			return "-"
		}
		return survival(r.summaries[n-1], planted[:min(10, r.firstCovered(planted))])
	}
	return fmt.Sprintf("| `%s` | %.1f %% | %.1f %% | %d | %d | %.2f | %s | %s | %s | %d |\n", name, got[0], got[1], r.size(), len(r.summaries),
		float64(len(r.asked))/float64(max(len(r.summaries), 1)), after(1), after(3), after(5), r.unaccounted)
}

// firstCovered counts the planted facts that the first summary covers.
func (r *talked) firstCovered(planted []string) int {
	n := 0
	for _, m := range r.all {
		for _, f := range planted {
			if m.Seq <= r.summaries[0].CoversSeq && strings.Contains(m.Content, f) {
				n++
			}
		}
	}
	return n
}

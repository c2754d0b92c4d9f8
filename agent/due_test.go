package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestCase17KeptTurnsAreShown: after a compaction the next request has the summary,
// and the messages to keep verbatim, under every preset; and (case 30) the next turn
// does not compact again.
func TestCase17KeptTurnsAreShown(t *testing.T) {
	for _, name := range window.PresetNames() {
		t.Run(name, func(t *testing.T) {
			c := window.Presets[name]
			var asked, requests []agent.Request
			m := newScript(t, echoing(c, &asked, &requests))
			look := newCounter("look")
			a := newAgent(t, m, agent.Options{ContextWindow: 8192, Compaction: c}, look)
			talk := chat{t: t, a: a, h: sessions.History{Generation: "20260301_001"}}
			for i := 0; len(talk.summaries) == 0; i++ {
				if i == 300 {
					t.Fatal("300 turns and no summary")
				}
				talk.say(fmt.Sprintf("message-%d. %s %s", i, fact(i), strings.Repeat("word ", 60)))
			}
			kept := talk.h.Messages
			if floor := talk.all[window.CutAt(talk.all, c.Keep)].Seq; len(kept) == 0 || kept[0].Seq > floor {
				t.Fatalf("%d messages stay, fewer than the preset asks for", len(kept))
			}
			before := len(requests)
			talk.say("and now?")
			if len(talk.summaries) != 1 {
				t.Errorf("case 30: %d summaries after one more turn, want 1", len(talk.summaries))
			}
			r := requests[before]
			text := r.System + show(r.Messages)
			// There may be no room for the oldest facts in the preset's limits.
			var covered string
			for _, m := range talk.all {
				if m.Seq <= talk.summaries[0].CoversSeq && facts.MatchString(m.Content) {
					covered = facts.FindString(m.Content)
				}
			}
			contains(t, "request", r.System+r.Messages[min(1, len(r.Messages)-1)].Content, covered)
			for _, m := range kept {
				if m.Role != sessions.RoleTool && m.Content != "" {
					contains(t, "request", text, m.Content)
				}
			}
			if talk.unaccounted != 0 {
				t.Errorf("%d messages unaccounted for", talk.unaccounted)
			}
			var whole []string
			for _, m := range talk.all {
				whole = append(whole, m.Content)
			}
			contains(t, "case 32: the transcript", strings.Join(whole, "\n"), fact(0), fact(1))
		})
	}
}

// TestCase30NoSummaryEveryTurn: under every preset, with tools and with huge messages
// among those kept, turns without a compaction follow each one.
func TestCase30NoSummaryEveryTurn(t *testing.T) {
	for _, name := range window.PresetNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := window.Presets[name]
			var asked, requests []agent.Request
			echo := echoing(c, &asked, &requests)
			m := newScript(t, func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
				resp, err := echo(ctx, r, d)
				resp.Usage = nil // made-up numbers would calibrate the estimates
				return resp, err
			})
			a := newAgent(t, m, agent.Options{ContextWindow: 8192, Compaction: c}, newCounter("look"))
			talk := chat{t: t, a: a, h: sessions.History{Generation: "20260301_001"}}
			compactions, row := 0, 0
			for i := range 80 {
				text := fmt.Sprintf("message-%d. %s. %s", i, fact(i), strings.Repeat("word ", 40))
				if i%20 == 19 {
					text += strings.Repeat("word ", 7000) // most of the window
				}
				talk.say(text) // nothing is unaccounted for: a huge message is cut to its ends
				if n := len(talk.summaries); n > compactions {
					compactions = n
					row++
				} else {
					row = 0
				}
				// Two in a row are allowed: one before a huge message is old enough
				// to be summarised, and one when it is.
				if row > 2 {
					t.Errorf("turn %d is the %d. in a row with a summary", i, row)
				}
			}
			if compactions == 0 {
				t.Error("no summary at all")
			}
			if most := 80 / 2; compactions > most {
				t.Errorf("%d summaries in 80 turns, want at most %d", compactions, most)
			}
			t.Logf("%d summaries in 80 turns", compactions)
		})
	}
}

// JSON answers, good and bad.
const goodJSON = `{"title":"Tea","keywords":["tea"],"summary":"Ann likes tea.","key_points":["tea"],"key_facts":["B=$129"],"sentiment":"positive","confidence":9}`

func TestJSONSummary(t *testing.T) {
	c := keeping(8)
	c.Format = window.JSON
	h := sessions.History{Messages: talk(20)}
	m := newScript(t, say(goodJSON))
	s, err := newAgent(t, m, agent.Options{Compaction: c}).Summarize(t.Context(), h, nil)
	if err != nil {
		t.Fatalf("Summarize() = %v", err)
	}
	var f recap.Fields
	if err := json.Unmarshal(s.Fields, &f); err != nil || f.Title != "Tea" || f.Confidence != 9 {
		t.Errorf("Fields = %s, %v", s.Fields, err)
	}
	contains(t, "text", s.Text, "Ann likes tea.", "- B=$129")
	contains(t, "prompt", m.requests()[0].System, `"key_facts"`, `"sentiment"`)
	for name, bad := range map[string]string{
		"case 18: no JSON": "Ann likes tea.", "case 18: another shape": `{"title":"Ann likes tea."}`,
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := newAgent(t, newScript(t, say(bad)), agent.Options{Compaction: c}).Summarize(t.Context(), h, nil); !errors.Is(err, recap.ErrBadSummary) || s.Text != "" {
				t.Errorf("Summarize() = %+v, %v, want ErrBadSummary", s, err)
			}
		})
	}
}

// The model is asked again for a shorter summary; it is never cut.
func TestSummaryTooManyChars(t *testing.T) {
	c := keeping(8)
	c.MaxChars = 200
	h := sessions.History{Messages: talk(20)}
	long := strings.Repeat("Ann likes tea. ", 40)
	m := newScript(t, say(long), say("Ann likes tea."))
	s, err := newAgent(t, m, agent.Options{Compaction: c}).Summarize(t.Context(), h, nil)
	if err != nil || s.Text != "Ann likes tea." || len(m.requests()) != 2 {
		t.Fatalf("Summarize() = %+v, %v after %d requests, want the second answer", s, err, len(m.requests()))
	}
	contains(t, "the second request", m.requests()[1].Messages[0].Content, "at most 200 are allowed")
	m = newScript(t, say(long))
	if s, err := newAgent(t, m, agent.Options{Compaction: c}).Summarize(t.Context(), h, nil); !errors.Is(err, recap.ErrBadSummary) || s.Text != "" || len(m.requests()) != 2 {
		t.Errorf("Summarize() = %+v, %v after %d requests, want ErrBadSummary after 2", s, err, len(m.requests()))
	}
}

func TestWhen(t *testing.T) {
	c := keeping(4)
	for when, want := range map[window.When][3]bool{
		window.WhenAuto: {false, false, true}, window.WhenEveryTurn: {false, true, true}, window.WhenOff: {false, false, false},
	} {
		c.When = when
		a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: c})
		for i, n := range []int{4, 10, 41} {
			if got := a.Level(sessions.History{Messages: talk(n)}) == recap.Due; got != want[i] {
				t.Errorf("%s: NeedsSummary of %d messages = %v, want %v", when, n, got, want[i])
			}
		}
	}
	c.When = window.WhenAsk
	a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: c})
	for n, want := range map[int]recap.Level{4: recap.Nothing, 10: recap.Possible, 41: recap.Choice} {
		if got := a.Level(sessions.History{Messages: talk(n)}); got != want {
			t.Errorf("ask: Level of %d messages = %v, want %v", n, got, want)
		}
	}
	if h := (sessions.History{Messages: talk(10), Omitted: 1}); a.Level(h) != recap.Due {
		t.Error("ask: what a turn does not load waits for the person")
	}
	c.When, c.Trigger.MinMessages = window.WhenEveryTurn, 11
	if a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: c}); a.Level(sessions.History{Messages: talk(10)}) == recap.Due {
		t.Error("10 messages are summarised, and MinMessages is 11")
	}
}

// A request says how many messages it leaves out.
func TestOmissionIsSaid(t *testing.T) {
	c := keeping(8)
	c.When = window.WhenOff
	m := newScript(t, say("ok"))
	search := newCounter("find_old_words")
	search.spec.Finds = true
	a := newAgent(t, m, agent.Options{ContextWindow: 3000, Compaction: c}, search)
	turn := turnOf("and now?")
	turn.History = sessions.History{Messages: long(200), Omitted: 5}
	for i := range turn.History.Messages {
		turn.History.Messages[i].Seq = int64(i + 6)
	}
	res := runUnsummarised(t, a, turn)
	r := m.requests()[0]
	shown := len(r.Messages) - 1
	if strings.Contains(r.Messages[0].Content, "]\n\n") { // the note is in front of a message of the person
		shown++
	}
	var left int
	if _, err := fmt.Sscanf(r.Messages[0].Content, "[%d earlier messages", &left); err != nil || left != 5+201-shown {
		t.Errorf("the request begins with %q and has %d messages", r.Messages[0].Content, len(r.Messages))
	}
	contains(t, "the note", r.Messages[0].Content, " The tool find_old_words finds them.")
	if res.Unaccounted != left {
		t.Errorf("Unaccounted = %d, want the %d that the request says", res.Unaccounted, left)
	}
}

// TestNewDuringACompaction: after a /new, a turn of the old conversation must not
// continue with the new one.
func TestNewDuringACompaction(t *testing.T) {
	m := newScript(t, say("ok"))
	turn := turnOf("what now?")
	turn.History = sessions.History{Generation: "20260301_001", Messages: long(200)}
	turn.Compact = func(_ context.Context, _ *window.Keep) (sessions.History, error) {
		return sessions.History{Generation: "20260301_002", Summary: &sessions.Summary{Text: "ANOTHER TALK", CoversSeq: 200}}, nil
	}
	runUnsummarised(t, newAgent(t, m, agent.Options{ContextWindow: 8000}), turn)
	req := m.requests()[0]
	if strings.Contains(req.System+show(req.Messages), "ANOTHER TALK") || len(req.Messages) < 10 {
		t.Errorf("the turn continues with %d messages, System = %q; want those of the old conversation", len(req.Messages), req.System)
	}
}

// named is a model with a different name.
type named struct {
	*script
	name string
}

func (n named) Name() string { return n.name }

// Without a separate model the configured one writes the summaries, even of a
// conversation that chose another, because the window of a name that somebody typed
// is unknown. The summary fits the model that answers.
func TestSummaryOfASwitchedConversation(t *testing.T) {
	usual, other := newScript(t, say("short")), newScript(t)
	a := newAgent(t, named{usual, "usual"}, agent.Options{
		ContextWindow: 16384, Windows: map[string]int{"other": 2048},
		Models: func(name string) (agent.Model, error) { return named{other, name}, nil },
	})
	h := sessions.History{Messages: talk(20), Settings: sessions.Settings{Model: "other"}}
	s, err := a.Summarize(t.Context(), h, nil)
	if err != nil || s.Model != "usual" || len(other.requests()) > 0 || len(usual.requests()) != 1 || usual.requests()[0].MaxTokens != 512 {
		t.Errorf("Summarize() = %+v, %v, want one by the configured model that fits the other", s, err)
	}
}

// A conversation's settings choose its model and its prompt; the summarizer is
// separate.
func TestSettingsAndSummarizer(t *testing.T) {
	usual := newScript(t, say("usual"))
	other := newScript(t, say("other"))
	small := newScript(t, say("short"))
	a := newAgent(t, usual, agent.Options{
		System: "Be kind.", Summarizer: named{small, "small"}, SummarizerWindow: 4096,
		Models: func(name string) (agent.Model, error) {
			if name != "other" {
				return nil, errors.New("unknown")
			}
			return named{other, name}, nil
		},
	})
	turn := turnOf("hi")
	turn.History.Settings = sessions.Settings{Model: "other", System: "Be brief."}
	res := run(t, a, turn)
	last := res.Messages[len(res.Messages)-1]
	if res.Text != "other" || last.Model != "other" || last.Usage == nil || last.Usage.Input != 100 {
		t.Errorf("the answer is %+v, want the other model's with its usage", last)
	}
	if got := other.requests()[0].System; got != "Be brief." {
		t.Errorf("System = %q, want the conversation's", got)
	}
	turn.History.Settings.Model = "gone"
	if res := run(t, a, turn); res.Text != "usual" {
		t.Errorf("a model that cannot be had is answered with %q, want the usual one's answer", res.Text)
	}
	s, err := a.Summarize(t.Context(), sessions.History{Messages: talk(20)}, nil)
	if err != nil || s.Model != "small" || len(small.requests()) != 1 || small.requests()[0].MaxTokens != 1024 {
		t.Errorf("Summarize() = %+v, %v, want the small model's within its window", s, err)
	}
}

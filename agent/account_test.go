package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestEveryMessageIsAccountedFor runs random conversations under random presets in
// random windows, with summaries that sometimes fail. For each message so far, a
// request contains the message itself or a summary by a model that has read it, or
// the message is one of those that the request says to leave out and counts.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newAudited(t)
		for i := range rapid.IntRange(1, 25).Draw(t, "turns") {
			c.say(i)
		}
	})
}

// audited is a conversation in which each message has a unique word.
type audited struct {
	t      *rapid.T
	a      *agent.Agent
	format window.Format
	window int
	loads  int // messages that a turn loads
	h      sessions.History
	seq    int64
	words  int
	said   []string // the words of all messages, including the running turn's
	steps  int      // left for the running turn
	// reading is what the running summariser has read. read holds the same for each
	// summary: read directly, or in the summary that it began with.
	reading map[string]bool
	read    map[string]map[string]bool
	lacks   int             // largest number that a request of the running turn lacked
	off     bool            // no summaries
	lost    bool            // a summary of the running turn, or the one before it, failed
	most    int             // messages that a request may show; 0: any number
	own     int             // number of words before the running turn
	failed  map[string]bool // words of failed calls and their results, if these are not to be shown
}

func newAudited(t *rapid.T) *audited {
	c := &audited{t: t, words: 100, read: map[string]map[string]bool{}, failed: map[string]bool{}, h: sessions.History{Generation: "20260301_001", FirstSeq: 1}}
	compaction := window.Presets[rapid.SampledFrom(window.PresetNames()).Draw(t, "preset")]
	prune := window.PrunePresets[rapid.SampledFrom(window.PrunePresetNames()).Draw(t, "prune")]
	prune.Off = rapid.Bool().Draw(t, "unpruned")
	if rapid.IntRange(0, 9).Draw(t, "off") == 0 {
		compaction.When, c.off = window.WhenOff, true
	}
	c.format, c.window = compaction.Format, rapid.SampledFrom([]int{2048, 4096, 16_384}).Draw(t, "window")
	c.most = compaction.Keep.MaxMessages
	c.loads = rapid.SampledFrom([]int{40, 400}).Draw(t, "loads")
	look := tool{agent.Spec{Name: "look"}, func(context.Context, agent.Call) (string, error) {
		word := c.said[len(c.said)-1]
		if c.steps%3 == 0 {
			if prune.FailedCalls {
				c.failed[word], c.failed[c.said[len(c.said)-2]] = true, true
			}
			return "", errors.New(word)
		}
		return word + strings.Repeat(" label", 10<<(c.steps%11)), nil
	}}
	var err error
	if c.a, err = agent.New(c, []agent.Tool{look}, agent.Options{ContextWindow: c.window, Compaction: compaction, Prune: prune, Tries: 1}); err != nil {
		t.Fatal(err)
	}
	return c
}

// word adds a new word and returns it.
func (c *audited) word() string {
	c.words++
	c.said = append(c.said, fmt.Sprintf("m%d.", c.words))
	return c.said[len(c.said)-1]
}

// say runs one turn, and the summary that is then due.
func (c *audited) say(i int) {
	c.steps = rapid.IntRange(0, 8).Draw(c.t, "steps")
	c.lacks = 0
	c.own = len(c.said)
	length := rapid.SampledFrom([]int{1, 20, 100, c.window / 2, c.window * 9 / 10}).Draw(c.t, "length")
	turn := turnOf(c.word() + strings.Repeat(" word", length))
	turn.ID, turn.History = fmt.Sprint("turn-", i), c.load()
	turn.Compact = func(ctx context.Context, keep *window.Keep) (sessions.History, error) {
		err := c.compact(ctx, keep)
		return c.load(), err
	}
	res, err := c.a.Run(c.t.Context(), turn)
	if err != nil {
		c.t.Fatalf("turn %d: Run() = %v", i, err)
	}
	if res.Unaccounted != c.lacks || res.SilentlyDropped != 0 {
		c.t.Fatalf("turn %d: Unaccounted = %d, SilentlyDropped = %d; want %d, 0", i, res.Unaccounted, res.SilentlyDropped, c.lacks)
	}
	// A gateway loads more than any preset keeps.
	if res.Unaccounted > 0 && !c.off && !c.lost && c.loads == 400 {
		c.t.Fatalf("turn %d: %d messages are unaccounted for, and no summary failed", i, res.Unaccounted)
	}
	c.lost = false
	for _, m := range res.Messages {
		c.seq++
		m.Seq = c.seq
		c.h.Messages = append(c.h.Messages, m)
	}
	if c.a.Level(c.load()) == recap.Due {
		_ = c.compact(c.t.Context(), nil) // may fail; then everything is kept
	}
}

// load returns the history as a turn loads it.
func (c *audited) load() sessions.History {
	h := c.h
	h.Omitted = max(len(h.Messages)-c.loads, 0)
	h.Messages = slices.Clone(h.Messages[h.Omitted:])
	return h
}

func (c *audited) compact(ctx context.Context, keep *window.Keep) error {
	c.reading = map[string]bool{}
	s, err := c.a.Summarize(ctx, c.h, keep)
	if err != nil {
		if errors.Is(err, recap.ErrUnseen) || errors.Is(err, recap.ErrBadSummary) {
			c.t.Fatalf("Summarize() = %v", err)
		}
		c.lost = !errors.Is(err, recap.ErrNothingToSummarize)
		return err
	}
	c.h.Summary = &s
	c.h.Messages = slices.DeleteFunc(slices.Clone(c.h.Messages), func(m sessions.Message) bool { return m.Seq <= s.CoversSeq })
	return nil
}

func (c *audited) Name() string { return "audited" }

func (c *audited) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	last := r.Messages[len(r.Messages)-1].Content
	if len(r.Tools) == 0 && strings.Contains(last, "<transcript>") {
		return c.summary(last)
	}
	if why := unprompted(r.Messages); why != "" {
		c.t.Fatalf("a request that Gemini refuses: %s", why)
	}
	c.audit(r)
	word := c.word()
	c.steps--
	resp := response(word, "stop")
	if c.steps >= 0 && len(r.Tools) > 0 {
		resp = response("", "tool_calls", sessions.ToolCall{ID: "call" + word, Name: "look", Arguments: `{"at":"` + word + `"}`})
		c.word() // for the result
	}
	resp.Usage = nil
	return resp, nil
}

// summary returns a summary with a unique mark, or fails.
func (c *audited) summary(text string) (agent.Response, error) {
	if rapid.IntRange(0, 4).Draw(c.t, "fails") == 0 {
		return agent.Response{}, modelError(agent.ErrorRefused, 0)
	}
	for mark, read := range c.read {
		if strings.Contains(text, mark) {
			for word := range read {
				c.reading[word] = true
			}
		}
	}
	for _, word := range c.said {
		if strings.Contains(text, word) {
			c.reading[word] = true
		}
	}
	mark := fmt.Sprintf("summary-%d.", len(c.read))
	c.read[mark] = c.reading
	c.reading = map[string]bool{}
	full := mark + " They talked of"
	for _, word := range c.said {
		if strings.Contains(text, word) && len(full) < 60 {
			full += " " + strings.Trim(word, "m.") // it must be about the conversation
		}
	}
	if c.format == window.JSON {
		return response(strings.Replace(goodJSON, "Ann likes tea.", full, 1), "stop"), nil
	}
	return response("## Goal\n"+full, "stop"), nil
}

// audit looks for every message in r.
func (c *audited) audit(r agent.Request) {
	shown := r.System + show(r.Messages)
	known := map[string]bool{}
	for mark, read := range c.read {
		if strings.Contains(shown, mark) {
			known = read
		}
	}
	lacking, unloaded := 0, 0
	for i, word := range c.said {
		switch there := strings.Contains(shown, word); {
		case c.failed[word] && i < c.own:
			if there {
				c.t.Fatalf("a call that failed in an earlier turn is shown:\n%s", window.Clip(shown, 2000))
			}
			if !known[word] && c.load().Omitted > 0 {
				unloaded++ // perhaps; it is counted with the others that were not loaded
			}
		case !there && !known[word]:
			lacking++
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(r.Messages), func(m sessions.Message) bool { return m.Synthetic })); c.most > 0 && n > max(c.most, len(c.said)-c.own) {
		c.t.Fatalf("%d messages are shown, %d of them of this turn; want at most %d:\n%s", n, len(c.said)-c.own, c.most, window.Clip(shown, 2000))
	}
	said := 0
	for _, m := range r.Messages {
		var n int
		if _, err := fmt.Sscanf(m.Content, "[%d earlier messages of this conversation", &n); err == nil {
			said = n
		}
	}
	c.lacks = max(c.lacks, said)
	if said < lacking || said > lacking+unloaded {
		c.t.Fatalf("a request lacks %d messages and says that it lacks %d:\n%s", lacking, said, window.Clip(shown, 2000))
	}
}

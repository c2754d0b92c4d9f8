package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// sessionsShowCmd is "dragoman sessions show": a conversation as people read it.
type sessionsShowCmd struct {
	keyArg
	Last   int    `default:"50" help:"How many messages (${default}): the newest, or the first ones after --after; 0 shows all."`
	Before string `placeholder:"ID|TIME" help:"Only what was said before this message or time."`
	After  string `placeholder:"ID|TIME" help:"Only what was said after this message, or from this time on."`
	jsonFlag
}

func (k *sessionsShowCmd) Run(e *env, c *cli) error {
	if k.Last < 0 {
		return &usageError{"--last wants 0 or more"}
	}
	var part api.Part
	var err error
	part.After, err = borderFlag("--after", k.After)
	if err != nil {
		return err
	}
	part.Before, err = borderFlag("--before", k.Before)
	if err != nil {
		return err
	}
	return e.withKey(c, k.Key, func(ctx context.Context, a *api.Client, key channels.Key) error {
		part.Key = key
		s, err := readShown(ctx, a, part, k.Last)
		if err != nil {
			return err
		}
		if k.JSON {
			return e.json(s.document())
		}
		e.show(s)
		return nil
	})
}

// view is what "sessions show" read of a conversation, before it is printed in one
// form or the other.
type view struct {
	head        api.Conversation
	generations []api.Generation
	summary     *api.Summary // of the current generation
	earlier     int          // how many messages come before kept
	later       int          // and after it
	kept        []api.Message
	now         api.Running
}

// readShown reads the head of a conversation and its last messages within the bounds of
// part, or its first ones if it has an After. It reads all of them if most is 0.
func readShown(ctx context.Context, a *api.Client, part api.Part, most int) (s view, err error) {
	of := api.About{Key: part.Key}
	// first: a turn that ends meanwhile is in the transcript
	s.now, err = api.ReadRunning.Call(ctx, a, of)
	if err != nil {
		return s, err
	}
	s.head, err = api.ReadConversation.Call(ctx, a, of)
	if errors.Is(err, sessions.ErrNotFound) && s.now.Turn != "" {
		s.head, err = api.Conversation{Key: part.Key}, nil // its very first turn
	}
	if err != nil {
		return s, err
	}
	generations, err := api.ListGenerations.Call(ctx, a, of)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return s, err
	}
	s.generations = generations.Data
	s.summary, err = api.ReadSummary.Call(ctx, a, of)
	if err != nil {
		return s, err
	}
	s.kept, err = readPart(ctx, a, part, most)
	if err != nil {
		return s, err
	}
	if err := s.count(ctx, a, part); err != nil {
		return s, err
	}
	if len(s.kept) == 0 && len(s.generations) == 0 && s.now.Turn == "" && s.head.Waiting > 0 {
		return s, fmt.Errorf("nothing was answered in %s yet; dragoman queue list shows what waits", part.Key)
	}
	running := func(m api.Message) bool { return m.Turn != "" && m.Turn == s.now.Turn }
	if s.later > 0 || slices.ContainsFunc(s.kept, running) {
		s.now = api.Running{}
	}
	return s, nil
}

func (e *env) show(s view) {
	e.say("%s", s.headText())
	if s.earlier > 0 && len(s.kept) > 0 {
		e.say("(%s before; more: --before %d; all: --last 0)\n", count(s.earlier, "message", "messages"), s.kept[0].Seq)
	}
	next := s.borders()
	for _, m := range s.kept {
		for ; len(next) > 0 && next[0].FirstSeq <= m.Seq; next = next[1:] {
			e.say("%s\n", borderText(next[0]))
		}
		e.say("%s", messageText(m))
	}
	if s.later > 0 || len(s.kept) == 0 && s.earlier > 0 {
		e.sayLater(s)
		return
	}
	for _, g := range next { // these have no messages yet
		e.say("%s\n", borderText(g))
	}
	if s.now.Turn != "" {
		e.say("In progress: these steps of an answer are saved, but not part of the transcript yet.\n")
	}
	for _, m := range s.now.Messages {
		e.say("%s", messageText(m))
	}
}

func (e *env) sayLater(s view) {
	if len(s.kept) == 0 {
		e.say("There are no messages there: %s before and %d after.", count(s.earlier, "message", "messages"), s.later)
		return
	}
	e.say("(%s after; more: --after %d)", count(s.later, "message", "messages"), s.kept[len(s.kept)-1].Seq)
}

// borders returns the generations that begin with or after what is shown, without the
// first, before which there is nothing to separate.
func (s view) borders() []api.Generation {
	later := s.generations[min(1, len(s.generations)):]
	for len(s.kept) > 0 && len(later) > 0 && later[0].FirstSeq < s.kept[0].Seq {
		later = later[1:]
	}
	return later
}

func borderText(g api.Generation) string {
	return fmt.Sprintf("── %s  generation %s began ──", g.Began.Local().Format("2006-01-02 15:04"), oneLine(g.ID))
}

// headText is printed above a transcript: the conversation's name, size and
// settings.
func (s view) headText() string {
	var b strings.Builder
	c := s.head
	b.WriteString(oneLine(c.Key.String()))
	if c.Title != "" {
		fmt.Fprintf(&b, "  “%s”", oneLine(c.Title))
	}
	b.WriteString("\n")
	line := func(name, value string) { fmt.Fprintf(&b, "  %-8s %s\n", name, value) }
	if c.Generation != "" {
		since := c.Generation
		if n := len(s.generations); n > 1 {
			since = fmt.Sprintf("%s, the last of %d generations", c.Generation, n)
		}
		line("since", oneLine(since))
	}
	if c.MessageCount > 0 {
		line("said", s.sizeText())
	}
	if s.summary != nil {
		line("summary", s.summaryText())
	}
	if model := s.lastModel(); model != "" && c.Model == "" && s.later == 0 {
		line("model", oneLine(model)+" (wrote the last answer)")
	}
	b.WriteString(settingsLines(c.Settings, 0))
	if c.MessageCount == 0 && s.now.Turn == "" {
		b.WriteString("\nNothing was said yet.\n")
	}
	return b.String()
}

func (s view) sizeText() string {
	text := count(s.head.MessageCount, "message", "messages")
	if u := s.head.Usage; u.Input+u.Output > 0 {
		text += fmt.Sprintf(", %s tokens", grouped(u.Input+u.Output))
		if u.Cost > 0 {
			text += fmt.Sprintf(", cost %.4f", u.Cost)
		}
	}
	return text
}

// summaryText says which messages the summary covers. --json has its text.
func (s view) summaryText() string {
	n := s.summary.CoversSeq
	for _, g := range s.generations {
		if g.ID == s.summary.Generation {
			n -= g.FirstSeq - 1
		}
	}
	return fmt.Sprintf("covers the first %s of this generation (%s)",
		count(int(max(n, 0)), "message", "messages"), s.summary.At.Local().Format("2006-01-02 15:04"))
}

// lastModel is the model that wrote the newest answer, or "".
func (s view) lastModel() string {
	for _, m := range slices.Backward(s.kept) {
		if m.Role == sessions.RoleAssistant && m.Model != "" {
			return m.Model
		}
	}
	return ""
}

func speaker(m api.Message) string {
	switch {
	case m.Role == sessions.RoleTool:
		return "tool " + m.Name
	case m.Role == sessions.RoleAssistant:
		return "dragoman"
	}
	return cmp.Or(m.Name, m.Sender, "person")
}

func messageText(m api.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", m.At.Local().Format("2006-01-02 15:04"), oneLine(speaker(m)))
	if m.Synthetic {
		b.WriteString(" (note)")
	}
	b.WriteString(replacedMark(m) + "\n")
	for _, call := range m.ToolCalls {
		fmt.Fprintf(&b, "    → %s %s\n", oneLine(call.Name), oneLine(call.Arguments))
	}
	for line := range strings.Lines(bodyOf(&m)) {
		b.WriteString("    " + sessions.Printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// replacedMark says that m counts no longer, if so.
func replacedMark(m api.Message) string {
	if m.ReplacedBy > 0 {
		return " (replaced)"
	}
	return ""
}

// bodyOf is m without the sender's name, which messages of groups begin with for the model:
// the line above shows it already. What the model reads about files and about kinds is
// nowhere else here, so it stays.
func bodyOf(m *api.Message) string {
	if m.Kind != "" || len(m.Attachments) > 0 {
		return m.Content
	}
	return m.Shown()
}

// readPart reads the first messages of p or, if it has no After, the last ones.
// It returns them oldest first, and all of them if most is 0.
func readPart(ctx context.Context, a *api.Client, p api.Part, most int) (part []api.Message, err error) {
	backwards := p.After == "" && most > 0
	if !backwards {
		p.After = cmp.Or(p.After, "0")
	}
	var pages [][]api.Message
	for n := 0; most == 0 || n < most; {
		p.Limit = pageSize
		if most > 0 {
			p.Limit = min(pageSize, most-n)
		}
		page, err := api.ReadMessages.Call(ctx, a, p)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page.Data)
		n += len(page.Data)
		if page.Next == "" {
			break
		}
		if backwards {
			p.Before = page.Next
		} else {
			p.After = page.Next
		}
	}
	if backwards {
		slices.Reverse(pages)
	}
	return slices.Concat(pages...), nil
}

// count sets how many messages come before and after the shown ones. The numbers
// of messages have no gaps.
func (s *view) count(ctx context.Context, a *api.Client, part api.Part) error {
	if len(s.generations) == 0 {
		return nil
	}
	first, last := s.generations[0].FirstSeq, s.generations[len(s.generations)-1].LastSeq
	from, to := last+1, last // of what is shown
	if n := len(s.kept); n > 0 {
		from, to = s.kept[0].Seq, s.kept[n-1].Seq
	} else if part.Before != "" {
		before, err := api.ReadMessages.Call(ctx, a, api.Part{Key: s.head.Key, Limit: 1, Before: part.Before})
		if err != nil {
			return err
		}
		from = first
		if len(before.Data) > 0 {
			from = before.Data[0].Seq + 1
		}
		to = from - 1
	}
	s.earlier, s.later = int(from-first), int(max(last-to, 0))
	return nil
}

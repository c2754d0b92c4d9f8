package recap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

const (
	// One message may take at most one entryShare-th of a request's room.
	entryShare = 4
	// minRoom is the smallest room for messages at which a request is useful.
	minRoom = 256
	// maxParts is about how many requests one summary may take. A longer history is
	// summarised over several summaries, oldest part first.
	maxParts = 32
	// maxShrinks is how often one summary halves its requests because the server
	// found one too long. From a window of 128,000 tokens to one of 4096 it takes
	// five.
	maxShrinks = 5
	// shortSummary is how many tokens a summary may always have, whatever it
	// replaces. Presets that count messages summarise short ones too, and headings
	// alone take a hundred tokens.
	shortSummary = 512
)

// Summarize writes the next summary of h: one text that replaces the old summary and
// all messages except those that keep selects (nil: Compaction.Keep). It stores
// nothing; the caller does. Input that does not fit the window is summarised in
// parts, each with the summary so far. With an error, the Summary only says what the
// attempt used.
func (s *Summarizer) Summarize(ctx context.Context, h sessions.History, keep *window.Keep) (sessions.Summary, error) {
	c := s.now.Load()
	switch {
	case h.Omitted > 0:
		return sessions.Summary{}, ErrPartialHistory
	case c.When == window.WhenOff:
		return sessions.Summary{}, ErrNothingToSummarize
	case keep == nil:
		k := s.Keep(h)
		keep = &k
	}
	w := writing{Summarizer: s, c: c, all: h.Messages, cut: window.CutAt(h.Messages, *keep)}
	w.setLimits(s.model.Window(), s.summaryTokens(s.meter.Window(h.Settings)))
	if len(w.remaining) == 0 {
		return sessions.Summary{}, ErrNothingToSummarize
	}
	if h.Summary != nil {
		w.soFar.Text = h.Summary.Text
	}
	if c.Keep.MaxMessages == 0 {
		// Otherwise the aim is fewer messages, and the summary may be longer than
		// they are.
		w.replaced = s.tokens(h.Messages[:w.cut]) + s.opts.Count(w.soFar.Text)
	}
	for len(w.remaining) > 0 {
		err := w.summarizePart(ctx)
		s.model.Learn(w.refused, w.passed)
		if err != nil {
			return sessions.Summary{Model: s.model.Name(), Used: w.used}, err
		}
	}
	done := sessions.Summary{
		Text: w.soFar.Text, Fields: w.soFar.Fields, CoversSeq: h.Messages[w.cut-1].Seq, Generation: h.Generation,
		Model: s.model.Name(), At: s.opts.Now(), Origins: originsOf(h.Summary, h.Messages[:w.cut]),
		Used: w.used,
	}
	unseen := 0 // possible if messages are out of order
	for i := range h.Messages[w.cut:] {
		if h.Messages[w.cut+i].Seq <= done.CoversSeq {
			unseen++
		}
	}
	if unseen > 0 {
		return sessions.Summary{Model: done.Model, Used: w.used}, fmt.Errorf("%w: %d of those up to %d", ErrUnseen, unseen, done.CoversSeq)
	}
	return done, nil
}

// originsOf are whose words a summary has that replaces another one and messages.
func originsOf(before *sessions.Summary, messages []sessions.Message) []sessions.Origin {
	var t sessions.Taint
	if before != nil {
		t.Merge(before.Taint())
	}
	for i := range messages {
		t.AddMessage(&messages[i])
	}
	if t.IsClean() {
		return []sessions.Origin{sessions.OriginModel}
	}
	return t.List()
}

// writing is one attempt to summarise one conversation. It keeps the settings that
// it started with, so that a reload does not mix two of them in one summary.
type writing struct {
	*Summarizer
	c         *settings // the settings when it started
	soFar     Summary   // the summary so far
	remaining []sessions.Message
	maxTokens int // limit of the summary
	// all are the history's messages, and cut is how many of them the summary
	// replaces.
	all []sessions.Message
	cut int
	// replaced is how many tokens the old summary and the replaced messages take. The
	// new summary must not take more; 0: it may.
	replaced int
	started  bool // a part was summarised
	used     sessions.Usage
	// window is the writing model's context length as far as known. room, if not 0,
	// limits the tokens of messages in one request.
	window, room int
	// shrunk counts the refused requests. refused is the size of the smallest of
	// them, and passed the size of the request that was accepted after it.
	shrunk, refused, passed int
}

// setLimits sets the model's context length and the limit of the summary. Until a
// part is summarised, it also moves the cut so that a limited number of requests is
// enough.
func (w *writing) setLimits(tokens, summary int) {
	w.window, w.maxTokens = tokens, min(summary, tokens/4)
	if !w.started && w.cut > 0 {
		w.cut = w.limitCut()
		w.remaining = window.Repair(w.all[:w.cut])
	}
}

// limitCut returns cut, moved back to what about maxParts requests can hold.
func (w *writing) limitCut() int {
	room := max(w.writerRoom(w.window/2), minRoom)
	left := maxParts * room
	for i := range w.all[:w.cut] {
		left -= min(w.tokens(w.all[i:i+1]), room/entryShare)
		if left < 0 {
			if back := window.Cut(w.all, len(w.all)-i); back > 0 {
				return back
			}
			break // one tool group alone is larger
		}
	}
	return w.cut
}

func (w *writing) writerRoom(tokens int) int { return int(float64(tokens) / w.model.Factor()) }

// summarizePart summarises as many messages as fit into one request. If the server
// finds it too long, it is sent again at half the size, a few times per summary,
// unless that makes no difference.
func (w *writing) summarizePart(ctx context.Context) error {
	var refused Request
	var cause error
	for {
		req, entries, err := w.request()
		switch {
		case err != nil && cause != nil:
			return cause // it left no room
		case err != nil:
			return err
		case cause != nil && req.Text == refused.Text && req.MaxTokens == refused.MaxTokens:
			return cause
		}
		so, err := w.writePart(ctx, req, w.remaining[:len(entries)])
		if errors.Is(err, ErrTooLong) && w.shrunk < maxShrinks {
			refused, cause = req, err
			w.shrink(req, entries)
			continue
		}
		if err != nil {
			return err
		}
		if w.refused > 0 { // otherwise there is nothing to learn
			w.passed = w.requestTokens(req)
		}
		w.soFar = so
		w.remaining = w.remaining[len(entries):]
		w.started = true
		return nil
	}
}

func (w *writing) requestTokens(req Request) int {
	return w.tokens([]sessions.Message{{Content: req.Text}}) + w.opts.Count(req.System)
}

// shrink halves the size of the next requests, measured from req, which was refused and
// may have filled only a small part of the window. The answer counts, because many
// servers count the room for it.
func (w *writing) shrink(req Request, entries []string) {
	w.shrunk++
	w.refused, w.passed = w.requestTokens(req), 0
	size := int(float64(w.refused)*w.model.Factor()) + req.MaxTokens
	w.room = max(w.opts.Count(strings.Join(entries, ""))/2, minRoom)
	w.setLimits(min(w.window, size)/2, w.maxTokens)
}

// writePart has the summary of msgs written. If the answer is rejected, the model is
// told why and asked once more. A long summary is never cut: the newest facts are at
// its end.
func (w *writing) writePart(ctx context.Context, req Request, msgs []sessions.Message) (so Summary, err error) {
	var flaw *Flaw
	if w.thinks.Load() {
		req = w.withThoughts(req)
	}
	if so, err = w.askModel(ctx, req, msgs); !errors.As(err, &flaw) {
		return so, err
	}
	if flaw == cutOff {
		req = w.withThoughts(req)
		w.thinks.Store(true)
	}
	req.Text += "\n\nAn answer to this was refused, because it " + flaw.What + ". " + flaw.Remedy
	so, err = w.askModel(ctx, req, msgs)
	switch {
	case !errors.As(err, &flaw):
		return so, err
	case flaw == notShorter:
		return Summary{}, ErrLongSummary
	case flaw == cutOff:
		return Summary{}, fmt.Errorf("%w: it %s, also with %d tokens: raise summary.max_tokens, or let a model that thinks less write summaries (summary.model)",
			ErrBadSummary, flaw.What, req.MaxTokens)
	}
	return Summary{}, fmt.Errorf("%w: it %s", ErrBadSummary, flaw.What)
}

// thoughtsToo is how many times the tokens of a summary its answer may have if the
// model thinks about it first.
const thoughtsToo = 4

// withThoughts returns req with room for thoughts, as far as the window has it, and
// with little effort. Thoughts can use up all that a summary may have.
func (w *writing) withThoughts(req Request) Request {
	asked := int(float64(w.requestTokens(req)) * w.model.Factor())
	req.MaxTokens = max(req.MaxTokens, min(thoughtsToo*w.maxTokens, w.window*9/10-asked))
	req.Effort = "low"
	return req
}

// askModel makes one request. It returns the summary of msgs, or a *Flaw.
func (w *writing) askModel(ctx context.Context, req Request, msgs []sessions.Message) (so Summary, err error) {
	answer, err := w.model.Ask(ctx, req)
	if err != nil {
		return Summary{}, err
	}
	if answer.Used != nil {
		w.used.Add(*answer.Used)
	}
	if so, err = w.c.task.Read(answer, Source{Previous: w.soFar.Text, Messages: msgs}); err != nil {
		return Summary{}, err
	}
	// Servers count tokens differently, so a summary is too long only at twice the
	// limit.
	n := w.opts.Count(so.Text)
	switch {
	case n > w.writerRoom(2*w.maxTokens):
		return Summary{}, TooLong(fmt.Sprintf("has about %d tokens, and at most %d are allowed", n, w.maxTokens))
	case w.replaced > 0 && len(msgs) == len(w.remaining) && n > max(w.replaced, shortSummary):
		return Summary{}, notShorter
	}
	return so, nil
}

// notShorter is the flaw of a summary that would free no tokens.
var notShorter = TooLong("is longer than what it replaces")

// request builds the request for the next part, and returns its messages as rendered.
// There is at least one, because each is cut to a share of the room.
func (w *writing) request() (req Request, entries []string, err error) {
	req = Request{System: w.c.task.instructions, MaxTokens: w.maxTokens, Temperature: w.c.Temperature, Format: w.c.task.Schema()}
	fixed := w.opts.Count(req.System) + w.opts.Count(w.c.task.template.Fill(w.soFar.Text, ""))
	// A tenth is reserved for counting errors.
	room := w.writerRoom(w.window*9/10-w.maxTokens) - fixed
	if w.room > 0 {
		room = min(room, w.room)
	}
	if room < minRoom {
		return Request{}, nil, fmt.Errorf("%w: no room for messages beside the summary so far", ErrBadSummary)
	}
	for used := 0; len(entries) < len(w.remaining); {
		entry := window.Entry(excerptOf(w.remaining[len(entries)], room/entryShare))
		size := w.opts.Count(entry)
		if used+size > room && len(entries) > 0 {
			break
		}
		used += size
		entries = append(entries, entry)
	}
	req.Text = w.c.task.template.Fill(w.soFar.Text, strings.Join(entries, ""))
	return req, entries, nil
}

// excerptOf shortens the text and the arguments of m to about this many tokens
// together. A note replaces what is missing.
func excerptOf(m sessions.Message, tokens int) sessions.Message {
	each := tokens / (len(m.ToolCalls) + 1)
	m.Content = window.Excerpt(m.Content, each)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i, c := range m.ToolCalls {
		m.ToolCalls[i].Arguments = window.Excerpt(c.Arguments, each)
	}
	return m
}

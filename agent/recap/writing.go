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
	// entryShare is the part of one request's room that one message may have.
	entryShare = 4
	// minRoom is the least room for messages that makes a request useful.
	minRoom = 256
	// maxParts is about how many requests one summary may take. A history that
	// needs more is summarised piece by piece, oldest first.
	maxParts = 32
	// maxShrinks is how often in one summary a request is halved because the
	// server found it too long. From a window of 128,000 to one of 4096 it takes
	// five.
	maxShrinks = 5
	// shortSummary is how many tokens a summary may have whatever it replaces:
	// presets that go by the number of messages summarise short ones too, and
	// headings alone take a hundred.
	shortSummary = 512
)

// Summarize writes the summary that is to follow h's: one text that stands for
// the old one and for all messages except those that keep says, or
// Compaction.Keep if that is nil. It changes nothing; the caller stores what it
// returns. Input that does not fit into the window is taken in parts, each with
// the summary so far.
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
	w.limit(s.model.Window(), s.summaryTokens(s.meter.Window(h.Settings)))
	if len(w.left) == 0 {
		return sessions.Summary{}, ErrNothingToSummarize
	}
	if h.Summary != nil {
		w.so.Text = h.Summary.Text
	}
	if c.MaxMessages == 0 {
		// Else a summary is wanted for the sake of the number of messages.
		w.replaced = s.tokens(h.Messages[:w.cut]) + s.opts.Count(w.so.Text)
	}
	for len(w.left) > 0 {
		err := w.part(ctx)
		s.model.Learn(w.refused, w.passed)
		if err != nil {
			return sessions.Summary{}, err
		}
	}
	done := sessions.Summary{
		Text: w.so.Text, Fields: w.so.Fields, CoversSeq: h.Messages[w.cut-1].Seq, Generation: h.Generation,
		Model: s.model.Name(), At: s.opts.Now(),
	}
	unseen := 0 // where messages are out of order
	for i := range h.Messages[w.cut:] {
		if h.Messages[w.cut+i].Seq <= done.CoversSeq {
			unseen++
		}
	}
	if unseen > 0 {
		return sessions.Summary{}, fmt.Errorf("%w: %d of those up to %d", ErrUnseen, unseen, done.CoversSeq)
	}
	return done, nil
}

// writing is one Summarize under way.
type writing struct {
	*Summarizer
	c    *settings // as they were when this began
	so   Summary   // the summary so far
	left []sessions.Message
	most int // tokens of the summary
	// all are the history's messages, and cut how many of them the summary is to
	// replace.
	all []sessions.Message
	cut int
	// replaced is how many tokens the messages and the summary before take that
	// the new one replaces. 0: it may be of any length.
	replaced int
	begun    bool // some of it was summarised
	// window is how many tokens the model takes, as far as is known, and room, if
	// not 0, how many of messages one request may have at most.
	window, room int
	// shrunk counts how often the server found a request too long, refused is the
	// shortest of them, and passed how long the one was that it took after it.
	shrunk, refused, passed int
}

// limit says how many tokens the model takes and the summary may have, at most.
// Before anything was summarised, so little is taken on that it can be done in a
// bounded number of requests.
func (w *writing) limit(tokens, summary int) {
	w.window, w.most = tokens, min(summary, tokens/4)
	if !w.begun && w.cut > 0 {
		w.cut = w.inReach()
		w.left = window.Repair(w.all[:w.cut])
	}
}

// inReach moves cut back to what about maxParts requests can hold.
func (w *writing) inReach() int {
	room := max(w.fit(w.window/2), minRoom)
	left := maxParts * room
	for i := range w.all[:w.cut] {
		left -= min(w.tokens(w.all[i:i+1]), room/entryShare)
		if left < 0 {
			if back := window.Cut(w.all, len(w.all)-i); back > 0 {
				return back
			}
			break // one tool group is larger than that
		}
	}
	return w.cut
}

// fit is how many of the tokens that we count fit into so many of the model's.
func (w *writing) fit(tokens int) int { return int(float64(tokens) / w.model.Factor()) }

// part takes as many messages as fit into one request. A request that the
// server finds too long is made again with half as much, a few times in one
// summary, and not at all if that makes no difference.
func (w *writing) part(ctx context.Context) error {
	var refused Request
	var cause error
	for {
		req, entries, err := w.request()
		switch {
		case err != nil && cause != nil:
			return cause // which left no room
		case err != nil:
			return err
		case cause != nil && req.Text == refused.Text && req.MaxTokens == refused.MaxTokens:
			return cause
		}
		so, err := w.write(ctx, req, w.left[:len(entries)])
		if errors.Is(err, ErrTooLong) && w.shrunk < maxShrinks {
			refused, cause = req, err
			w.shrink(req, entries)
			continue
		}
		if err != nil {
			return err
		}
		if w.refused > 0 { // else there is nothing to learn from it
			w.passed = w.requestTokens(req)
		}
		w.so, w.left, w.begun = so, w.left[len(entries):], true
		return nil
	}
}

// requestTokens is how many tokens req takes, as we count them.
func (w *writing) requestTokens(req Request) int {
	return w.tokens([]sessions.Message{{Content: req.Text}}) + w.opts.Count(req.System)
}

// shrink makes the requests to come half as long as req, which was refused:
// not half of the window, of which req may have filled a small part. The answer
// counts, because to many servers the room for it is part of the length.
func (w *writing) shrink(req Request, entries []string) {
	w.shrunk++
	w.refused, w.passed = w.requestTokens(req), 0
	size := int(float64(w.refused)*w.model.Factor()) + req.MaxTokens
	w.room = max(w.opts.Count(strings.Join(entries, ""))/2, minRoom)
	w.limit(min(w.window, size)/2, w.most)
}

// write has the summary of msgs written. A model whose answer is none is told so,
// once; what is too long is never cut, because it would be cut where the newest
// facts are.
func (w *writing) write(ctx context.Context, req Request, msgs []sessions.Message) (so Summary, err error) {
	var flaw *Flaw
	if so, err = w.ask(ctx, req, msgs); !errors.As(err, &flaw) {
		return so, err
	}
	req.Text += "\n\nAn answer to this was refused, because it " + flaw.What + ". " + flaw.Remedy
	so, err = w.ask(ctx, req, msgs)
	switch {
	case !errors.As(err, &flaw):
		return so, err
	case flaw == tooMuch:
		return Summary{}, ErrLongSummary
	}
	return Summary{}, fmt.Errorf("%w: it %s", ErrBadSummary, flaw.What)
}

// ask makes one request and reads the summary of msgs in its answer. An answer
// that is none is a *Flaw.
func (w *writing) ask(ctx context.Context, req Request, msgs []sessions.Message) (so Summary, err error) {
	answer, err := w.model.Ask(ctx, req)
	if err != nil {
		return Summary{}, err
	}
	if so, err = w.c.task.Read(answer, Talk{Previous: w.so.Text, Messages: msgs}); err != nil {
		return Summary{}, err
	}
	// Servers count tokens in another way than we do, so only twice as many are
	// too many.
	n := w.opts.Count(so.Text)
	switch {
	case n > w.fit(2*w.most):
		return Summary{}, TooLong(fmt.Sprintf("has about %d tokens, and at most %d are allowed", n, w.most))
	case w.replaced > 0 && len(msgs) == len(w.left) && n > max(w.replaced, shortSummary):
		return Summary{}, tooMuch
	}
	return so, nil
}

// tooMuch is wrong with a summary that would free no tokens.
var tooMuch = TooLong("is longer than what it replaces")

// request builds the request for the next part and returns the messages that it
// takes, as they are to be in it: one at least, because each is cut down to
// a share of the room.
func (w *writing) request() (req Request, entries []string, err error) {
	req = Request{System: w.c.task.instructions, MaxTokens: w.most, Temperature: w.c.Temperature, Format: w.c.task.Schema()}
	fixed := w.opts.Count(req.System) + w.opts.Count(w.c.task.template.Fill(w.so.Text, ""))
	// The reserve of a tenth is for what the count gets wrong.
	room := w.fit(w.window*9/10-w.most) - fixed
	if w.room > 0 {
		room = min(room, w.room)
	}
	if room < minRoom {
		return Request{}, nil, fmt.Errorf("%w: no room for messages beside the summary so far", ErrBadSummary)
	}
	for used := 0; len(entries) < len(w.left); {
		entry := window.Entry(excerpted(w.left[len(entries)], room/entryShare))
		size := w.opts.Count(entry)
		if used+size > room && len(entries) > 0 {
			break
		}
		used += size
		entries = append(entries, entry)
	}
	req.Text = w.c.task.template.Fill(w.so.Text, strings.Join(entries, ""))
	return req, entries, nil
}

// excerpted shortens the text and the arguments of m to about so many tokens
// together. What is missing is said in its place.
func excerpted(m sessions.Message, tokens int) sessions.Message {
	each := tokens / (len(m.ToolCalls) + 1)
	m.Content = window.Excerpt(m.Content, each)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i, c := range m.ToolCalls {
		m.ToolCalls[i].Arguments = window.Excerpt(c.Arguments, each)
	}
	return m
}

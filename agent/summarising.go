package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// summarising is one Summarize under way.
type summarising struct {
	c    *compacting // as it was when this began
	a    *Agent
	now  recap.Summary // the summary so far
	left []sessions.Message
	// shown are the messages that the model has read, in whole or in excerpts.
	shown []sessions.Message
	most  int // tokens of the summary
	// all are the history's messages, and cut how many of them the summary is to
	// replace.
	all []sessions.Message
	cut int
	// replaced is how many tokens the messages and the summary before take that
	// the new one replaces. 0: it may be of any length.
	replaced int
	// window is how many tokens the summariser takes, as far as is known, and
	// room, if not 0, how many of messages one request may have at most.
	window, room int
	// shrunk counts how often the server found a request too long, refused is the
	// shortest of them, and passed how long the one was that it took after it.
	shrunk, refused, passed int
}

// limit says how many tokens the summariser takes and the summary may have, at
// most. Before anything was summarised, so little is taken on that it can be
// done in a bounded number of requests.
func (s *summarising) limit(tokens, summary int) {
	s.window, s.most = tokens, min(summary, tokens/4)
	if len(s.shown) == 0 && s.cut > 0 {
		s.cut = s.a.inReach(s.all, s.cut, tokens)
		s.left = window.Repair(s.all[:s.cut])
	}
}

// part takes as many messages as fit into one request. A request that the
// server finds too long is made again with half as much, a few times in one
// summary, and not at all if that makes no difference.
func (s *summarising) part(ctx context.Context) error {
	var refused Request
	var cause error
	for {
		req, entries, err := s.request()
		switch {
		case err != nil && cause != nil:
			return cause // which left no room
		case err != nil:
			return err
		case cause != nil && req.Messages[0].Content == refused.Messages[0].Content && req.MaxTokens == refused.MaxTokens:
			return cause
		}
		w, err := s.write(ctx, req, s.left[:len(entries)])
		if tooLong(err) && s.shrunk < maxShrinks {
			refused, cause = req, err
			s.shrink(req, entries)
			continue
		}
		if err != nil {
			return err
		}
		if s.refused > 0 { // else there is nothing to learn from it
			s.passed = s.requestTokens(&req)
		}
		read := window.Read(req.Messages[0].Content, entries)
		s.now = w
		s.shown = append(s.shown, s.left[:read]...)
		s.left = s.left[len(entries):]
		return nil
	}
}

// requestTokens is how many tokens req takes, as we count them.
func (s *summarising) requestTokens(req *Request) int {
	return s.a.messageTokens(req.Messages) + s.a.textTokens(req.System)
}

// shrink makes the requests to come half as long as req, which was refused:
// not half of the window, of which req may have filled a small part. The answer
// counts, because to many servers the room for it is part of the length.
func (s *summarising) shrink(req Request, entries []string) {
	s.shrunk++
	s.refused, s.passed = s.requestTokens(&req), 0
	factor := s.a.opts.Calibration.Factor(s.a.opts.Summarizer.Name())
	size := int(float64(s.refused)*factor) + req.MaxTokens
	used := s.a.textTokens(strings.Join(entries, ""))
	s.room = max(used/2, minRoom)
	s.limit(min(s.window, size)/2, s.most)
}

// write has the summary of msgs written. A model whose answer is none is told
// so, once; what is too long is never cut, because it would be cut where the
// newest facts are.
func (s *summarising) write(ctx context.Context, req Request, msgs []sessions.Message) (recap.Summary, error) {
	w, err := s.ask(ctx, req, msgs)
	var flaw *recap.Flaw
	if !errors.As(err, &flaw) {
		return w, err
	}
	again, err := s.requestOf(s.c.task.Again(req.Messages[0].Content, flaw))
	if err != nil {
		return recap.Summary{}, err
	}
	if w, err = s.ask(ctx, again, msgs); !errors.As(err, &flaw) {
		return w, err
	}
	if flaw == tooMuch {
		return recap.Summary{}, ErrLongSummary
	}
	return recap.Summary{}, fmt.Errorf("%w: it %s", ErrBadSummary, flaw.What)
}

// ask makes one request and reads the summary of msgs in its answer. An answer
// that is none is a *recap.Flaw.
func (s *summarising) ask(ctx context.Context, req Request, msgs []sessions.Message) (recap.Summary, error) {
	model := s.a.opts.Summarizer
	resp, err := s.a.complete(ctx, model, &req, func() func(Delta) { return nil })
	if err != nil {
		return recap.Summary{}, fmt.Errorf("agent: summarise: %w", err)
	}
	s.a.learn(model, req, resp.Usage)
	answer := recap.Answer{Text: resp.Message.Content, Finish: resp.Finish, Refused: resp.Refused, Called: len(resp.Message.ToolCalls) > 0}
	w, err := s.c.task.Read(answer, recap.Talk{Previous: s.now.Text, Messages: msgs})
	if err != nil {
		return recap.Summary{}, err
	}
	// Servers count tokens in another way than we do, so only twice as many are
	// too many.
	n := s.a.textTokens(w.Text)
	switch {
	case n > s.a.room(model.Name(), 2*s.most):
		return recap.Summary{}, recap.TooLong(fmt.Sprintf("has about %d tokens, and at most %d are allowed", n, s.most))
	case s.replaced > 0 && len(msgs) == len(s.left) && n > max(s.replaced, shortSummary):
		return recap.Summary{}, tooMuch
	}
	return w, nil
}

// shortSummary is how many tokens a summary may have whatever it replaces:
// presets that go by the number of messages summarise short ones too, and
// headings alone take a hundred.
const shortSummary = 512

// tooMuch is wrong with a summary that would free no tokens.
var tooMuch = recap.TooLong("is longer than what it replaces")

// request builds the request for the next part and returns the messages that it
// takes, as they are to be in it: one at least, because each is cut down to
// a share of the room.
func (s *summarising) request() (Request, []string, error) {
	a := s.a
	fixed := a.textTokens(s.c.task.Instructions()) + a.textTokens(s.c.task.Question(s.now.Text, ""))
	// The reserve of a tenth is for what the count gets wrong.
	limit := a.room(a.opts.Summarizer.Name(), s.window*9/10-s.most)
	room := limit - fixed
	if s.room > 0 {
		room = min(room, s.room)
	}
	if room < minRoom {
		return Request{}, nil, fmt.Errorf("%w: no room for messages beside the summary so far", ErrBadSummary)
	}
	var entries []string
	for used := 0; len(entries) < len(s.left); {
		entry := window.Entry(excerpted(s.left[len(entries)], room/entryShare))
		size := a.textTokens(entry)
		if used+size > room && len(entries) > 0 {
			break
		}
		used += size
		entries = append(entries, entry)
	}
	req, err := s.requestOf(s.c.task.Question(s.now.Text, strings.Join(entries, "")))
	if err == nil && !strings.Contains(req.Messages[0].Content, window.PreviousSummary(s.now.Text)) {
		return Request{}, nil, fmt.Errorf("%w: the summary so far is not among what is summarised", ErrUnseen)
	}
	return req, entries, err
}

// requestOf is a request of the summariser's. It passes the validator that
// every other request passes too.
func (s *summarising) requestOf(text string) (Request, error) {
	a, c := s.a, s.c
	msgs := a.repair([]sessions.Message{{Role: sessions.RoleUser, Content: text}})
	if err := window.Validate(msgs); err != nil {
		return Request{}, fmt.Errorf("agent: summarise: %w", err)
	}
	req := Request{
		System: s.c.task.Instructions(), Messages: msgs, MaxTokens: s.most, Temperature: a.opts.Temperature,
		Format: s.c.task.Schema(),
	}
	if c.Temperature != nil {
		t := float32(*c.Temperature)
		req.Temperature = &t
	}
	return req, nil
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

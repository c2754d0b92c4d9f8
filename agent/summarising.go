package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// summarising is one Summarize under way.
type summarising struct {
	a    *Agent
	now  written // the summary so far
	left []sessions.Message
	// shown are the messages that the model has read, in whole or in excerpts.
	shown []sessions.Message
	most  int // tokens of the summary
	// all are the history's messages, and cut how many of them the summary is to
	// stand for.
	all []sessions.Message
	cut int
	// window is how many tokens the summariser takes, as far as is known, and
	// room, if not 0, how many of messages one request may have at most.
	window, room int
	// refusedLength and passedLength are what its server said since this began:
	// the shortest request that it refused, the longest that passed.
	// doubtedLength is one that was refused for an unknown reason.
	refusedLength, passedLength, doubtedLength int
	// doubted says that one was made again because it may have been too long.
	doubted bool
	// shrunk counts how often the server found a request too long.
	shrunk int
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
		w, err := s.ask(ctx, req)
		if s.tooLong(req, err) && s.shrunk < maxShrinks {
			refused, cause = req, err
			s.shrink(req, entries)
			continue
		}
		if err != nil {
			return err
		}
		if w, err = s.fuller(ctx, req, w, s.left[:len(entries)]); err != nil {
			return err
		}
		if w, err = s.mended(ctx, w, s.left[:len(entries)]); err != nil {
			return err
		}
		read := window.Read(req.Messages[0].Content, entries)
		s.now = w
		s.shown = append(s.shown, s.left[:read]...)
		s.left = s.left[len(entries):]
		return nil
	}
}

// shrink makes the requests to come half as long as req, which was refused:
// not half of the window, of which req may have filled a small part. The answer
// counts, because to many servers the room for it is part of the length.
func (s *summarising) shrink(req Request, entries []string) {
	s.shrunk++
	factor := s.a.opts.Calibration.Factor(s.a.opts.Summarizer.Name())
	size := int(float64(s.size(req))*factor) + req.MaxTokens
	used := s.a.textTokens(strings.Join(entries, ""))
	s.room = max(used/2, minRoom)
	s.limit(min(s.window, size)/2, s.most)
}

// size is how many tokens of messages and prompt req has, as we count them.
func (s *summarising) size(req Request) int {
	return s.a.messageTokens(req.Messages) + s.a.textTokens(req.System)
}

// ask makes one request and reads the summary in its answer.
func (s *summarising) ask(ctx context.Context, req Request) (written, error) {
	model := s.a.opts.Summarizer
	resp, err := s.a.complete(ctx, model, &req, func() func(Delta) { return nil })
	s.count(req, err)
	if err != nil {
		return written{}, fmt.Errorf("agent: summarise: %w", err)
	}
	s.a.learn(model, req, resp.Usage)
	return s.a.readSummary(resp)
}

// count remembers how long req was, which passed or was refused.
func (s *summarising) count(req Request, err error) {
	size := s.size(req)
	switch {
	case err == nil:
		s.passedLength = max(s.passedLength, size)
		if s.refusedLength == 0 && size < s.doubtedLength {
			s.refusedLength = s.doubtedLength // so that was the reason
		}
	case tooLong(err) && (s.refusedLength == 0 || size < s.refusedLength):
		s.refusedLength = size
	}
}

// noteLength teaches the requests to come. Here it would halve the room twice.
func (s *summarising) noteLength() {
	s.a.noteLength(s.a.summarizing(), s.a.opts.SummarizerWindow, s.refusedLength, s.passedLength)
}

// fuller returns w, the answer to req, or, if that says too little of msgs and
// of the summary so far, what the model answers when it is asked once more. Two
// answers of a few words are what it has to say, unless one of them is none.
func (s *summarising) fuller(ctx context.Context, req Request, w written, msgs []sessions.Message) (written, error) {
	old := s.now.text
	first := s.thin(w.text, old, msgs)
	if first.wrong == "" {
		return w, nil
	}
	req, err := s.requestOf(req.Messages[0].Content + "\n\nAn answer to this was refused, because it " + first.wrong +
		". Write the whole summary, with everything that stands above and is needed to go on. Write names and numbers as they stand there.")
	if err != nil {
		return written{}, err
	}
	if w, err = s.ask(ctx, req); err != nil {
		return written{}, err
	}
	d := s.thin(w.text, old, msgs)
	d.sure = d.sure || first.sure && !d.lacks
	return believed(w, old, d)
}

// believed is w, of which d is known, and for which the model is not asked again.
func believed(w written, old string, d doubt) (written, error) {
	if d.wrong == "" {
		return w, nil
	}
	if d.sure {
		return written{}, fmt.Errorf("%w: it %s", ErrBadSummary, d.wrong)
	}
	return besides(w, old, d), nil
}

// mended returns w, or, if something is wrong with its form, what the model
// makes of it when it is told so, once. What is too long is never cut: it
// would be cut where the newest facts stand. It stands for msgs too, which what
// comes of it may not forget.
func (s *summarising) mended(ctx context.Context, w written, msgs []sessions.Message) (written, error) {
	wrong, remedy := s.flaw(w)
	if wrong == "" {
		return w, nil
	}
	w, err := s.rewritten(ctx, w, wrong, remedy)
	if err != nil {
		return written{}, err
	}
	return s.final(w, s.now.text, msgs)
}

// final is w, the last answer of the model about msgs and the summary before,
// old, if that is a summary as it is.
func (s *summarising) final(w written, old string, msgs []sessions.Message) (written, error) {
	w, err := believed(w, old, s.thin(w.text, old, msgs))
	if err != nil {
		return written{}, err
	}
	if wrong, _ := s.flaw(w); wrong != "" {
		return written{}, fmt.Errorf("%w: it %s", ErrBadSummary, wrong)
	}
	return w, nil
}

// rewritten is what the model makes of w when it is told what is wrong with it.
func (s *summarising) rewritten(ctx context.Context, w written, wrong, remedy string) (written, error) {
	req, err := s.requestOf(window.PreviousSummary(w.text) + "\n\n<transcript>\n</transcript>\n\nNo messages follow. This summary " +
		wrong + ". " + remedy)
	if err != nil {
		return written{}, err
	}
	return s.ask(ctx, req)
}

// shortSummary is how many tokens a summary may have whatever it stands for:
// presets that go by the number of messages summarise short ones too, and
// headings alone take a hundred.
const shortSummary = 512

// shorter has the whole summary written again, once, if it takes more tokens
// than old, the one before it, and the messages that it stands for. Where their
// number is bounded it may: there it is wanted for the sake of that number.
func (s *summarising) shorter(ctx context.Context, old *sessions.Summary) error {
	covered := s.all[:s.cut]
	before, oldText := s.a.messageTokens(covered), ""
	if old != nil {
		oldText = old.Text
		before += s.a.textTokens(oldText)
	}
	longer := func(w written) bool { return s.a.textTokens(w.text) > max(before, shortSummary) }
	if s.a.opts.Compaction.MaxMessages > 0 || !longer(s.now) {
		return nil
	}
	w, err := s.rewritten(ctx, s.now, "is longer than what it stands for", shorten)
	if err != nil {
		return err
	}
	if w, err = s.final(w, oldText, covered); err != nil {
		return err
	}
	if longer(w) {
		return fmt.Errorf("%w: %d tokens for %d", ErrLongSummary, s.a.textTokens(w.text), before)
	}
	s.now = w
	return nil
}

// request builds the request for the next part and returns the messages that it
// takes, as they are to stand in it: one at least, because each is cut down to
// a share of the room.
func (s *summarising) request() (Request, []string, error) {
	a := s.a
	fixed := a.textTokens(a.instructions()) + a.textTokens(a.template.Fill(s.now.text, ""))
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
	req, err := s.requestOf(a.template.Fill(s.now.text, strings.Join(entries, "")))
	if err == nil && !strings.Contains(req.Messages[0].Content, window.PreviousSummary(s.now.text)) {
		return Request{}, nil, fmt.Errorf("%w: the summary so far is not among what is summarised", ErrUnseen)
	}
	return req, entries, err
}

// requestOf is a request of the summariser's. It passes the validator that
// stands in front of every other request too.
func (s *summarising) requestOf(text string) (Request, error) {
	a, c := s.a, s.a.opts.Compaction
	msgs := a.repair([]sessions.Message{{Role: sessions.RoleUser, Content: text}})
	if err := window.Validate(msgs); err != nil {
		return Request{}, fmt.Errorf("agent: summarise: %w", err)
	}
	req := Request{System: a.instructions(), Messages: msgs, MaxTokens: s.most, Temperature: a.opts.Temperature}
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

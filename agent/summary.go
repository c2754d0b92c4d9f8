package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Errors of Summarize. With every one of them the history stays as it is.
var (
	// ErrNothingToSummarize: the messages that are to stay are all there are.
	ErrNothingToSummarize = errors.New("agent: nothing to summarise")
	// ErrPartialHistory: older messages were left out of the history, so that
	// a summary of the rest would make them vanish. Load it without a limit.
	ErrPartialHistory = errors.New("agent: the history is not whole")
	// ErrUnseen: the summary would stand for messages that the model was never
	// shown, which is a bug. They would be gone from the conversation.
	ErrUnseen = errors.New("agent: the summary covers messages that were not summarised")
	// ErrSummaryRests: one failed a short while ago, and the next is not tried
	// yet. Summarize does not return it; who makes summaries for turns may.
	ErrSummaryRests = errors.New("agent: a summary failed before, the next one waits")
	// ErrBadSummary: the model answered something that is no summary.
	ErrBadSummary = errors.New("agent: the model wrote no usable summary")
)

const (
	// entryShare is the part of one request's room that one message may have.
	entryShare = 4
	// minRoom is the least room for messages that makes a request useful.
	minRoom = 256
	// maxParts is about how many requests one summary may take. A history that
	// needs more is summarised piece by piece, oldest first.
	maxParts = 32
	// maxShrinks is how often in one summary the room for messages is halved
	// because the server found a request too long.
	maxShrinks = 2
)

// Summarize writes the summary that is to follow h's: one text that stands for
// the old one and for all messages except those that keep says, or
// Compaction.Keep if that is nil. It changes nothing; the caller stores what it
// returns. Input that does not fit
// into the window is taken in parts, each with the summary so far.
func (a *Agent) Summarize(ctx context.Context, h sessions.History, keep *Keep) (sessions.Summary, error) {
	if h.Omitted > 0 {
		return sessions.Summary{}, ErrPartialHistory
	}
	cut := 0
	if a.opts.Compaction.When != window.WhenOff {
		cut = a.inReach(h.Messages, window.CutAt(h.Messages, a.keepOr(keep, h)))
	}
	if cut == 0 {
		return sessions.Summary{}, ErrNothingToSummarize
	}
	old := window.Repair(h.Messages[:cut])
	if len(old) == 0 {
		return sessions.Summary{}, ErrNothingToSummarize
	}
	s := summarising{a: a, left: old, most: a.summaryTokens(h), window: a.summarizerWindow()}
	defer s.noteLength()
	if h.Summary != nil {
		s.now.text = h.Summary.Text
	}
	for len(s.left) > 0 {
		if err := s.part(ctx); err != nil {
			return sessions.Summary{}, err
		}
	}
	done := sessions.Summary{
		Text: s.now.text, Fields: s.now.fields, CoversSeq: h.Messages[cut-1].Seq, Generation: h.Generation,
		Model: a.opts.Summarizer.Name(), At: a.now(),
	}
	if n := unseen(h.Messages, done.CoversSeq, s.shown); n > 0 {
		return sessions.Summary{}, fmt.Errorf("%w: %d of those up to %d", ErrUnseen, n, done.CoversSeq)
	}
	return done, nil
}

// unseen counts the messages up to covers that are not among those shown.
func unseen(msgs []sessions.Message, covers int64, shown []sessions.Message) int {
	n := len(msgs)
	for i := range msgs {
		if msgs[i].Seq > covers {
			n = i
			break
		}
	}
	return window.Missing(msgs[:n], shown)
}

// summaryTokens is how long the summary of h may be: it must leave room in the
// window of the model that answers there.
func (a *Agent) summaryTokens(h sessions.History) int {
	return min(a.opts.Compaction.MaxTokens, a.windowOf(a.nameFor(h.Settings))/4)
}

// inReach moves cut back to what about maxParts requests can take.
func (a *Agent) inReach(msgs []sessions.Message, cut int) int {
	room := max(a.room(a.opts.Summarizer.Name(), a.summarizerWindow()/2), minRoom)
	left := maxParts * room
	for i := range msgs[:cut] {
		left -= min(a.messageTokens(msgs[i:i+1]), room/entryShare)
		if left < 0 {
			if back := window.Cut(msgs, len(msgs)-i); back > 0 {
				return back
			}
			return cut // one tool group is larger than that
		}
	}
	return cut
}

// summarising is one Summarize under way.
type summarising struct {
	a    *Agent
	now  written // the summary so far
	left []sessions.Message
	// shown are the messages that the model has read, in whole or in excerpts.
	shown []sessions.Message
	most  int // tokens of the summary
	// window is how many tokens the summariser took when this began, and
	// refusedLength and passedLength what its server said since: the shortest
	// request that it refused, the longest that passed.
	window                      int
	refusedLength, passedLength int
	// shrunk counts how often the server found a request too long; each time
	// halves the room for good.
	shrunk int
}

// part takes as many messages as fit into one request. A request that the
// server finds too long is made again with half as much, twice at most, and
// not at all if that makes no difference.
func (s *summarising) part(ctx context.Context) error {
	refused, cause := "", error(nil)
	for {
		req, entries, err := s.request()
		if err != nil {
			return err
		}
		if req.Messages[0].Content == refused {
			return cause
		}
		w, err := s.ask(ctx, req)
		if tooLong(err) && s.shrunk < maxShrinks {
			refused, cause = req.Messages[0].Content, err
			s.shrunk++
			continue
		}
		if err != nil {
			return err
		}
		if w, err = s.mended(ctx, w); err != nil {
			return err
		}
		read := window.Read(req.Messages[0].Content, entries)
		s.now = w
		s.shown = append(s.shown, s.left[:read]...)
		s.left = s.left[len(entries):]
		return nil
	}
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
	size := s.a.messageTokens(req.Messages) + s.a.textTokens(req.System)
	switch {
	case err == nil:
		s.passedLength = max(s.passedLength, size)
	case tooLong(err) && (s.refusedLength == 0 || size < s.refusedLength):
		s.refusedLength = size
	}
}

// noteLength teaches the requests to come. Here it would halve the room twice.
func (s *summarising) noteLength() {
	s.a.noteLength(s.a.summarizing(), s.a.opts.SummarizerWindow, s.refusedLength, s.passedLength)
}

// mended returns w, or, if something is wrong with its form, what the model
// makes of it when it is told so, once. What is too long is never cut: it
// would be cut where the newest facts stand.
func (s *summarising) mended(ctx context.Context, w written) (written, error) {
	wrong, remedy := s.flaw(w)
	if wrong == "" {
		return w, nil
	}
	req, err := s.requestOf(window.PreviousSummary(w.text) + "\n\n<transcript>\n</transcript>\n\nNo messages follow. This summary " +
		wrong + ". " + remedy)
	if err != nil {
		return written{}, err
	}
	if w, err = s.ask(ctx, req); err != nil {
		return written{}, err
	}
	if wrong, _ := s.flaw(w); wrong != "" {
		return written{}, fmt.Errorf("%w: it %s", ErrBadSummary, wrong)
	}
	return w, nil
}

// request builds the request for the next part and returns the messages that it
// takes, as they are to stand in it: one at least, because each is cut down to
// a share of the room.
func (s *summarising) request() (Request, []string, error) {
	a := s.a
	fixed := a.textTokens(a.instructions()) + a.textTokens(a.template.Fill(s.now.text, ""))
	// The reserve of a tenth is for what the count gets wrong.
	limit := a.room(a.opts.Summarizer.Name(), s.window*9/10-s.most)
	room := (limit - fixed) >> s.shrunk
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

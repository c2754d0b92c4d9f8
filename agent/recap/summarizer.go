package recap

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Summarizer decides when summaries are due and what they cover, and has them
// written. It is safe for concurrent use.
type Summarizer struct {
	meter Meter
	model Model
	opts  Options
	now   atomic.Pointer[settings]
}

// settings never change; other ones take their place.
type settings struct {
	window.Compaction
	task *Task // how summaries are asked for
}

// Options tune a Summarizer. Count and Now must be set.
type Options struct {
	// Count counts the tokens of a text.
	Count func(text string) int
	// AnswerTokens bounds an answer in conversations; 0: the server does.
	AnswerTokens int
	// SummaryTokens bounds every summary.
	SummaryTokens int
	Now           func() time.Time
}

// Meter measures requests to the model that answers in a conversation.
type Meter interface {
	// Window is how many tokens the model takes, as far as is known.
	Window(s sessions.Settings) int
	// Factor is by what its server counts more tokens than we do.
	Factor(s sessions.Settings) float64
	// Shown is h's messages as requests show them, in room enough: repaired,
	// stamped, and with long results of tools shortened.
	Shown(h sessions.History) []sessions.Message
	// Frame is what precedes the messages, and the tokens of the tools.
	Frame(h *sessions.History, summary *sessions.Summary) (frame window.Frame, tools int)
}

// Model writes summaries.
type Model interface {
	Name() string
	// Window and Factor are as in [Meter].
	Window() int
	Factor() float64
	// Ask makes one request, and tries again while that may help. The error wraps
	// [ErrTooLong] if the server says that the request is.
	Ask(ctx context.Context, r Request) (Answer, error)
	// Learn is told how many tokens the shortest request had that was refused as too
	// long (0: none was), and the one that was taken after it.
	Learn(refused, passed int)
}

// Request asks for a summary.
type Request struct {
	System, Text string
	MaxTokens    int
	Temperature  *float64 // nil: as for answers
	Format       json.RawMessage
}

// NewSummarizer returns a Summarizer that works as c says, whose numbers the
// configuration has checked. It starts nothing.
func NewSummarizer(meter Meter, model Model, opts Options, c window.Compaction) (*Summarizer, error) {
	s := &Summarizer{meter: meter, model: model, opts: opts}
	return s, s.SetCompaction(c)
}

// Compaction says when and how old messages are summarised now.
func (s *Summarizer) Compaction() window.Compaction { return s.now.Load().Compaction }

// SetCompaction replaces that. A summary that is being written is finished as it
// was begun; a running turn goes on by the new one at its next request. On an
// error nothing changes.
func (s *Summarizer) SetCompaction(c window.Compaction) error {
	c.MaxTokens = min(cmp.Or(c.MaxTokens, s.opts.SummaryTokens), s.opts.SummaryTokens)
	task, err := NewTask(c)
	if err != nil {
		return fmt.Errorf("recap: option Compaction: %w", err)
	}
	s.now.Store(&settings{c, task})
	return nil
}

// tokens counts msgs.
func (s *Summarizer) tokens(msgs []sessions.Message) int { return window.Count(msgs, s.opts.Count) }

// bound is never less than the tokens of msgs in a request.
func bound(msgs []sessions.Message) int { return window.UpperBound(msgs) + len(msgs)*window.StampBytes }

// room is how many of the tokens that we count fit into tokens of the model that
// answers under these settings.
func (s *Summarizer) room(set sessions.Settings, tokens int) int {
	return int(float64(tokens) / s.meter.Factor(set))
}

// Tokens is what the messages of h and its summary take of a request, as they
// are counted here.
func (s *Summarizer) Tokens(h sessions.History) int {
	n := s.tokens(h.Messages)
	if h.Summary != nil {
		n += s.opts.Count(h.Summary.Text)
	}
	return n
}

// Fill is how many tokens a request with h takes of its model, the system
// prompt and the tools included, and how many the model takes: both as its
// server counts.
func (s *Summarizer) Fill(h sessions.History) (tokens, limit int) {
	frame, tools := s.meter.Frame(&h, h.Summary)
	n := s.tokens(s.meter.Shown(h)) + frame.Tokens(s.opts.Count) + tools
	return int(float64(n) * s.meter.Factor(h.Settings)), s.meter.Window(h.Settings)
}

// fills reports whether a request with h takes so many tokens of its model.
func (s *Summarizer) fills(h sessions.History, tokens int) bool {
	limit := s.room(h.Settings, tokens)
	frame, tools := s.meter.Frame(&h, h.Summary)
	if bound(h.Messages)+frame.Tokens(func(text string) int { return len(text) })+tools < limit {
		return false
	}
	return s.tokens(s.meter.Shown(h))+frame.Tokens(s.opts.Count)+tools >= limit
}

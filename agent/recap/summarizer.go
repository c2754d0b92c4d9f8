package recap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	// thinks says that the model's thoughts once used up the tokens of a summary.
	thinks atomic.Bool
}

// settings are immutable; a change replaces them.
type settings struct {
	window.Compaction
	task *Task // how to ask for summaries
}

// Options configure a Summarizer. Count and Now must be set.
type Options struct {
	// Count counts the tokens of a text.
	Count func(text string) int
	// AnswerTokens limits an answer in conversations; 0: the server decides.
	AnswerTokens int
	// SummaryTokens limits every summary.
	SummaryTokens int
	Now           func() time.Time
}

// Meter measures requests to the model that answers in a conversation.
type Meter interface {
	// Window returns the model's context length in tokens, as far as known.
	Window(s sessions.Settings) int
	// Factor returns how many tokens its server counts for each one that we count.
	Factor(s sessions.Settings) float64
	// Shown returns h's messages as requests with enough room show them: repaired,
	// stamped, and with long tool results pruned.
	Shown(h sessions.History) []sessions.Message
	// Frame returns what comes before the messages, and the tokens of the tools.
	Frame(h *sessions.History, summary *sessions.Summary) (frame window.Frame, tools int)
}

// Model writes summaries.
type Model interface {
	Name() string
	// Window and Factor are as in [Meter].
	Window() int
	Factor() float64
	// Ask makes one request, with retries. The error wraps [ErrTooLong] if the server
	// found the request too long.
	Ask(ctx context.Context, r Request) (Answer, error)
	// Learn is called with the size in tokens of the smallest request that was
	// refused as too long (0: none was), and of the one that was accepted after it.
	Learn(refused, passed int)
}

// Request asks for a summary.
type Request struct {
	System, Text string
	// MaxTokens limits the answer, thoughts included.
	MaxTokens int
	// Effort is how much the model should reason; "" leaves it to the server.
	Effort      string
	Temperature *float64 // nil: the same as for answers
	Format      json.RawMessage
}

// NewSummarizer returns a Summarizer with the settings c, whose numbers the
// configuration has validated. It starts nothing.
func NewSummarizer(meter Meter, model Model, opts Options, c window.Compaction) (*Summarizer, error) {
	s := &Summarizer{meter: meter, model: model, opts: opts}
	return s, s.SetCompaction(c)
}

// Compaction returns the current settings.
func (s *Summarizer) Compaction() window.Compaction { return s.now.Load().Compaction }

// SetCompaction replaces them. A running summary keeps the old settings; a running
// turn uses the new ones from its next request on. On an error nothing changes.
func (s *Summarizer) SetCompaction(c window.Compaction) error {
	c.MaxTokens = min(cmp.Or(c.MaxTokens, s.opts.SummaryTokens), s.opts.SummaryTokens)
	task, err := NewTask(c)
	if err != nil {
		return fmt.Errorf("recap: option Compaction: %w", err)
	}
	s.now.Store(&settings{c, task})
	return nil
}

func (s *Summarizer) tokens(msgs []sessions.Message) int { return window.Count(msgs, s.opts.Count) }

// bound is never less than the tokens of msgs in a request.
func bound(msgs []sessions.Message) int { return window.UpperBound(msgs) + len(msgs)*window.StampBytes }

// room converts a number of tokens of the answering model into ours.
func (s *Summarizer) room(set sessions.Settings, tokens int) int {
	return int(float64(tokens) / s.meter.Factor(set))
}

// Tokens returns how many tokens the messages of h and its summary take, as we count
// them.
func (s *Summarizer) Tokens(h sessions.History) int {
	n := s.tokens(h.Messages)
	if h.Summary != nil {
		n += s.opts.Count(h.Summary.Text)
	}
	return n
}

// Fill returns how many tokens a request with h takes, including the system prompt
// and the tools, and the model's context length, both as its server counts.
func (s *Summarizer) Fill(h sessions.History) (tokens, limit int) {
	frame, tools := s.meter.Frame(&h, h.Summary)
	n := s.tokens(s.meter.Shown(h)) + frame.Tokens(s.opts.Count) + tools
	return int(float64(n) * s.meter.Factor(h.Settings)), s.meter.Window(h.Settings)
}

// fills reports whether a request with h takes at least tokens of its model.
func (s *Summarizer) fills(h sessions.History, tokens int) bool {
	limit := s.room(h.Settings, tokens)
	frame, tools := s.meter.Frame(&h, h.Summary)
	if bound(h.Messages)+frame.Tokens(func(text string) int { return len(text) })+tools < limit {
		return false
	}
	return s.tokens(s.meter.Shown(h))+frame.Tokens(s.opts.Count)+tools >= limit
}

// Errors of a summary. In each case the history is unchanged.
var (
	// ErrNothingToSummarize: all messages are to be kept.
	ErrNothingToSummarize = errors.New("recap: nothing to summarise")
	// ErrPartialHistory: older messages were not loaded, so a summary of the rest
	// would lose them. Load the history without a limit.
	ErrPartialHistory = errors.New("recap: the history is incomplete")
	// ErrUnseen: the summary would cover messages that the model was never shown,
	// which would then be lost. This is a bug.
	ErrUnseen = errors.New("recap: the summary covers messages that were not summarised")
	// ErrPaused: a summary failed a short while ago, and the next is not tried yet.
	ErrPaused = errors.New("recap: summaries are paused after one that failed")
	// ErrBadSummary: the model's answer was rejected as a summary.
	ErrBadSummary = errors.New("recap: the model wrote no usable summary")
	// ErrLongSummary: the summary is longer than what it would replace, so it would
	// cost tokens and free none.
	ErrLongSummary = errors.New("recap: the conversation is shorter than the summary of it")
	// ErrTooLong: the model's server found the request too long. Returned by [Model].
	ErrTooLong = errors.New("recap: the request is too long for the model")
)

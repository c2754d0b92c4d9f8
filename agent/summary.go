package agent

import (
	"context"
	"errors"
	"fmt"

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
	// ErrLongSummary: it is longer than what it would stand for, so that it would
	// cost tokens and free none.
	ErrLongSummary = errors.New("agent: the conversation is shorter than the summary of it")
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
)

// Summarize writes the summary that is to follow h's: one text that stands for
// the old one and for all messages except those that keep says, or
// Compaction.Keep if that is nil. It changes nothing; the caller stores what it
// returns. Input that does not fit into the window is taken in parts, each with
// the summary so far.
func (a *Agent) Summarize(ctx context.Context, h sessions.History, keep *Keep) (sessions.Summary, error) {
	if h.Omitted > 0 {
		return sessions.Summary{}, ErrPartialHistory
	}
	c := a.compacting.Load()
	if c.When == window.WhenOff {
		return sessions.Summary{}, ErrNothingToSummarize
	}
	s := summarising{a: a, c: c, all: h.Messages, cut: window.CutAt(h.Messages, a.keepOr(keep, h))}
	s.limit(a.summarizerWindow(), a.summaryTokens(h))
	if len(s.left) == 0 {
		return sessions.Summary{}, ErrNothingToSummarize
	}
	if h.Summary != nil {
		s.now.Text = h.Summary.Text
	}
	if c.MaxMessages == 0 {
		// Else a summary is wanted for the sake of the number of messages.
		s.replaced = a.messageTokens(h.Messages[:s.cut]) + a.textTokens(s.now.Text)
	}
	for len(s.left) > 0 {
		err := s.part(ctx)
		a.noteLength(a.summarizing(), a.opts.SummarizerWindow, s.refused, s.passed)
		if err != nil {
			return sessions.Summary{}, err
		}
	}
	done := sessions.Summary{
		Text: s.now.Text, Fields: s.now.Fields, CoversSeq: h.Messages[s.cut-1].Seq, Generation: h.Generation,
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
	return a.summaryTokensIn(a.windowOf(a.nameFor(h.Settings)))
}

// summaryTokensIn is the same in a window of so many tokens.
func (a *Agent) summaryTokensIn(size int) int { return min(a.compacting.Load().MaxTokens, size/4) }

// inReach moves cut back to what about maxParts requests to a model that takes
// so many tokens can hold.
func (a *Agent) inReach(msgs []sessions.Message, cut, tokens int) int {
	room := max(a.room(a.opts.Summarizer.Name(), tokens/2), minRoom)
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

package recap

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// What people read about summaries.
const (
	sayChoice = "This conversation is getting long. /compact summarises its older part for me, /new begins a new one. " +
		"If you do nothing, I summarise it when it no longer fits into my memory. Nothing is deleted either way."

	sayOff      = "I make no summaries here: whoever runs me has turned them off. /new begins a new conversation."
	sayNothing  = "There is nothing to summarise yet."
	sayBusy     = "I am summarising this conversation already."
	sayPaused   = "The last summary failed a short while ago; nothing is lost. Please try again in %d seconds."
	saySummary  = "I am summarising the older part of this conversation. All that was said is kept."
	sayFailed   = "I could not summarise this conversation. Nothing is lost, and it goes on as before; you can ask for it again with /compact."
	sayLonger   = "A summary would be longer than this conversation, so I made none. Nothing has changed."
	sayNoneLeft = "There is nothing left to summarise here. Nothing is lost, and this conversation goes on as before."
	// sayChanged: the messages under the summary were reset or erased.
	sayChanged = "This conversation changed while I summarised it, so I dropped that summary. You can ask for it again with /compact."
	sayStopped = "The answer that needed this summary was stopped, and so was the summary. " +
		"Nothing is lost, and it goes on as before; you can ask for it again with /compact."
	sayCut = "I was restarted before this conversation was summarised. Nothing is lost, and it goes on as before; you can ask for it again with /compact."
)

// Choice returns the text to add to a turn's answer if the person should choose what
// to do about a long conversation, or "". before and after are the conversation
// around the turn. Only the turn that reaches a trigger says it, in the same commit
// as its answer, so a crash neither repeats nor loses it, and later turns are silent.
func (s *Summaries) Choice(before, after sessions.History) string {
	asks := func(h sessions.History) bool { return s.writer.Level(s.opts.TrimForTurn(h)) == Choice }
	if s.writer.Compaction().When != window.WhenAsk || !asks(after) || asks(before) {
		return ""
	}
	return sayChoice
}

// Ask starts a summary because the command m asks for it, and returns the answer to
// m. The summary is made in the background after answered is closed, because the
// network waits for the command's answer.
func (s *Summaries) Ask(ctx context.Context, m channels.Inbound, answered <-chan struct{}) (string, error) {
	if s.Off() {
		return sayOff, nil
	}
	h, err := s.opts.LoadForTurn(ctx, m.Key)
	switch {
	case err != nil:
		return "", fmt.Errorf("recap: compact %s: %w", m.Key, err)
	case s.writer.Level(h) == Nothing:
		return sayNothing, nil
	}
	switch busy, paused := s.startInBackground(m.Key, onlyIfAsked, &m, answered); {
	case busy:
		return sayBusy, nil
	case paused > 0:
		return fmt.Sprintf(sayPaused, int(math.Ceil(paused.Seconds()))), nil
	}
	return saySummary, nil
}

// tellFailure tells the person behind a command, once, that its summary failed, and
// why. If ctx, the summary's context, has ended, it was interrupted: by the end of the
// process, or because the turn that waited for it was stopped.
func (s *Summaries) tellFailure(ctx context.Context, asker channels.Inbound, cause error) {
	text := sayFailed
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		text = sayCut
	case ctx.Err() != nil:
		text = sayStopped
	case errors.Is(cause, ErrLongSummary):
		text = sayLonger
	case errors.Is(cause, ErrNothingToSummarize):
		text = sayNoneLeft
	case errors.Is(cause, sessions.ErrConflict):
		text = sayChanged
	}
	s.opts.Tell(ctx, asker, text)
}

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
	sayRests    = "The last summary failed a short while ago; nothing is lost. Please try again in %d seconds."
	saySummary  = "I am summarising the older part of this conversation. All that was said is kept."
	sayFailed   = "I could not summarise this conversation. Nothing is lost, and it goes on as before; you can ask for it again with /compact."
	sayLonger   = "A summary would be longer than this conversation, so I made none. Nothing has changed."
	sayNoneLeft = "There is nothing left to summarise here. Nothing is lost, and this conversation goes on as before."
	// sayChanged: something was said to be over or erased that the summary stood for.
	sayChanged = "This conversation changed while I summarised it, so I dropped that summary. You can ask for it again with /compact."
	sayStopped = "The answer that needed this summary was stopped, and so was the summary. " +
		"Nothing is lost, and it goes on as before; you can ask for it again with /compact."
	sayCut = "I was restarted before this conversation was summarised. Nothing is lost, and it goes on as before; you can ask for it again with /compact."
)

// Choice is what to say beside the answer of a turn, which found the conversation
// as before and leaves it as after: "" or that the person is to choose. It is said
// by the turn that reaches a trigger, in the commit of its answer: so a crash
// neither repeats nor loses it, and the turns after it, in front of which the
// trigger was reached already, are silent.
func (s *Summaries) Choice(before, after sessions.History) string {
	asks := func(h sessions.History) bool { return s.writer.Level(s.transcript.AsLoaded(h)) == Choice }
	if s.writer.Compaction().When != window.WhenAsk || !asks(after) || asks(before) {
		return ""
	}
	return sayChoice
}

// Ask begins a summary because m, a command, asks for it, and returns what to
// answer. The summary is made in the background, once answered is closed: the
// network waits for the command.
func (s *Summaries) Ask(ctx context.Context, m channels.Inbound, answered <-chan struct{}) (string, error) {
	if s.Off() {
		return sayOff, nil
	}
	h, err := s.transcript.Loaded(ctx, m.Key)
	switch {
	case err != nil:
		return "", fmt.Errorf("recap: compact %s: %w", m.Key, err)
	case s.writer.Level(h) == Nothing:
		return sayNothing, nil
	}
	switch busy, rests := s.later(m.Key, onlyAsked, &m, answered); {
	case busy:
		return sayBusy, nil
	case rests > 0:
		return fmt.Sprintf(sayRests, int(math.Ceil(rests.Seconds()))), nil
	}
	return saySummary, nil
}

// tell answers a command whose summary came to nothing later on, by cause: once,
// whatever is tried again. The summary's context is ctx; if that has ended, it was
// cut off: by the end of the process, or with the turn that it was made for, which
// ends alone where a person stops or interrupts it.
func (s *Summaries) tell(ctx context.Context, asker channels.Inbound, cause error) {
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

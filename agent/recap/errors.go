package recap

import "errors"

// Errors of a summary. With every one of them the history stays as it is.
var (
	// ErrNothingToSummarize: the messages that are to stay are all there are.
	ErrNothingToSummarize = errors.New("recap: nothing to summarise")
	// ErrPartialHistory: older messages were left out of the history, so that
	// a summary of the rest would make them vanish. Load it without a limit.
	ErrPartialHistory = errors.New("recap: the history is not whole")
	// ErrUnseen: the summary would stand for messages that the model was never
	// shown, which is a bug. They would be gone from the conversation.
	ErrUnseen = errors.New("recap: the summary covers messages that were not summarised")
	// ErrRests: one failed a short while ago, and the next is not tried yet.
	ErrRests = errors.New("recap: a summary failed before, the next one waits")
	// ErrBadSummary: the model answered something that is no summary.
	ErrBadSummary = errors.New("recap: the model wrote no usable summary")
	// ErrLongSummary: it is longer than what it would stand for, so that it would
	// cost tokens and free none.
	ErrLongSummary = errors.New("recap: the conversation is shorter than the summary of it")
	// ErrTooLong is what [Model] says of a request that its server finds too long.
	ErrTooLong = errors.New("recap: the request is too long for the model")
)

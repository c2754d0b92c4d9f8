package recap

import "errors"

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

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// fitting is what a turn knows of its model's window: what its requests leave out, and
// what was done to make them fit.
type fitting struct {
	// fixed is how many tokens every request takes besides its messages. known is how many
	// Turn.Known takes, which is one of the messages, and notice how many the one about
	// messages that are left out takes at most.
	fixed, known, notice int
	// maxTokens, if not 0, limits the tokens of a request's messages, because the
	// server refused more.
	maxTokens int
	// forcePrune: the server found a request too long, so results of tools become
	// notices.
	forcePrune bool
	// compactTried: a summary was asked for. compacted: the history was summarised for
	// this turn. compactedAll: so was all of it.
	compactTried, compacted, compactedAll bool
	// limitStuck: no summary can lower the number of messages further.
	limitStuck bool
	// leftOut is how many messages the last request left out because they did not
	// fit. cutReason says why there is no summary of them. cutLogged says that the
	// log has it.
	leftOut   int
	cutReason string
	cutLogged bool
	// lacks are Result.Unaccounted and Result.SilentlyDropped.
	lacks lack
	// summaryFailed is Result.SummaryFailed.
	summaryFailed bool
}

// request builds the next request, and notes its taint. The order matters: repair comes first, and pruning
// and fitting keep the shape that it produced, which complete validates. lacks counts
// only if the request is sent: shrink builds some to compare their size.
func (r *run) request(final bool) (req *Request, lacks lack) {
	req = &Request{
		System: r.frame.System, Tools: r.offer.specs,
		Until: r.t.Until, MaxTokens: r.a.opts.MaxTokens, Temperature: r.a.opts.Temperature, Effort: cmp.Or(r.t.History.Settings.Reasoning, r.a.opts.Effort),
		// Keyed with a secret seed, so the provider cannot recognise the
		// conversation. It stays the same while this process runs.
		Key: fmt.Sprintf("%016x", maphash.String(r.a.seed, r.t.Key.String())),
	}
	if req.Effort == "auto" {
		req.Effort = ""
	}
	if final {
		req.Tools = nil
	}
	r.t.Given.ask(req)
	whole, users, failed := r.view(final)
	view, listed := window.Fit(r.newestMessages(whole, users), users, r.budget(), r.a.opts.Count)
	// Nothing should be missing before the fitting.
	silent := window.Missing(r.all, whole) - failed
	left := countMissing(r.all, view, listed) - failed - silent + r.t.History.Omitted
	r.fit.leftOut = left - r.t.History.Omitted
	r.taint = r.taintOf(view)
	req.Messages = window.Alternate(r.withLead(r.withKnown(view, users), left), r.model.Name())
	silent += window.Uncovered(r.t.History)
	return req, lack{all: silent + left, silent: silent}
}

// withKnown puts what was remembered about the person in front of the newest user messages of
// view, of which there are users.
func (r *run) withKnown(view []sessions.Message, users int) []sessions.Message {
	if r.t.Known == "" || users == 0 {
		return view
	}
	at := len(view)
	for at > 0 && users > 0 {
		at--
		if view[at].Role == sessions.RoleUser {
			users--
		}
	}
	return slices.Insert(slices.Clip(view), at, sessions.Message{Role: sessions.RoleUser, Content: r.t.Known, Synthetic: true})
}

// countMissing counts the messages of all that view neither shows nor lists in short.
func countMissing(all, view, listed []sessions.Message) int {
	if len(listed) > 0 {
		view = slices.Concat(view, listed)
	}
	return window.Missing(all, view)
}

// lack counts messages of the conversation that a request neither shows nor has a
// summary of. silent counts those of them that it does not mention.
type lack struct{ all, silent int }

// withLead puts in front of view what replaces the messages that are not in it: the
// summary, if it is rendered as messages, and a notice about those that are left out.
func (r *run) withLead(view []sessions.Message, left int) []sessions.Message {
	lead := r.frame.Lead
	if left > 0 {
		lead = append(slices.Clip(lead), r.omission(left))
	}
	if len(lead) == 0 {
		return view
	}
	return slices.Concat(lead, view)
}

// omission is the notice that so many messages are left out.
func (r *run) omission(left int) sessions.Message {
	hint := ""
	if name := r.offer.finder(); name != "" {
		hint = " The tool " + name + " finds them."
	}
	return window.OmissionNotice(left, hint)
}

// mostOmitted is more messages than any request leaves out.
const mostOmitted = 9_999_999

// view returns the conversation, repaired and pruned, how many of its newest user
// messages the turn answers, and how many messages of failed calls it leaves out on
// purpose.
func (r *run) view(final bool) (msgs []sessions.Message, users, failed int) {
	view := r.a.visible(r.model.Name(), r.all, r.takeRoom())
	var forced window.Forced
	if r.fit.forcePrune {
		forced.Turn = r.t.ID
		if n := len(r.t.History.Messages); n > 0 {
			forced.Seq = r.t.History.Messages[n-1].Seq
		}
	}
	// Pruning uses the nominal window: it must not depend on what was learned since
	// the process started.
	view = r.a.opts.Prune.Apply(view, window.PruneTarget{
		Window: r.a.nominalWindow(r.model.Name()), Fixed: r.fit.fixed,
		Count: r.a.opts.Count, Forced: forced,
	})
	if r.a.opts.Prune.FailedCalls {
		// After pruning, whose steps depend on all messages. Otherwise results that
		// were pruned because of a failed call would come back whole.
		view, failed = window.WithoutFailed(view, r.t.ID)
	}
	for _, m := range r.all[r.inputAt:] {
		if m.Role == sessions.RoleUser {
			users++
		}
	}
	if final && r.steps > 0 {
		// Only in this request; it is not part of the conversation.
		view = append(slices.Clip(view), sessions.Message{Role: sessions.RoleUser, Content: noteLastStep, Synthetic: true})
		users++
	}
	return view, users, failed
}

// budget returns how many tokens of messages, as we count them, the next request may
// have. It is never 0: in doubt the server decides.
func (r *run) budget() int { return r.budgetIn(r.a.usableWindow(r.model.Name())) }

func (r *run) budgetIn(size int) int {
	n := r.a.room(r.model.Name(), size-window.Reserve(size, r.a.opts.MaxTokens)) - r.fit.fixed - r.fit.known - r.fit.notice
	n = max(n, size/8)
	if r.fit.maxTokens > 0 {
		n = min(n, r.fit.maxTokens)
	}
	return n
}

func (r *run) fits(view []sessions.Message) bool {
	budget := r.budget()
	return window.UpperBound(view) <= budget || r.a.messageTokens(view) <= budget
}

// surelyFits reports whether the next request fits even if each byte were a token.
// Pruning only makes it shorter, so most turns need not count tokens.
func (r *run) surelyFits() bool {
	bare := window.Repair(r.a.withoutForeign(r.model.Name(), r.all))
	return window.UpperBound(bare)+(len(bare)+1)*window.StampBytes+len(noteLastStep) <= r.budget()
}

// maxSqueezes is how often a request that the server found too long is retried with
// fewer messages.
const maxSqueezes = 2

// leastSqueeze: a retry has to be shorter by one part in so many of the whole request.
// Otherwise instructions and tools are what is too long, and the model would be asked
// about a question of which nothing is left.
const leastSqueeze = 20

// attempts records what was tried after the server found a request too long.
type attempts struct {
	pruned, compacted bool
	squeezes          int
	// refused is the size of the smallest request that the server refused.
	refused int
	// passed is the size of the one that it accepted in the end.
	passed int
	// unexplained is the refusal without a reason after which half was tried.
	unexplained error
}

// shrink makes the next request smaller than req, which was refused, and returns by
// what means, or "" if none is left. Each is tried once: tool results are pruned,
// then the history is summarised, and at last older messages are left out. A means
// that changes nothing is skipped: the same request would only be refused again.
func (r *run) shrink(ctx context.Context, req *Request, tried *attempts, final bool) (means string, err error) {
	size := r.a.messageTokens(req.Messages)
	smaller := func() bool {
		next, _ := r.request(final)
		return r.a.messageTokens(next.Messages) < size
	}
	if !tried.pruned {
		tried.pruned = true
		r.fit.forcePrune = true
		if smaller() {
			return "prune", nil
		}
	}
	if !tried.compacted && !r.fit.compacted {
		tried.compacted = true
		if err := r.compact(ctx, r.keepAfterRefusal(tried.refused)); err != nil {
			return "", err
		}
		if r.fit.compacted && smaller() {
			return "compact", nil
		}
	}
	saved := size - size*safeTenths/10
	if tried.squeezes < maxSqueezes && saved*leastSqueeze >= r.fit.fixed+size {
		tried.squeezes++
		r.fit.maxTokens = max(size*safeTenths/10, 1)
		if smaller() {
			return "squeeze", nil
		}
	}
	return "", nil
}

// Why messages that do not fit are left out with only a notice in their place.
const (
	cutNothingOld   = "no old messages to summarise" // the few that are kept are too long
	cutLittle       = "a summary would free too little"
	cutStillLong    = "too long in spite of a summary"
	cutFailed       = "the summary failed"
	cutRests        = "summaries rest after one that failed"
	cutOff          = "summaries are off"
	cutNoTranscript = "no transcript"
)

// logCut logs once in a turn that requests leave messages out.
func (r *run) logCut(ctx context.Context) {
	r.fit.summaryFailed = r.fit.summaryFailed || r.fit.leftOut > 0 && (r.fit.cutReason == cutFailed || r.fit.cutReason == cutRests)
	if r.fit.leftOut == 0 || r.fit.cutLogged {
		return
	}
	r.fit.cutLogged = true
	level, why := slog.LevelInfo, r.fit.cutReason
	switch {
	case r.t.Compact == nil:
		why = cutNoTranscript
	case r.a.Compaction().When == window.WhenOff:
		level, why = slog.LevelDebug, cutOff // configured so, and the same in every turn
	case why == cutRests:
		level = slog.LevelDebug // the turn in which it failed has logged it
	case r.fit.compacted:
		why = cutStillLong
	case why == "":
		why = cutLittle
	}
	r.a.log.LogAttrs(ctx, level, "context truncated", slog.String("key", r.t.Key.String()),
		slog.String("reason", why), slog.Int("messages", r.fit.leftOut))
}

// noteCompacting is what people see while they wait for a summary.
const noteCompacting = "Organizing the conversation…"

// compact has the history summarised, except for what keep (or, if nil, the preset)
// keeps, and continues with the new history. It fails only if the turn is stopped:
// without a summary, the view is cut.
func (r *run) compact(ctx context.Context, keep *window.Keep) error {
	r.fit.compactTried = true
	if r.t.Compact == nil || r.a.Compaction().When == window.WhenOff {
		return nil
	}
	said := strings.Join(r.said, "\n\n")
	r.progress(Progress{Text: said, Note: noteCompacting})
	h, err := r.t.Compact(ctx, keep)
	r.progress(Progress{Text: said})
	if stop := stopped(ctx); stop != nil {
		return stop
	}
	switch {
	case errors.Is(err, recap.ErrNothingToSummarize):
		r.fit.cutReason = cutNothingOld
		return nil
	case err != nil:
		level := slog.LevelWarn
		r.fit.cutReason = cutFailed
		if errors.Is(err, recap.ErrLongSummary) {
			r.fit.cutReason = cutLittle
		}
		if errors.Is(err, recap.ErrPaused) {
			level, r.fit.cutReason = slog.LevelDebug, cutRests // it was a warning when it failed
		}
		r.a.log.Log(ctx, level, "could not summarise the conversation; leaving older messages out of the request",
			"key", r.t.Key.String(), "err", err)
		return nil
	case h.Generation != r.t.History.Generation:
		return nil // a new conversation began, so this turn can only end
	}
	h = window.DropOrphanResults(h)
	added := r.all[r.inputAt:]
	fresh := r.addedAt - r.inputAt
	r.t.History = h
	r.all = slices.Concat(h.Messages, added)
	r.inputAt = len(h.Messages)
	r.addedAt = r.inputAt + fresh
	r.setFrame()
	r.fit.compacted = true
	return nil
}

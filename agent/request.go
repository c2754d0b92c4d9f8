package agent

import (
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

// request builds what the model sees now. The order of its steps matters:
// results are pruned and the window is fitted on repaired messages, which keeps
// their shape, which complete checks.
//
// lacks is what of the conversation it neither shows nor has a summary of. It
// counts only if the request is made: rescue builds some on trial.
func (r *run) request(final bool) (req Request, lacks lack) {
	req = Request{
		System: r.frame.System, Tools: r.offer.specs,
		MaxTokens: r.a.opts.MaxTokens, Temperature: r.a.opts.Temperature, Effort: r.a.effort(r.t.History.Settings),
		// The same for all turns in this process, with a secret seed, so that nobody
		// finds the conversation by it.
		Key: fmt.Sprintf("%016x", maphash.String(r.a.seed, r.t.Key.String())),
	}
	if final {
		req.Tools = nil
	}
	whole, users, failed := r.view(final)
	view, listed := r.fit(r.newest(whole, users), users)
	// What is gone before the fitting, nobody wanted to leave out.
	silent := window.Missing(r.all, whole) - failed
	left := missing(r.all, view, listed) - failed - silent + r.t.History.Omitted
	r.left = left - r.t.History.Omitted
	view = r.lead(view, left)
	view = window.Alternate(view, r.model.Name())
	req.Messages = view
	silent += window.Uncovered(r.t.History)
	return req, lack{all: silent + left, silent: silent}
}

// missing counts the messages of all that view does not show and does not tell
// of in short.
func missing(all, view, listed []sessions.Message) int {
	if len(listed) > 0 {
		view = slices.Concat(view, listed)
	}
	return window.Missing(all, view)
}

// lack counts messages of the conversation that a request neither shows nor
// has a summary of, and those of them that it does not say to leave out.
type lack struct{ all, silent int }

// lead puts in front of view what stands for the messages that are not in it:
// the summary, where it is rendered as messages, and a word about those that
// are left out.
func (r *run) lead(view []sessions.Message, left int) []sessions.Message {
	lead := r.frame.Lead
	if left > 0 {
		hint := ""
		if r.offer.has(toolHistory) {
			hint = " The tool " + toolHistory + " finds them."
		}
		lead = append(slices.Clip(lead), window.Omission(left, hint))
	}
	if len(lead) == 0 {
		return view
	}
	return slices.Concat(lead, view)
}

const (
	// toolHistory is the tool that searches the transcript, if it is there.
	toolHistory = sessions.HistoryTool
	// omissionTokens is about what window.Omission takes.
	omissionTokens = 40
)

// view is the conversation, repaired and pruned, how many of its newest user
// messages the turn answers, and how many messages of failed calls are not in
// it because they are not to be.
func (r *run) view(final bool) (msgs []sessions.Message, users, failed int) {
	view := r.a.shown(r.model.Name(), r.all)
	// Not by what was learned of the window: what is pruned must not depend on
	// when the process began.
	view = r.a.opts.Prune.Apply(view, window.Sight{
		Window: r.a.sizeOf(r.model.Name()), Fixed: r.fixed,
		Count: r.a.opts.Count, Forced: r.forcedResults(),
	})
	if r.a.opts.Prune.FailedCalls {
		// After the pruning, whose steps depend on what there was, or what was
		// pruned for the sake of a failed call would come back whole.
		view, failed = window.WithoutFailed(view, r.t.ID)
	}
	for _, m := range r.all[r.own:] {
		if m.Role == sessions.RoleUser {
			users++
		}
	}
	if final && r.steps > 0 {
		// Only in this request: it says nothing about the conversation.
		view = append(slices.Clip(view), sessions.Message{Role: sessions.RoleUser, Content: noteLastStep, Synthetic: true})
		users++
	}
	return view, users, failed
}

// tight reports whether the next request does not fit only because the server
// takes less than is configured. Then results of tools are left out first, as
// they were when that was learned.
func (r *run) tight(final bool) bool {
	name := r.model.Name()
	if r.forced || r.a.windowOf(name) == r.a.sizeOf(name) {
		return false
	}
	view, _, _ := r.view(final)
	return !r.fits(view)
}

// forcedResults marks the results that the turn began with and its own, if the
// server found a request too long.
func (r *run) forcedResults() (f window.Forced) {
	if r.forced {
		f.Turn = r.t.ID
		if n := len(r.t.History.Messages); n > 0 {
			f.Seq = r.t.History.Messages[n-1].Seq
		}
	}
	return f
}

// budget is how many tokens of messages, as we count them, the next request
// may have. It is never nothing: then the server decides.
func (r *run) budget() int { return r.budgetIn(r.a.windowOf(r.model.Name())) }

// budgetIn is the same in a window of so many tokens.
func (r *run) budgetIn(size int) int {
	n := r.a.room(r.model.Name(), size-window.Reserve(size, r.a.opts.MaxTokens)) - r.fixed - omissionTokens
	n = max(n, size/8)
	if r.most > 0 {
		n = min(n, r.most)
	}
	return n
}

// fits reports whether view can be sent as it is.
func (r *run) fits(view []sessions.Message) bool {
	budget := r.budget()
	return window.Bound(view) <= budget || r.a.messageTokens(view) <= budget
}

// surelyFits reports whether the next request fits by its bytes alone. No text
// has more tokens, and pruning only makes it shorter, so most turns need not
// count.
func (r *run) surelyFits() bool {
	bare := window.Repair(r.a.without(r.model.Name(), r.all))
	return window.Bound(bare)+(len(bare)+1)*window.StampBytes+len(noteLastStep) <= r.budget()
}

// fit returns a view of msgs that fits, and what of the turn is only told of in it.
func (r *run) fit(msgs []sessions.Message, users int) (view, listed []sessions.Message) {
	return window.Fit(msgs, users, r.budget(), r.a.opts.Count)
}

// maxSqueezes is how often a request that the server found too long is tried
// again with less of the conversation in it.
const maxSqueezes = 2

// rescue is what was tried for one request that the server found too long.
type rescue struct {
	pruned, compacted bool
	squeezes          int
	// refused is how long the last request was that the server found too long,
	// which is the shortest one.
	refused int
	// passed is how long the one was that it took in the end.
	passed int
}

// rescue makes the next request smaller than req, which was refused, and says
// by what means; "" if there is none left. Each is tried once: results of
// tools go, then the history is summarised, and at last older messages are
// left out of the view. What makes no difference is not tried: the same
// request would only be refused again.
func (r *run) rescue(ctx context.Context, req Request, tried *rescue, final bool) (means string, err error) {
	size := r.a.messageTokens(req.Messages)
	smaller := func() bool {
		next, _ := r.request(final)
		return r.a.messageTokens(next.Messages) < size
	}
	if !tried.pruned {
		tried.pruned = true
		r.forced = true
		if smaller() {
			return "prune", nil
		}
	}
	if !tried.compacted && !r.compacted {
		tried.compacted = true
		if err := r.compact(ctx, r.keepAfter(tried.refused)); err != nil {
			return "", err
		}
		if r.compacted && smaller() {
			return "compact", nil
		}
	}
	if tried.squeezes < maxSqueezes {
		tried.squeezes++
		r.most = max(size*learnedTenths/10, 1)
		if smaller() {
			return "squeeze", nil
		}
	}
	return "", nil
}

// Why messages that do not fit are left out of a request, with nothing in
// their place but a word that they are there.
const (
	cutNothingOld   = "no old messages to summarise" // the few that stay are too long
	cutLittle       = "a summary would free too little"
	cutStillLong    = "too long in spite of a summary"
	cutFailed       = "the summary failed"
	cutRests        = "summaries rest after one that failed"
	cutOff          = "summaries are off"
	cutNoTranscript = "no transcript"
)

// noteCut says once in a turn that its requests leave messages out.
func (r *run) noteCut(ctx context.Context) {
	r.summaryFailed = r.summaryFailed || r.left > 0 && (r.whyUncut == cutFailed || r.whyUncut == cutRests)
	if r.left == 0 || r.cutSaid {
		return
	}
	r.cutSaid = true
	level, why := slog.LevelInfo, r.whyUncut
	switch {
	case r.t.Compact == nil:
		why = cutNoTranscript
	case r.a.Compaction().When == window.WhenOff:
		level, why = slog.LevelDebug, cutOff // as it was wanted, in every turn
	case why == cutRests:
		level = slog.LevelDebug // the turn in which it failed has said it
	case r.compacted:
		why = cutStillLong
	case why == "":
		why = cutLittle
	}
	r.a.log.LogAttrs(ctx, level, "context truncated", slog.String("key", r.t.Key.String()),
		slog.String("reason", why), slog.Int("messages", r.left))
}

// noteCompacting is what the person sees while they wait for a summary.
const noteCompacting = "Organizing the conversation…"

// compact has the history summarised, except for what keep says or usually
// stays, and goes on with what it is then. It fails only if the turn is
// stopped: without a summary, the view is cut.
func (r *run) compact(ctx context.Context, keep *window.Keep) error {
	r.compactTried = true
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
		r.whyUncut = cutNothingOld
		return nil
	case err != nil:
		level := slog.LevelWarn
		r.whyUncut = cutFailed
		if errors.Is(err, recap.ErrLongSummary) {
			r.whyUncut = cutLittle
		}
		if errors.Is(err, recap.ErrRests) {
			level, r.whyUncut = slog.LevelDebug, cutRests // there was a warning when it failed
		}
		r.a.log.Log(ctx, level, "the conversation could not be summarised, older messages are left out of the request",
			"key", r.t.Key.String(), "err", err)
		return nil
	case h.Generation != r.t.History.Generation:
		return nil // a new conversation began: this turn can only end
	}
	h = window.WholeGroups(h)
	added := r.all[r.own:]
	fresh := r.fresh - r.own
	r.t.History = h
	r.all = slices.Concat(h.Messages, added)
	r.own = len(h.Messages)
	r.fresh = r.own + fresh
	r.setFrame()
	r.compacted = true
	return nil
}

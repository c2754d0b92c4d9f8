package recap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

const (
	backgroundLimit = 5 * time.Minute // for a summary in the background
	waitingLimit    = 2 * time.Minute // for one that a turn waits for
)

// Summaries makes the summaries of all conversations, in the background, a few at
// once, or for a turn that waits. It makes one at a time per conversation, stores it
// in the transcript, and tells the person who asked for it if it failed. It is safe
// for concurrent use.
type Summaries struct {
	writer Writer
	opts   Host
	wg     sync.WaitGroup
	slots  chan struct{}
	ctx    context.Context // ends in Wait; background tasks have no caller's context
	stop   context.CancelFunc
	mu     sync.Mutex
	jobs   map[channels.Key]*job
	pauses map[channels.Key]pause
}

// Writer decides about summaries and writes them: see [Summarizer].
type Writer interface {
	Compaction() window.Compaction
	Level(h sessions.History) Level
	Summarize(ctx context.Context, h sessions.History, keep *window.Keep) (sessions.Summary, error)
	Tokens(h sessions.History) int
	Fill(h sessions.History) (tokens, limit int)
}

// Host is what Summaries needs from its owner. Every field must be set.
type Host struct {
	Slots int // background summaries at once
	// LoadWhole returns all of the conversation since its last summary. LoadForTurn
	// returns what a turn starts from. TrimForTurn cuts h to what the next turn would
	// load.
	LoadWhole, LoadForTurn func(ctx context.Context, k channels.Key) (sessions.History, error)
	TrimForTurn            func(h sessions.History) sessions.History
	// AddSummary stores s and, in the same commit, what paid has used. It returns
	// sessions.ErrConflict if the conversation was reset or changed meanwhile.
	AddSummary func(ctx context.Context, k channels.Key, s sessions.Summary, paid Paid) error
	// Wasted is called with what an attempt used whose summary was not stored.
	Wasted func(ctx context.Context, paid Paid)
	// Exclusive runs f while nothing else summarises k, even on other nodes.
	Exclusive func(ctx context.Context, k channels.Key, f func(context.Context) error) error
	// Tell sends text to the author of m, in the chat of m.
	Tell func(ctx context.Context, m channels.Inbound, text string)
	// Done is called for each summary that was stored.
	Done     func(Report)
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
}

// Observer counts outcomes, for metrics.
type Observer interface {
	// Summarized tells the outcome of an attempt, and how long it took.
	Summarized(outcome string, took time.Duration)
	Unaccounted(n int, said bool)
}

// Paid is what the writing of a summary used, and whom it counts for.
type Paid struct {
	Key channels.Key
	// By is who caused it, in the channel of Key: the author of the newest message, or of
	// the command that asked for it. "": nobody whom the network vouches for.
	By    string
	Model string
	Used  sessions.Usage
}

// Report describes a stored summary.
type Report struct {
	Key        channels.Key
	Generation string
	// Messages is the number of messages, and Covered how many of them the summary
	// replaces, up to CoversSeq.
	Messages, Covered int
	CoversSeq         int64
	// Before and After are the tokens that the conversation takes of a request.
	Before, After int
}

// Savings returns how much smaller After is than Before, in percent.
func (r Report) Savings() int { return (r.Before - r.After) * 100 / max(r.Before, 1) }

// NewSummaries returns Summaries. The caller must call Wait at the end.
func NewSummaries(w Writer, host Host) *Summaries {
	s := &Summaries{
		writer: w, opts: host, slots: make(chan struct{}, host.Slots),
		jobs: make(map[channels.Key]*job), pauses: make(map[channels.Key]pause),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Wait stops running summaries and waits for them. An unfinished summary changes
// nothing.
func (s *Summaries) Wait() {
	s.stop()
	s.wg.Wait()
}

// Off reports whether summaries are turned off.
func (s *Summaries) Off() bool { return s.writer.Compaction().When == window.WhenOff }

// AfterTurn summarises k in the background if it has become long enough. h is the
// history of its last turn with what the turn added. After a failure a later turn tries
// again.
func (s *Summaries) AfterTurn(k channels.Key, h sessions.History) {
	h = s.opts.TrimForTurn(h)
	if s.writer.Level(h) < Due {
		s.logFill(slog.LevelDebug, contextOK, k, h)
		return
	}
	least := Due
	if h.Omitted > 0 { // the whole history does not show this
		least = Nothing
	}
	s.startInBackground(k, least, nil, nil)
}

// onlyIfAsked is a Level that no conversation reaches: the summary is made only if a
// person still wants it.
const onlyIfAsked = Due + 1

// startInBackground queues a summary of k. When its turn comes, it is made if k still
// reaches least, or if a person wants it. If one is on its way, or summaries of k are
// paused, it says so instead. asker is the command of the person who asked, or nil.
// answered, if not nil, is closed once that command was answered, which must come
// before the outcome.
func (s *Summaries) startInBackground(k channels.Key, least Level, asker *channels.Inbound, answered <-chan struct{}) (busy bool, paused time.Duration) {
	busy, paused = s.queue(k, least, asker)
	if busy || paused > 0 {
		return busy, paused
	}
	s.wg.Go(func() {
		if answered != nil {
			<-answered
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			if least, ok := s.startQueued(k); ok {
				_ = s.makeOne(s.ctx, k, nil, nil, backgroundLimit, least) // makeOne logs it, and a later turn tries again
			}
		case <-s.ctx.Done():
			if _, ok := s.startQueued(k); ok {
				s.finish(s.ctx, k, context.Canceled, false, context.Canceled)
			}
		}
	})
	return false, 0
}

// ForTurn summarises k for a turn that waits for it and loaded the conversation as
// known, and returns the new history. If a summary is running, it waits for that one
// instead, and its failure is the turn's. One that is only queued is overtaken. A turn
// needs no slot: the number of running turns is limited.
func (s *Summaries) ForTurn(ctx context.Context, k channels.Key, known sessions.History, keep *window.Keep) (sessions.History, error) {
	j, ok := s.overtake(k)
	switch {
	case j == nil:
		return sessions.History{}, fmt.Errorf("recap: summary of %s: %w", k, ErrPaused)
	case !ok:
		select {
		case <-j.ended:
			if j.err != nil {
				return sessions.History{}, fmt.Errorf("recap: the summary of %s that this waited for: %w", k, j.err)
			}
		case <-ctx.Done():
			return sessions.History{}, context.Cause(ctx)
		}
	default:
		if err := s.makeOne(ctx, k, &known, keep, waitingLimit, Nothing); err != nil {
			return sessions.History{}, err
		}
	}
	return s.opts.LoadForTurn(ctx, k)
}

// makeOne makes the summary of the job that is marked as running, and finishes the
// job. If known is set, a summary that was stored since then is good enough.
func (s *Summaries) makeOne(ctx context.Context, k channels.Key, known *sessions.History, keep *window.Keep, limit time.Duration, least Level) error {
	lctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	err := s.opts.Exclusive(lctx, k, func(ctx context.Context) error { return s.summarize(ctx, k, known, keep, least) })
	came := err
	if errors.Is(err, sessions.ErrConflict) {
		s.opts.Observer.Summarized("outdated", time.Since(began))
		err = nil // the conversation that replaced it needs none now
	}
	failed := err != nil && ctx.Err() == nil && !errors.Is(err, ErrNothingToSummarize)
	if failed {
		s.log(k).Warn("summary failed; everything is kept", "err", err)
		outcome := "failed"
		if errors.Is(err, ErrLongSummary) {
			outcome = "longer"
		}
		s.opts.Observer.Summarized(outcome, time.Since(began))
		if errors.Is(err, ErrUnseen) {
			s.opts.Observer.Unaccounted(1, false) // nothing is lost yet, but it is a bug
		}
	}
	s.finish(ctx, k, err, failed, came)
	return err
}

func (s *Summaries) finish(ctx context.Context, k channels.Key, err error, failed bool, came error) {
	if asker := s.endJob(k, err, failed); asker != nil && came != nil {
		s.tellFailure(ctx, *asker, came)
	}
}

// summarize makes one summary if k reaches least or a person asked for it. Messages
// that arrive meanwhile come after the messages it covers, so they are neither lost
// nor summarised. It loads everything since the last summary, however much that is.
func (s *Summaries) summarize(ctx context.Context, k channels.Key, known *sessions.History, keep *window.Keep, least Level) (err error) {
	defer func() {
		if v := recover(); v != nil { // the value may hold chat text
			err = fmt.Errorf("recap: summary of %s panicked: %T\n%s", k, v, debug.Stack())
		}
	}()
	h, err := s.opts.LoadWhole(ctx, k)
	if err == nil && known != nil && h.Generation == known.Generation && coversOf(h) > coversOf(*known) {
		return nil // another node made one
	}
	if err != nil || least > Nothing && s.writer.Level(h) < least && !s.wanted(k) {
		return err
	}
	s.logFill(slog.LevelInfo, "context compaction triggered", k, h)
	began := time.Now()
	made, err := s.writer.Summarize(ctx, h, keep)
	paid := Paid{Key: k, By: s.causedBy(k, h), Model: made.Model, Used: made.Used}
	if err == nil {
		made.Erasures = h.Erasures
		err = s.opts.AddSummary(ctx, k, made, paid)
	}
	if err != nil {
		if paid.Used != (sessions.Usage{}) {
			s.opts.Wasted(ctx, paid)
		}
		return err
	}
	s.opts.Observer.Summarized("done", time.Since(began))
	r := s.report(k, h, made)
	s.opts.Done(r)
	s.log(k).Info("conversation summarised", "covers_seq", r.CoversSeq, "generation", r.Generation,
		"messages", r.Messages, "covered", r.Covered, "bytes", len(made.Text),
		"old_tokens", r.Before, "new_tokens", r.After, "savings_percent", r.Savings())
	return nil
}

// causedBy is the id of whoever caused the summary of k that runs.
func (s *Summaries) causedBy(k channels.Key, h sessions.History) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if asker := s.jobs[k].asker; asker != nil {
		return asker.Sender.ID()
	}
	for _, m := range slices.Backward(h.Messages) {
		if m.Role == sessions.RoleUser && m.Sender != "" {
			return m.Sender
		}
	}
	return ""
}

func coversOf(h sessions.History) int64 {
	if h.Summary == nil {
		return 0
	}
	return h.Summary.CoversSeq
}

func (s *Summaries) report(k channels.Key, h sessions.History, made sessions.Summary) Report {
	covered := 0
	for i := range h.Messages {
		if h.Messages[i].Seq <= made.CoversSeq {
			covered++
		}
	}
	left := h
	left.Summary, left.Messages = &made, h.Messages[covered:]
	return Report{
		Key: k, Generation: made.Generation, Messages: len(h.Messages), Covered: covered, CoversSeq: made.CoversSeq,
		Before: s.writer.Tokens(h), After: s.writer.Tokens(left),
	}
}

func (s *Summaries) log(k channels.Key) *slog.Logger { return s.opts.Logger.With("key", k.String()) }

const contextOK = "context ok"

// logFill logs how full the window of a conversation's model is, if the level is
// logged: counting takes time.
func (s *Summaries) logFill(level slog.Level, what string, k channels.Key, h sessions.History) {
	if !s.opts.Logger.Enabled(s.ctx, level) {
		return
	}
	tokens, limit := s.writer.Fill(h)
	if what == contextOK && tokens > limit {
		what = "context over full" // the messages that are always kept are too long, or summaries cannot help
	}
	percent := math.Round(float64(tokens)*1000/float64(max(limit, 1))) / 10
	s.log(k).Log(s.ctx, level, what, "tokens", tokens, "limit", limit, "usage_percent", percent)
}

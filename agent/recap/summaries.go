package recap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

const (
	backgroundLimit = 5 * time.Minute // of one summary that nobody waits for
	waitingLimit    = 2 * time.Minute // of one that a turn waits for
)

// Summaries own the summaries of conversations: they are made in the background,
// a few at once, or for a turn that waits; one at a time in a conversation; and
// stored in its transcript. Whoever asked for one is told what came of it.
type Summaries struct {
	writer     Writer
	transcript Transcript
	opts       Host
	wg         sync.WaitGroup
	slots      chan struct{}
	ctx        context.Context // ends in Wait; a background task has no caller's context
	stop       context.CancelFunc
	mu         sync.Mutex
	jobs       map[channels.Key]*job
	pauses     map[channels.Key]pause
}

// Writer decides about summaries and writes them: see [Summarizer].
type Writer interface {
	Compaction() window.Compaction
	Level(h sessions.History) Level
	Summarize(ctx context.Context, h sessions.History, keep *window.Keep) (sessions.Summary, error)
	Tokens(h sessions.History) int
	Fill(h sessions.History) (tokens, limit int)
}

// Transcript is the part of a store that holds what summaries are made of.
type Transcript interface {
	// Whole is all of the conversation since its last summary, and Loaded what a
	// turn starts from. AsLoaded is what the next turn loads of h.
	Whole(ctx context.Context, k channels.Key) (sessions.History, error)
	Loaded(ctx context.Context, k channels.Key) (sessions.History, error)
	AsLoaded(h sessions.History) sessions.History
	// AddSummary stores s, or returns sessions.ErrConflict if the conversation
	// became another one.
	AddSummary(ctx context.Context, k channels.Key, s sessions.Summary) error
}

// Host is where Summaries live. All of it must be set.
type Host struct {
	Slots int // summaries in the background at once
	// Alone runs f while nobody else summarises k, on other nodes either.
	Alone func(ctx context.Context, k channels.Key, f func(context.Context) error) error
	// Tell says text to whoever wrote m, where they wrote it.
	Tell func(ctx context.Context, m channels.Inbound, text string)
	// Done is told of each summary that was stored.
	Done     func(Report)
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
}

// Observer counts.
type Observer interface {
	Summarized(outcome string)
	Unaccounted(n int, said bool)
}

// Report is what a summary came to.
type Report struct {
	Key        channels.Key
	Generation string
	// Messages is how many there were, and Covered how many of them the summary
	// stands for, up to CoversSeq.
	Messages, Covered int
	CoversSeq         int64
	// Before and After are the tokens of the conversation in a request.
	Before, After int
}

// Savings is how much less After is than Before, in percent.
func (r Report) Savings() int { return (r.Before - r.After) * 100 / max(r.Before, 1) }

// NewSummaries returns the owner of t's summaries. Call Wait when it is over.
func NewSummaries(w Writer, t Transcript, host Host) *Summaries {
	s := &Summaries{
		writer: w, transcript: t, opts: host, slots: make(chan struct{}, host.Slots),
		jobs: make(map[channels.Key]*job), pauses: make(map[channels.Key]pause),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Wait ends what runs; a summary that is not finished changes nothing.
func (s *Summaries) Wait() {
	s.stop()
	s.wg.Wait()
}

// Off reports whether no summaries are made at all.
func (s *Summaries) Off() bool { return s.writer.Compaction().When == window.WhenOff }

// AfterTurn summarises k in the background if h, what its last turn knew of it
// and added to it, has become long enough. Nothing is read to find that out.
// Failure keeps everything and is tried again later.
func (s *Summaries) AfterTurn(k channels.Key, h sessions.History) {
	h = s.transcript.AsLoaded(h)
	if s.writer.Level(h) < Due {
		s.logFill(slog.LevelDebug, contextOK, k, h)
		return
	}
	least := Due
	if h.Omitted > 0 { // which the whole history does not say
		least = Nothing
	}
	s.later(k, least, nil, nil)
}

// onlyAsked is a Level that no conversation reaches: a summary is made only if a
// person still wants it.
const onlyAsked = Due + 1

// later summarises k in the background if that has still reached least when its
// turn comes, or if a person wants it, or returns what keeps it from that.
// asker is the command of that person, and answered is closed when they have
// been told that it is being made: what comes of it is not to be said before.
// nil: nobody asks yet.
func (s *Summaries) later(k channels.Key, least Level, asker *channels.Inbound, answered <-chan struct{}) (busy bool, rests time.Duration) {
	if busy, rests = s.queue(k, least, asker); busy || rests > 0 {
		return busy, rests
	}
	s.wg.Go(func() {
		if answered != nil {
			<-answered
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			if least, ok := s.come(k); ok {
				_ = s.once(s.ctx, k, nil, nil, backgroundLimit, least) // it is logged and tried again
			}
		case <-s.ctx.Done():
			if _, ok := s.come(k); ok {
				s.over(s.ctx, k, context.Canceled, false, context.Canceled)
			}
		}
	})
	return false, 0
}

// Now summarises k for a turn that waits for it and found the conversation as
// known, and returns what the history is then. One that is running already is waited for instead, and its
// failure is the turn's; one that only waits for a slot is overtaken, and finds
// nothing left to do. A turn needs no slot: turns that run at once are bounded,
// and a person waits.
func (s *Summaries) Now(ctx context.Context, k channels.Key, known sessions.History, keep *window.Keep) (sessions.History, error) {
	j, ok := s.overtake(k)
	switch {
	case j == nil:
		return sessions.History{}, fmt.Errorf("recap: summary of %s: %w", k, ErrRests)
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
		if err := s.once(ctx, k, &known, keep, waitingLimit, Nothing); err != nil {
			return sessions.History{}, err
		}
	}
	return s.transcript.Loaded(ctx, k)
}

// once makes the summary that is marked as running, and ends that mark.
// With known, one that was added since then is as good.
func (s *Summaries) once(ctx context.Context, k channels.Key, known *sessions.History, keep *window.Keep, limit time.Duration, least Level) error {
	lctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.opts.Alone(lctx, k, func(ctx context.Context) error { return s.summarize(ctx, k, known, keep, least) })
	came := err
	if errors.Is(err, sessions.ErrConflict) {
		s.opts.Observer.Summarized("outdated")
		err = nil // what there is now is as good
	}
	failed := err != nil && ctx.Err() == nil && !errors.Is(err, ErrNothingToSummarize)
	if failed {
		s.log(k).Warn("summary failed; everything is kept", "err", err)
		outcome := "failed"
		if errors.Is(err, ErrLongSummary) {
			outcome = "longer"
		}
		s.opts.Observer.Summarized(outcome)
		if errors.Is(err, ErrUnseen) {
			s.opts.Observer.Unaccounted(1, false) // nothing is lost yet, and still it is a bug
		}
	}
	s.over(ctx, k, err, failed, came)
	return err
}

// over ends the running summary of k, and tells who asked for it what came of it.
func (s *Summaries) over(ctx context.Context, k channels.Key, err error, failed bool, came error) {
	if asker := s.end(k, err, failed); asker != nil && came != nil {
		s.tell(ctx, *asker, came)
	}
}

// summarize makes one summary if k has reached least, or a person asked for it.
// Messages that arrive meanwhile come after what it covers, so they are neither
// lost nor summarised. It reads the whole of what follows the last summary,
// however much that is.
func (s *Summaries) summarize(ctx context.Context, k channels.Key, known *sessions.History, keep *window.Keep, least Level) (err error) {
	defer func() {
		if v := recover(); v != nil { // the value may hold chat text
			err = fmt.Errorf("recap: summary of %s panicked: %T\n%s", k, v, debug.Stack())
		}
	}()
	h, err := s.transcript.Whole(ctx, k)
	if err == nil && known != nil && h.Generation == known.Generation && coversOf(h) > coversOf(*known) {
		return nil // another node was faster
	}
	if err != nil || least > Nothing && s.writer.Level(h) < least && !s.wanted(k) {
		return err
	}
	s.logFill(slog.LevelInfo, "context compaction triggered", k, h)
	made, err := s.writer.Summarize(ctx, h, keep)
	if err != nil {
		return err
	}
	made.Erasures = h.Erasures
	if err := s.transcript.AddSummary(ctx, k, made); err != nil {
		return err
	}
	s.opts.Observer.Summarized("done")
	r := s.report(k, h, made)
	s.opts.Done(r)
	s.log(k).Info("conversation summarised", "covers_seq", r.CoversSeq, "generation", r.Generation,
		"messages", r.Messages, "covered", r.Covered, "bytes", len(made.Text),
		"old_tokens", r.Before, "new_tokens", r.After, "savings_percent", r.Savings())
	return nil
}

// coversOf is the last message that the summary of h stands for, 0 without one.
func coversOf(h sessions.History) int64 {
	if h.Summary == nil {
		return 0
	}
	return h.Summary.CoversSeq
}

// report says that made took the place of messages of h and of the summary
// before it.
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

// contextOK is what the log says of a conversation that nothing is done about.
const contextOK = "context ok"

// logFill logs how full the window of a conversation's model is. It counts all
// of it, and only if somebody is going to read that.
func (s *Summaries) logFill(level slog.Level, what string, k channels.Key, h sessions.History) {
	if !s.opts.Logger.Enabled(s.ctx, level) {
		return
	}
	tokens, limit := s.writer.Fill(h)
	if what == contextOK && tokens > limit {
		what = "context over full" // what stays anyway is too long, or summaries cannot help
	}
	percent := math.Round(float64(tokens)*1000/float64(max(limit, 1))) / 10
	s.log(k).Log(s.ctx, level, what, "tokens", tokens, "limit", limit, "usage_percent", percent)
}

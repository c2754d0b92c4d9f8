package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/metrics"
	"dragoman/internal/stream"
	"dragoman/internal/trace"
	"dragoman/sessions"
)

// run is one attempt at a turn: the messages that it answers and where the
// answer goes.
type run struct {
	g     *Gateway
	claim sessions.Claim
	id    string
	b     *binding // of the chat; nil for jobs, which nobody watches
	job   *job     // not nil: the turn has no history
	live  *liveTurn
	span  *trace.Span // nil: nobody traces
	// history is the conversation at the turn's beginning. With the turn's
	// messages it is the conversation at its end, which need not be read again.
	history sessions.History

	told telling
	// answered are the answers of the model that the journal has, which all ask for tools.
	answered []sessions.Message
	// cut are those of answered that a crash has cut: they are no messages of the turn.
	cut []sessions.Message
	// meter limits what the turn uses; nil: nothing does.
	meter *meter
	// beside is what a rule says beside the answer; nil: nothing.
	beside *beside
	// kept: what hooks get about the turn is stored with it.
	kept bool

	askedAbout map[string]bool // calls that somebody was asked about when it was parked
	askedForms map[string]int  // and the number of the newest form of a call that was sent
	parked     bool            // when it was left: it has to be resumed
	since      time.Time       // when it went on after it was parked last; zero: it never was

	mu   sync.Mutex             // the attendant also journals
	rows []sessions.InboxRecord // the inbox messages that it answers
}

// turn answers the pending messages. It returns an error only if the claim cannot go on
// (fenced, stopped, a failing store). A failing model leads to an answer or a
// postponement.
func (g *Gateway) turn(ctx context.Context, c sessions.Claim, p sessions.Pending) error {
	r := g.newRun(c, p)
	target := c.Key
	if r.job != nil {
		target = r.job.target
	}
	err := r.chargeCut(ctx, p.Steps)
	if err != nil {
		return err
	}
	if !begun(p.Steps) {
		if ended, err := r.endByRule(ctx); ended || err != nil {
			return err
		}
	}
	err = r.resume(ctx)
	if err != nil {
		return err
	}
	if name := target.Channel(); g.bindings[name] == nil {
		// The answer could be neither split nor delivered. The turn waits until
		// the channel is configured again, or the operator drops it.
		return r.postpone(ctx, time.Minute, errors.New("no channel is called "+name))
	}
	return r.answer(ctx, p.Steps)
}

func (g *Gateway) newRun(c sessions.Claim, p sessions.Pending) *run {
	r := &run{g: g, claim: c, id: p.Turn, b: g.bindings[c.Key.Channel()]}
	if r.id == "" {
		r.id = fmt.Sprintf("%s#%d", c.Key, p.Messages[0].Seq)
	}
	r.parked = isParked(p.Steps)
	r.since = lastResumed(p.Steps)
	r.askedAbout = askedCalls(p.Steps)
	r.askedForms = formsAsked(p.Steps)
	r.answered = answers(p.Steps)
	r.cut = cutCalls(p.Steps)
	for _, w := range p.Messages {
		r.add(w)
	}
	if p.Messages[0].Source == sessions.SourceHeartbeat {
		r.job = g.jobOf(p.Messages[0])
		r.b = nil
	}
	return r
}

// answer asks the agent and commits the result. It waits for the model, so
// everything before and after is in functions of its own: the stacks of a
// thousand waiting turns are a large part of the daemon's memory.
func (r *run) answer(ctx context.Context, steps []sessions.Step) error {
	g := r.g
	began := time.Now()
	first := len(steps) == 0 && r.rows[0].Attempts == 0
	ctx = r.beginSpan(ctx, first)
	tctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	newest := r.newestID()
	r.live = g.chats.begin(r.claim, r.asked(), g.opts.Now(), r.bound, r.reads, cancel, g.asker(r.claim.Key, newest))
	for _, s := range steps {
		if s.Kind == sessions.StepPreview {
			r.live.preview = s.MessageID // the newest shows the answer
		}
	}
	defer g.chats.end(r.live)
	r.meter = g.meterOf(r.asked(), steps...)
	defer r.meter.end(ctx)
	r.tellBegun(first)
	stop := r.attend(ctx, newest)
	if g.interleaver(r.claim.Key) != nil {
		g.chats.kick(r.claim.Key)
	}
	result, err := r.ask(tctx, steps)
	stop()
	return r.handleResult(ctx, &result, err, errors.Is(context.Cause(tctx), errInterrupted), time.Since(began))
}

// tellBegun tells that the model will be asked. first: for the first time.
func (r *run) tellBegun(first bool) {
	if first {
		r.g.opts.Observer.Phase(metrics.PhaseWait, r.age())
	}
	r.g.emit(r.about(stream.TurnBegun))
}

func (r *run) handleResult(ctx context.Context, result *agent.Result, err error, interrupted bool, took time.Duration) error {
	g := r.g
	if result.SilentlyDropped > 0 {
		r.log().Error("a request left out messages without saying so", "turn", r.id, "count", result.SilentlyDropped)
		g.opts.Observer.Unaccounted(result.SilentlyDropped, false)
	}
	if said := result.Unaccounted - result.SilentlyDropped; said > 0 {
		r.log().Debug("a request had no room for messages that no summary covers, and said so", "turn", r.id, "count", said)
		g.opts.Observer.Unaccounted(said, true)
	}

	if interrupted {
		g.opts.Observer.TurnEnded("interrupted", took)
		endSpan(r.span, result, "interrupted")
		r.emitTurnDone(*result, "interrupted", took)
		return nil // pending again, together with what interrupted it
	}
	if park := r.parksFor(err); park != nil {
		err = park(ctx)
		g.opts.Observer.TurnEnded("parked", took)
		endSpan(r.span, result, "parked")
		r.emitTurnDone(*result, "parked", took)
		return err
	}
	began := time.Now().Add(-took)
	outcome, err := r.finish(ctx, *result, err)
	g.opts.Observer.TurnEnded(outcome, time.Since(began))
	if err != nil && outcome != "cancelled" {
		outcome = "refused" // nothing of it was stored
	}
	endSpan(r.span, result, outcome)
	r.emitTurnDone(*result, outcome, time.Since(began))
	if outcome == "answered" && err == nil && result.SummaryFailed && r.job == nil {
		r.sayUnseen(ctx)
	}
	g.opts.Logger.Debug("turn ended", "key", r.claim.Key, "turn", r.id, "outcome", outcome, "took", time.Since(began), "steps", result.Steps)
	return err
}

func (r *run) ask(ctx context.Context, steps []sessions.Step) (res agent.Result, err error) {
	defer recoverTo(&err, "turn "+r.id)
	t, err := r.agentTurn(ctx, steps)
	if err != nil {
		return agent.Result{}, err
	}
	return r.g.agent.Run(ctx, *t)
}

// storeError is a failure of the store before or during a turn, as opposed to
// one of the model.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// asStoreError marks a failure to journal as the store's, so that the turn runs
// again, but only until GiveUpAfter: a store that accepts everything except
// this step would repeat the turn for ever.
func (r *run) asStoreError(err error) error {
	if err == nil || r.age() >= r.g.opts.GiveUpAfter {
		return err
	}
	return &storeError{err}
}

// steer gives the running turn the messages that came meanwhile.
func (r *run) steer(ctx context.Context) ([]sessions.Message, error) {
	if !r.live.takeMore() {
		return nil, nil
	}
	waiting, err := r.g.store.Waiting(ctx, r.claim)
	if err != nil {
		return nil, r.asStoreError(err)
	}
	var joined []sessions.Message
	for _, w := range waiting {
		if r.live.reads(w.Seq) || w.Source == sessions.SourceHeartbeat { // a job has its own turn
			continue
		}
		if err := r.g.fetch(ctx, &w.Inbound); err != nil {
			return joined, err
		}
		msg := userMessage(w.Inbound, r.g.opts.Now())
		msg.Seq = w.Seq // only in the journal: the inbox message
		step := sessions.Step{Kind: sessions.StepSteer, Message: &msg, At: r.g.opts.Now()}
		err := r.g.store.AppendStep(ctx, r.claim, r.id, append(r.bound(), sessions.Answered{Seq: w.Seq, Rev: w.Rev}), step)
		if errors.Is(err, sessions.ErrConflict) {
			continue // edited meanwhile: the next turn answers it
		}
		if err != nil {
			return joined, r.asStoreError(err)
		}
		r.add(w)
		r.tellJoined(&w)
		joined = append(joined, msg)
	}
	return joined, nil
}

// steeredSeqs are the inbox messages that are steps of the journal already.
func steeredSeqs(steps []sessions.Step) map[int64]bool {
	m := make(map[int64]bool)
	for _, s := range steps {
		if s.Kind == sessions.StepSteer && s.Message != nil {
			m[s.Message.Seq] = true
		}
	}
	return m
}

func (r *run) add(w sessions.InboxRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, w)
}

// bound returns the inbox messages, and their revisions, that the turn answers.
func (r *run) bound() []sessions.Answered {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := make([]sessions.Answered, 0, len(r.rows)+1) // steer adds one
	for _, w := range r.rows {
		answers = append(answers, sessions.Answered{Seq: w.Seq, Rev: w.Rev})
	}
	return answers
}

// authors are the people whom the turn answers.
func (r *run) authors() []sessions.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	authors := make([]sessions.Owner, 0, len(r.rows))
	for _, w := range r.rows {
		authors = append(authors, sessions.AuthorOf(w.Inbound))
	}
	return authors
}

func (r *run) newest() channels.Inbound {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows[len(r.rows)-1].Inbound
}

// newestID is the id of the newest message. The message itself would be on the stack of
// each waiting turn.
func (r *run) newestID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows[len(r.rows)-1].Inbound.MessageID
}

func (r *run) log() *slog.Logger { return r.g.log(r.claim.Key) }

// age is how long the turn has been tried.
func (r *run) age() time.Duration {
	since := r.rows[0].Accepted
	if r.since.After(since) {
		since = r.since
	}
	return r.g.opts.Now().Sub(since)
}

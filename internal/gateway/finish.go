package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/internal/trace"
	"dragoman/sessions"
)

// finish decides what becomes of a turn whose agent has ended. An answer is
// committed. A failure that may pass postpones the turn. After any other failure
// the person gets an apology, so that no message stays without an answer. A turn
// that was cancelled or refused by the store changes nothing here: its messages
// are still waiting, and it runs again.
func (r *run) finish(ctx context.Context, res agent.Result, err error) (outcome string, _ error) {
	if err == nil {
		r.g.chats.goesOn(r.claim.Key)
		err := r.commit(ctx, res, "ran", "")
		r.modelRecovered(ctx)
		return "answered", err
	}
	if ctx.Err() != nil {
		return "cancelled", ctx.Err()
	}
	var broken *storeError
	var model *agent.ModelError
	why := agent.Cause("")
	switch {
	case errors.Is(err, sessions.ErrFenced), errors.Is(err, sessions.ErrConflict), errors.As(err, &broken):
		return "refused", err
	case errors.As(err, &model) && model.Kind == agent.ErrorTemporary && r.age() < r.g.opts.GiveUpAfter:
		if r.hopeless(model) {
			why = whySame
			break
		}
		wait, rest := r.pause(model)
		err := r.postpone(ctx, wait, model)
		if err == nil && r.age()+max(wait, rest) >= r.g.opts.SilentFor {
			r.sayWaiting(ctx, model)
		}
		return "postponed", err
	}
	r.g.chats.goesOn(r.claim.Key)
	id := fmt.Sprintf("%06x", rand.N(1<<24)) // in the answer and in the log
	why = cmp.Or(why, causeOf(model))
	r.log().Error("turn failed", "turn", r.id, "error_id", id, "err", err, "cause", string(why), "cure", r.sentence(why).cure)
	reason := "error " + id
	if r.job != nil {
		reason = fmt.Sprintf("%s (error %s)", r.sentenceFor(why, model).cause(), id)
	}
	return "failed", r.commit(ctx, r.apology(id, why, model), "failed", reason)
}

func (r *run) postpone(ctx context.Context, wait time.Duration, cause error) error {
	r.log().Warn("the turn is postponed", "turn", r.id, "attempt", r.rows[0].Attempts+1, "in", wait, "err", cause)
	if err := r.g.store.Postpone(ctx, r.claim, seqsOf(r.bound()), r.g.opts.Now().Add(wait), cause.Error()); err != nil {
		return fmt.Errorf("postpone %s: %w", r.id, err)
	}
	return nil
}

// sentence returns what to say about a failure of this turn. A model that its server
// does not have, or that we may not use, may be the chat's own, and is corrected where that is set.
func (r *run) sentence(why agent.Cause) sentence {
	said := sentences[why]
	model := r.model()
	if why != agent.CauseModel && why != agent.CauseModelAccess || model == r.g.opts.Model {
		return said
	}
	said.cure = fmt.Sprintf("This conversation is set to the model %s. Set another one, or run: `dragoman sessions unset %q model`.", model, r.claim.Key)
	if r.b.modelFor(r.claim.Key) == model {
		said.cure = fmt.Sprintf("The channel %s names the model %s for this chat: correct models there.", r.claim.Key.Channel(), model)
	}
	return said
}

func (r *run) apology(id string, why agent.Cause, model *agent.ModelError) agent.Result {
	said := r.sentenceFor(why, model)
	text := r.g.SpellCommands(r.claim.Key, fmt.Sprintf("Sorry, %s (error %s).", said.person, id))
	return agent.Result{
		Text: r.withCure(text, said.forOwner(model)),
		Messages: append(r.questions(), sessions.Message{
			Role: sessions.RoleAssistant, Content: text, At: r.g.opts.Now(), Synthetic: true,
		}),
	}
}

// sentenceFor says why the turn failed.
func (r *run) sentenceFor(why agent.Cause, model *agent.ModelError) sentence {
	said := r.sentence(why)
	switch {
	case model == nil || why == whySame:
	case model.Kind == agent.ErrorContext:
		said.person, said.cure = r.tooLong(), ""
	case model.Limit > 0:
		said.person = fmt.Sprintf("the provider's rate limit is smaller than this conversation (limit %d tokens, requested %d), so waiting does not help. "+
			"/new starts a new conversation; whoever runs me can set a smaller context_window or get a higher limit", model.Limit, model.Requested)
		said.cure = ""
	}
	return said
}

// answerText is the answer to send for res. If the model said nothing, its last
// message becomes what the person is told: the templates of some models refuse
// two messages of people in a row.
func (r *run) answerText(res *agent.Result) string {
	last := &sessions.Message{}
	if n := len(res.Messages); n > 0 {
		last = &res.Messages[n-1]
	}
	cut := res.Finish == "length" && last.Synthetic && last.Content == res.Text
	if strings.TrimSpace(res.Text) != "" && !cut {
		return res.Text
	}
	said := sentences[causeOfSilence(*res)]
	text := "(" + said.person + ")"
	if last.Role == sessions.RoleAssistant && last.Synthetic {
		last.Content = text
	}
	return r.withCure(text, said.cure)
}

// withCure is [Gateway.withCure] in the turn's chat. If the chat is not told
// the cure, [Gateway.Ask] may return it.
func (r *run) withCure(text, cure string) string {
	out := r.g.withCure(r.claim.Key, text, cure)
	if out == text && cure != "" && r.answersAsk() {
		r.g.chats.keepCure(r.claim.Key, r.id, cure)
	}
	return out
}

func (r *run) questions() (all []sessions.Message) {
	for _, m := range r.joined(nil) {
		all = append(all, userMessage(m, r.g.opts.Now()))
	}
	return all
}

// tooLong says why the messages do not fit even alone. It advises /new only if
// there is a conversation to end.
func (r *run) tooLong() string {
	fixed, limit := r.g.agent.Fill(sessions.History{Settings: r.history.Settings})
	said := r.g.agent.Tokens(sessions.History{Messages: r.questions()})
	empty := len(r.history.Messages) == 0 && r.history.Summary == nil
	switch {
	case fixed >= limit, empty && said <= fixed:
		return "my instructions and tools alone are too long for the model, so I cannot answer anything here. Whoever runs me must shorten them or give me a model with a larger context window"
	case empty:
		return "this message is too long for the model to read. Please send less at once"
	default:
		return "this conversation has become too long for the model to read. /new starts a new conversation"
	}
}

// commit ends the turn in one step. While the store cannot write, the answer
// waits here, so that a full disk does not waste the model's work.
func (r *run) commit(ctx context.Context, res agent.Result, outcome, why string) error {
	t := sessions.Turn{ID: r.id, Answers: r.bound()}
	ended := outcome
	if outcome == "ran" {
		ended = "answered"
	}
	t.Counts = r.counts(res, outcome)
	if r.job != nil {
		outcome = r.job.fillCommit(ctx, r.g, &t, res, outcome, why)
		defer func() { r.g.opts.Observer.Heartbeat(r.job.label(), outcome) }()
	} else {
		text := r.answerText(&res)
		t.Messages = res.Messages
		t.Authors = r.authors()
		for i := range t.Messages {
			t.Messages[i].Turn = r.id
		}
		voice := channels.Attachment{}
		if outcome == "ran" {
			voice = r.speak(ctx, &t, text)
		}
		t.Replies = asVoice(r.replies(t, text, outcome), voice)
		if outcome == "ran" {
			r.addNotice(ctx, &t, text)
		}
	}
	if r.g.opts.Keep != nil {
		kept := r.g.opts.Keep(func() []stream.Event { return r.eventsOf(t, res, ended) })
		t.Notes = append(t.Notes, kept...)
	}
	for try := 0; ; try++ {
		err := r.commitOnce(ctx, &t)
		switch {
		case err == nil:
			r.kept = r.g.opts.Keep != nil
			if r.meter != nil {
				r.meter.counted = len(t.Counts) > 0
			}
			r.afterCommit(ctx, t)
			return nil
		case errors.Is(err, sessions.ErrFenced), errors.Is(err, sessions.ErrConflict), ctx.Err() != nil:
			return err
		}
		r.log().Error("the store refused an answer; trying again", "turn", r.id, "err", err)
		if !sleep(ctx, delay(200*time.Millisecond, 30*time.Second, try)) {
			return err
		}
	}
}

// replies are what the turn t sends: text, which is its answer, and what may follow it.
func (r *run) replies(t sessions.Turn, text, outcome string) []sessions.Reply {
	l := sessions.Label{Kind: channels.KindAnswer, Turn: r.id}
	if outcome == "failed" {
		l.Kind = channels.KindApology
	}
	list := r.g.split(l, r.claim.Key, text, r.newest())
	if r.live != nil {
		_, list[0].Edit = r.live.current()
	}
	files := sentFiles(r.id, t.Messages)
	if !r.asCaption(list, files) {
		list = withFiles(list, files)
	}
	if say := r.g.summaries.Choice(r.history, r.historyAfter(t)); say != "" {
		l.Kind = channels.KindNotice
		list = append(list, r.g.split(l, r.claim.Key, r.g.SpellCommands(r.claim.Key, say), r.newest())...)
	}
	return list
}

func (r *run) commitOnce(ctx context.Context, t *sessions.Turn) error {
	defer r.live.hold(ctx)()
	span := trace.Begin(ctx, "commit", trace.Internal)
	defer span.End()
	err := r.g.store.CommitTurn(ctx, r.claim, *t)
	if errors.Is(err, sessions.ErrSaid) {
		r.beside.leaveOut(t)
		err = r.g.store.CommitTurn(ctx, r.claim, *t)
	}
	if err != nil {
		span.Fail("store")
		return err
	}
	if t.Once != nil {
		r.beside.by.Told(r.beside.Notice)
	}
	r.live.committed()
	return nil
}

// historyAfter is the conversation with t added. The claim is still held, so
// nothing else has changed it.
func (r *run) historyAfter(t sessions.Turn) sessions.History {
	h := r.history
	h.Messages = append(h.Messages, t.Messages...)
	return h
}

func (r *run) afterCommit(ctx context.Context, t sessions.Turn) {
	r.tellWatchers(&t)
	r.g.settled(ctx, r.claim.Key, r.answersAsk())
	if r.job == nil {
		r.loadGeneration(ctx)
		r.emitSaved(t)
		r.g.summaries.AfterTurn(r.claim.Key, r.historyAfter(t))
		return
	}
	for _, reply := range t.Replies {
		r.g.chats.kick(reply.Key)
	}
}

func (g *Gateway) emit(e stream.Event) {
	e.At = g.opts.Now()
	g.opts.Events.Publish(e)
}

func (r *run) emitTurnDone(res agent.Result, outcome string, took time.Duration) {
	r.live.committed() // whoever hears of it and asks is told of no running turn
	e := r.doneEvent(res, outcome)
	e.TookMS = took.Milliseconds()
	e.Kept = r.kept
	r.g.emit(e)
}

// doneEvent is the event of a turn that has ended.
func (r *run) doneEvent(res agent.Result, outcome string) stream.Event {
	e := stream.Event{
		Event: stream.TurnDone, Key: r.claim.Key, Generation: r.history.Generation, Turn: r.id, Outcome: outcome,
		Steps: res.Steps, Messages: len(res.Messages),
	}
	addUsage(&e, res.Messages)
	return e
}

// eventsOf are the events of a turn that is committed now, as far as they are known
// before: without the name of a new generation.
func (r *run) eventsOf(t sessions.Turn, res agent.Result, outcome string) []stream.Event {
	var events []stream.Event
	if r.job == nil {
		events = r.savedEvents(t)
	}
	events = append(events, r.doneEvent(res, outcome))
	for i := range events {
		events[i].At = r.g.opts.Now()
	}
	return events
}

// loadGeneration reads the name of the generation that the commit has begun: an
// empty conversation had none before. If the store fails, events and log go
// without it.
func (r *run) loadGeneration(ctx context.Context) {
	if r.history.Generation != "" {
		return
	}
	c, err := r.g.store.Conversation(ctx, r.claim.Key)
	if err != nil {
		r.log().Warn("the new conversation cannot be read; its first events do not name its generation", "turn", r.id, "err", err)
		return
	}
	r.history.Generation = c.Generation
}

// emitSaved reports that a turn's messages were stored and, if they are the first of
// their generation, that it was created.
func (r *run) emitSaved(t sessions.Turn) {
	for _, e := range r.savedEvents(t) {
		if e.Event == stream.SessionCreate {
			r.g.log(e.Key).Info("session created", "generation", e.Generation, "turn", e.Turn)
		}
		e.Kept = r.kept
		r.g.emit(e)
	}
}

// savedEvents are those that emitSaved emits.
func (r *run) savedEvents(t sessions.Turn) (events []stream.Event) {
	h := r.history
	e := stream.Event{
		Event: stream.SessionSave, Key: r.claim.Key, Generation: h.Generation, Turn: r.id, Messages: len(t.Messages),
	}
	addUsage(&e, t.Messages)
	// Text that /stop has ended, notes and imported messages have no turn.
	ofTurn := func(m sessions.Message) bool { return m.Turn != "" }
	if h.Summary == nil && h.Omitted == 0 && h.Replaced == 0 && !slices.ContainsFunc(h.Messages, ofTurn) {
		events = append(events, stream.Event{Event: stream.SessionCreate, Key: e.Key, Generation: e.Generation, Turn: e.Turn})
	}
	return append(events, e)
}

// counts are what is added up of a turn that ends with outcome: of one that failed, what the
// model answered before.
func (r *run) counts(res agent.Result, outcome string) []sessions.Count {
	paid := slices.Concat(res.Messages, r.cut)
	switch outcome {
	case "skipped":
		paid = r.cut
		if len(paid) == 0 {
			return nil
		}
	case "failed":
		paid = r.answered
	}
	return r.g.counts(r.asked(), paid)
}

// wasPaid reports whether what s used is counted also if its turn fails: an answer of the
// model, a call of it that a crash has cut, or the result of a tool that paid. What a task
// used is in steps of its own.
func wasPaid(s sessions.Step) bool {
	if s.Message == nil {
		return false
	}
	used := s.Message.Usage
	return s.Kind == sessions.StepModel || s.Kind == sessions.StepCut || s.Kind == sessions.StepToolDone && used != nil && used.Input+used.Output == 0
}

// answers are what was paid for in the steps of a turn.
func answers(steps []sessions.Step) (all []sessions.Message) {
	for _, s := range steps {
		if wasPaid(s) {
			all = append(all, *s.Message)
		}
	}
	return all
}

// usageOf adds up what the model used for messages.
func usageOf(messages []sessions.Message) (sum sessions.Usage) {
	for _, m := range messages {
		if m.Usage != nil {
			sum.Add(*m.Usage)
		}
	}
	return sum
}

func addUsage(e *stream.Event, messages []sessions.Message) {
	sum := usageOf(messages)
	e.InputTokens = sum.Input
	e.OutputTokens = sum.Output
	e.CachedTokens = sum.Cached
	e.Cost = sum.Cost
}

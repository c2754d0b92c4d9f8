package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// ErrNoInput is returned for a turn that has no user message to answer.
var ErrNoInput = errors.New("agent: the turn has no user message to answer")

// What the person reads when a turn ends in another way than by an answer.
const (
	sayCut         = "(The answer was cut off here: it reached the length limit.)"
	sayFiltered    = "(The rest of the answer was held back by the model's content filter.)"
	sayCutThoughts = "(I was still thinking when I reached the length limit, so there is no answer.)"
	// sayEmpty is in the transcript alone: templates that go by turns refuse two
	// messages of people in a row.
	sayEmpty   = "(I gave no answer.)"
	sayNoSteps = "(I stopped: after %d steps I still had no answer.)"
	sayRepeat  = "(I stopped: I kept calling the tool %s with the same input and got no further.)"
)

// finishLength is the Response.Finish of an answer that was cut.
const finishLength = "length"

// What the model reads.
const (
	noteLastStep = "[This is the last step of this turn and no tools can be called any more. Answer now with what you have, and say what is missing.]"
	noteRepeat   = "[You have made the same tool call with the same input at least three times in a row. Its result will not change. Do something else, or answer with what you have. The same call once more ends the turn.]"
)

// run is one turn under way. One goroutine owns it; while tools run side by
// side, mu guards what they share: the journal and the progress.
type run struct {
	a      *Agent
	t      Turn
	model  Model
	frame  window.Frame
	offer  offer
	fixed  int             // tokens that every request takes beside its messages
	person channels.Person // the newest message's sender

	// all is the history, the input and what was added; own is where the
	// input begins, and fresh where what was added begins.
	all        []sessions.Message
	own, fresh int
	// asked is who gives the next answer, and whether people saw some of it.
	asked Asked
	// said is what the model said to the person before its last message.
	said  []string
	usage sessions.Usage
	steps int
	lacks lack // Result.Unaccounted and Result.SilentlyDropped
	// finished and thought are Result.Finish and Result.Thought.
	finished string
	thought  bool
	ids      map[string]bool // of the turn's calls

	started map[string]bool             // calls that began in an earlier run
	done    map[string]sessions.Message // and those that have a result

	// most, if not 0, is how many tokens of messages the server took last
	// when it refused more than that.
	most int
	// compacted says that the history was summarised for this turn,
	// compactTried that it was to be, and compactedAll that all of it was.
	compacted, compactTried, compactedAll bool
	// left is how many messages the last request left out because they do not
	// fit, cutSaid that the log knows, and whyUncut why no summary stands for
	// them.
	left     int
	cutSaid  bool
	whyUncut string
	// summaryFailed is Result.SummaryFailed.
	summaryFailed bool
	// toldThoughts says that thoughts of this run were handed on.
	toldThoughts bool
	// forced says that the server found a request too long, so that results of
	// tools are notices from then on.
	forced bool
	// stuck says that nothing came of a summary for the sake of their number.
	stuck bool
	// barred says that the person may not use tools any more.
	barred atomic.Bool

	mu sync.Mutex
}

// Run answers t. The Result's Text is everything that the model said to the
// person in this turn, what it said between tool calls included. On an error
// the Result has only what was counted, and the turn can be run again with its
// journal.
func (a *Agent) Run(ctx context.Context, t Turn) (Result, error) {
	r, err := a.begin(t)
	if err != nil {
		return Result{}, err
	}
	res, err := r.loop(ctx)
	if a.halves.forget(t.ID); r.asked.Shown && r.asked.Model != "" {
		a.halves.set(t.ID, r.asked)
	}
	if err != nil {
		res = Result{Usage: r.usage, Steps: r.steps}
	}
	res.Unaccounted, res.SilentlyDropped, res.SummaryFailed = r.lacks.all, r.lacks.silent, r.summaryFailed
	res.Finish, res.Thought = r.finished, r.thought
	return res, err
}

func (a *Agent) begin(t Turn) (*run, error) {
	t.History = window.WholeGroups(t.History)
	r := &run{
		a: a, t: t, person: t.Person,
		model:   a.modelFor(t),
		ids:     make(map[string]bool),
		started: make(map[string]bool),
		done:    make(map[string]sessions.Message),
		own:     len(t.History.Messages),
	}
	r.setFrame()
	r.all = append(t.History.Messages, t.Input...)
	r.fresh = len(r.all)
	hasUser := false
	for i := range r.all[r.own:] {
		m := &r.all[r.own+i]
		hasUser = hasUser || m.Role == sessions.RoleUser
		m.Turn = cmp.Or(m.Turn, t.ID)
	}
	if !hasUser {
		return nil, ErrNoInput
	}
	r.replay(t.Steps)
	r.asked, _ = a.halves.get(t.ID)
	return r, nil
}

// loop takes steps until one of them ends the turn. Its state is in r.all
// alone, so that a turn that was journaled goes on like one that never broke.
func (r *run) loop(ctx context.Context) (Result, error) {
	for {
		if err := stopped(ctx); err != nil {
			return Result{}, err
		}
		if len(r.openCalls()) > 0 {
			if err := r.runCalls(ctx); err != nil {
				return Result{}, err
			}
			continue
		}
		if again, warn := r.repeating(); again != "" {
			return r.finish(fmt.Sprintf(sayRepeat, again), nil, true), nil
		} else if warn && r.last().Role == sessions.RoleTool {
			if err := r.note(ctx, noteRepeat); err != nil {
				return Result{}, err
			}
		}
		if err := r.steer(ctx); err != nil {
			return Result{}, err
		}
		final := r.steps >= r.a.opts.MaxSteps-1 || r.barred.Load()
		resp, err := r.step(ctx, final)
		if err != nil {
			return Result{}, err
		}
		if final || len(resp.Message.ToolCalls) == 0 {
			return r.end(resp), nil
		}
		if err := r.take(ctx, resp); err != nil {
			return Result{}, err
		}
	}
}

// end makes the result of the model's last answer.
func (r *run) end(resp *Response) Result {
	text := resp.Message.Content
	if text != "" {
		res := r.finish(text, resp, false)
		switch {
		case resp.Finish == finishLength:
			res.Text += "\n\n" + sayCut
		case resp.Finish == "content_filter" && !resp.Refused:
			res.Text += "\n\n" + sayFiltered
		}
		return res
	}
	switch {
	case len(resp.Message.ToolCalls) > 0:
		// It wanted tools when there were none any more.
		return r.finish(fmt.Sprintf(sayNoSteps, r.steps), resp, true)
	case resp.Finish == finishLength && resp.Thought:
		return r.finish(sayCutThoughts, resp, true)
	case resp.Finish == finishLength:
		return r.finish(sayCut, resp, true)
	default:
		res := r.finish(sayEmpty, resp, true)
		res.Text = strings.Join(r.said, "\n\n") // the caller decides what that means
		return res
	}
}

// finish makes text the turn's last message. resp is where it comes from, if
// it comes from the model.
func (r *run) finish(text string, resp *Response, synthetic bool) Result {
	m := sessions.Message{Role: sessions.RoleAssistant, Content: text, Synthetic: synthetic}
	if resp != nil {
		m.Usage, m.Model = resp.Message.Usage, resp.Message.Model
	}
	if resp != nil && !synthetic {
		m.Attached = resp.Message.Attached
	}
	r.stamp(&m)
	return Result{
		Messages: append(r.messages(), m),
		Text:     strings.Join(append(r.said, text), "\n\n"),
		Usage:    r.usage,
		Steps:    r.steps,
	}
}

// messages is what the turn adds to the transcript, so far.
func (r *run) messages() []sessions.Message { return slices.Clone(r.all[r.own:]) }

func (r *run) last() *sessions.Message { return &r.all[len(r.all)-1] }

// stamp fills in what every message of the turn has.
func (r *run) stamp(m *sessions.Message) {
	m.Turn = r.t.ID
	m.At = r.a.now()
	if m.Role == sessions.RoleAssistant {
		m.Model = cmp.Or(m.Model, r.model.Name()) // a fallback says who answered
	}
}

// take journals an answer with tool calls and makes it part of the turn.
func (r *run) take(ctx context.Context, resp *Response) error {
	m := resp.Message
	m.ToolCalls = window.UniqueIDs(m.ToolCalls, r.t.ID, r.ids)
	if err := r.record(ctx, sessions.Step{Kind: sessions.StepModel, Message: &m}); err != nil {
		return err
	}
	r.add(m)
	return nil
}

// add appends m, which the model wrote or somebody said.
func (r *run) add(m sessions.Message) {
	m.Turn = cmp.Or(m.Turn, r.t.ID)
	r.all = append(r.all, m)
	switch {
	case m.Role == sessions.RoleAssistant && m.Content != "":
		r.said = append(r.said, m.Content)
	case m.Role == sessions.RoleUser && !m.Synthetic && m.Sender != r.person.ID():
		r.person = channels.Person{Name: m.Name}
		if m.Sender != "" {
			r.person.IDs = []string{m.Sender}
		}
	}
}

// note journals and appends a synthetic message for the model.
func (r *run) note(ctx context.Context, text string) error {
	m := sessions.Message{Role: sessions.RoleUser, Content: text, Synthetic: true}
	r.stamp(&m)
	if err := r.record(ctx, sessions.Step{Kind: sessions.StepNote, Message: &m}); err != nil {
		return err
	}
	r.add(m)
	return nil
}

// steer asks for messages that came while the turn ran. The caller has
// journaled them.
func (r *run) steer(ctx context.Context) error {
	if r.t.Steer == nil || r.steps == 0 {
		return nil
	}
	msgs, err := r.t.Steer(ctx)
	if err != nil {
		return fmt.Errorf("agent: steer: %w", err)
	}
	for _, m := range msgs {
		r.add(m)
	}
	return nil
}

// record journals s. Tools that run side by side call it one at a time.
func (r *run) record(ctx context.Context, s sessions.Step) error {
	if r.t.Record == nil {
		return nil
	}
	s.At = r.a.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.t.Record(ctx, s); err != nil {
		return fmt.Errorf("agent: journal %s: %w", s.Kind, err)
	}
	return nil
}

func (r *run) progress(p Progress) {
	if r.t.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Progress(p)
}

// stopped returns ctx's error, with its cause where that says more.
func stopped(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(cause, err):
		return fmt.Errorf("agent: stopped: %w", cause)
	default:
		return fmt.Errorf("agent: stopped: %w: %w", err, cause)
	}
}

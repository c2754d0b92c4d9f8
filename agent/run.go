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

// ErrNoInput is returned for a turn without a user message to answer.
var ErrNoInput = errors.New("agent: the turn has no user message to answer")

// What people read if a turn ends without a complete answer.
const (
	sayCut         = "(The answer was cut off here: it reached the length limit.)"
	sayFiltered    = "(The rest of the answer was held back by the model's content filter.)"
	sayCutThoughts = "(I was still thinking when I reached the length limit, so there is no answer.)"
	// sayEmpty is only in the transcript: some chat templates refuse two user
	// messages in a row.
	sayEmpty   = "(I gave no answer.)"
	sayNoSteps = "(I stopped: after %d steps I still had no answer.)"
	sayRepeat  = "(I stopped: I kept calling the tool %s with the same input and got no further.)"
)

// The values of [Response.Finish] of an answer that is not whole: its length limit or a
// filter cut it off. Codecs translate their own words for that into these.
const (
	finishLength   = "length"
	finishFiltered = "content_filter"
)

// What the model reads.
const (
	noteLastStep = "[This is the last step of this turn and no tools can be called any more. Answer now with what you have, and say what is missing.]"
	noteRepeat   = "[You have made the same tool call with the same input at least three times in a row. Its result will not change. Do something else, or answer with what you have. The same call once more ends the turn.]"
)

// run is a running turn. One goroutine owns it. While tools run side by side, mu
// guards what they share: the journal and the progress.
type run struct {
	a     *Agent
	t     Turn
	model Model
	// persona answers; nil: none that the configuration names.
	persona *Persona
	frame   window.Frame
	kit     *kit
	offer   offer
	person  channels.Person // the newest message's sender

	// all is the history, the input from inputAt on, and from addedAt on what was added.
	all              []sessions.Message
	inputAt, addedAt int
	// pin says which model gives the next answer, and whether people saw part of it.
	pin Pin
	// said is what the model wrote for the person before its last message.
	said     []string
	steps    int
	finished string
	thought  bool
	ids      map[string]bool // ids of the turn's calls

	started map[string]bool             // calls that started in an earlier run
	done    map[string]sessions.Message // results of calls in an earlier run
	forms   map[string]*formOpen        // the newest of each call that asked the person something

	// taint is that of the request that was made last, and everTaint that of all.
	taint, everTaint sessions.Taint
	// waiting, if not nil, is why the turn ends now: calls wait for a decision.
	waiting *Waiting

	// fit is what the turn has tried so that its requests fit the model's window.
	fit fitting
	// sentThoughts: thoughts of this run were passed to Turn.Thoughts.
	sentThoughts bool
	// barred: the person lost the right to use tools.
	barred atomic.Bool
	// sending counts the files that the turn's calls send.
	sending atomic.Int64

	// in, if not nil, is the turn whose task this is, and tasks are its own.
	in    *parent
	tasks tasks

	// room is where the messages of the first request are, or nil: see takeRoom.
	room *[]sessions.Message

	mu sync.Mutex
}

// Run answers t. The Result's Text is everything that the model wrote for the person
// in this turn, including between tool calls. On an error the Result has only counts,
// and the turn can be run again with its journal.
func (a *Agent) Run(ctx context.Context, t Turn) (Result, error) {
	r, err := a.newRun(ctx, &t) // a copy here would be on the stack of each waiting turn
	if err != nil {
		return Result{}, err
	}
	defer r.leaveRoom()
	res, err := r.loop(ctx)
	a.partial.forget(t.ID)
	if r.pin.Shown && r.pin.Model != "" {
		a.partial.set(t.ID, r.pin)
	}
	if err != nil {
		res = Result{Steps: r.steps}
	}
	res.Unaccounted = r.fit.lacks.all
	res.SilentlyDropped = r.fit.lacks.silent
	res.SummaryFailed = r.fit.summaryFailed
	res.Finish, res.Thought = r.finished, r.thought
	res.Taint = r.everTaint.List()
	return res, err
}

func (a *Agent) newRun(ctx context.Context, t *Turn) (*run, error) { return a.newRunOf(ctx, t, nil) }

// newRunOf makes the run of a turn, or of a task in another one.
func (a *Agent) newRunOf(ctx context.Context, t *Turn, in *parent) (*run, error) {
	t.History = window.DropOrphanResults(t.History)
	r := &run{
		a: a, t: *t, person: t.Person,
		in:      in,
		model:   a.modelFor(*t),
		persona: a.personaOf(&t.History.Settings),
		ids:     make(map[string]bool),
		started: make(map[string]bool),
		done:    make(map[string]sessions.Message),
		forms:   make(map[string]*formOpen),
		inputAt: len(t.History.Messages),
	}
	if in == nil {
		r.kit = a.kitNow(ctx)
	} else {
		r.kit = in.run.kit
		r.persona = in.persona
	}
	r.setFrame()
	r.all = append(t.History.Messages, t.Input...)
	r.addedAt = len(r.all)
	hasUser := false
	for i := range r.all[r.inputAt:] {
		m := &r.all[r.inputAt+i]
		hasUser = hasUser || m.Role == sessions.RoleUser
		for _, c := range m.ToolCalls {
			r.ids[c.ID] = true
		}
		m.Turn = cmp.Or(m.Turn, t.ID)
	}
	if !hasUser {
		return nil, ErrNoInput
	}
	r.replay(t.Steps)
	r.pin, _ = a.partial.get(t.ID)
	return r, nil
}

// loop takes steps until one of them ends the turn. Its state is only in r.all, so
// that a turn replayed from the journal continues like one that was never
// interrupted.
func (r *run) loop(ctx context.Context) (Result, error) {
	if err := r.tellMissing(ctx); err != nil {
		return Result{}, err
	}
	for {
		if err := stopped(ctx); err != nil {
			return Result{}, err
		}
		if len(r.openCalls()) > 0 {
			theirs := r.theirCalls()
			if err := r.runCalls(ctx); err != nil {
				return Result{}, err
			}
			if len(theirs) > 0 {
				return r.handOver(theirs), nil
			}
			continue
		}
		if stop, warn := r.checkRepeats(); stop != "" {
			return r.finishWith(fmt.Sprintf(sayRepeat, stop), nil, true), nil
		} else if warn && r.last().Role == sessions.RoleTool {
			if err := r.addNote(ctx, noteRepeat); err != nil {
				return Result{}, err
			}
		}
		if err := r.steer(ctx); err != nil {
			return Result{}, err
		}
		say, err := r.mayCall(ctx)
		if err != nil {
			return Result{}, err
		}
		if say != "" {
			return r.finishWith(say, nil, true), nil
		}
		final := r.steps >= r.maxSteps()-1 || r.barred.Load()
		resp, err := r.step(ctx, final)
		r.called(resp)
		if err != nil {
			return Result{}, err
		}
		if final || len(resp.Message.ToolCalls) == 0 {
			return r.resultOf(resp), nil
		}
		if err := r.acceptCalls(ctx, resp); err != nil {
			return Result{}, err
		}
	}
}

// mayCall asks the meter whether the next call may begin.
func (r *run) mayCall(ctx context.Context) (say string, err error) {
	if r.t.Meter == nil {
		return "", nil
	}
	name := r.model.Name()
	size := r.fit.fixed + r.fit.known + r.a.messageTokens(r.all)
	say, err = r.t.Meter.Begin(ctx, name, min(size, r.a.nominalWindow(name)))
	if stop := stopped(ctx); stop != nil {
		return "", stop
	}
	if err != nil {
		return "", fmt.Errorf("agent: before a model call: %w", err)
	}
	return say, nil
}

// called tells the meter what a call used. resp is nil if it failed.
func (r *run) called(resp *Response) {
	if r.t.Meter == nil {
		return
	}
	var used *sessions.Usage
	if resp != nil {
		used = resp.Message.Usage
	}
	r.t.Meter.Used(used)
}

// pay counts what a call cost beside tokens, in its result m and with the meter.
func (r *run) pay(m *sessions.Message, p Payment) {
	if p.Cost <= 0 {
		return
	}
	m.Model = p.Model
	m.Usage = &sessions.Usage{Cost: sessions.RoundCost(p.Cost)}
	if r.t.Meter == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Meter.Used(m.Usage)
}

func (r *run) resultOf(resp *Response) Result {
	text := resp.Message.Content
	if text != "" {
		res := r.finishWith(text, resp, false)
		switch {
		case resp.Finish == finishLength:
			res.Text += "\n\n" + sayCut
		case resp.Finish == finishFiltered && !resp.Refused:
			res.Text += "\n\n" + sayFiltered
		}
		return res
	}
	switch {
	case len(resp.Message.ToolCalls) > 0:
		// It still wanted tools when no more were offered.
		return r.finishWith(fmt.Sprintf(sayNoSteps, r.steps), resp, true)
	case resp.Finish == finishLength && resp.Thought:
		return r.finishWith(sayCutThoughts, resp, true)
	case resp.Finish == finishLength:
		return r.finishWith(sayCut, resp, true)
	default:
		res := r.finishWith(sayEmpty, resp, true)
		res.Text = strings.Join(r.said, "\n\n") // the caller decides what to do without a text
		return res
	}
}

// finishWith makes text the turn's last message. resp is the answer that it comes
// from, or nil.
func (r *run) finishWith(text string, resp *Response, synthetic bool) Result {
	m := sessions.Message{Role: sessions.RoleAssistant, Content: text, Synthetic: synthetic}
	if resp != nil {
		m.Usage, m.Model = resp.Message.Usage, resp.Message.Model
	}
	if resp != nil && !synthetic {
		m.Attached = resp.Message.Attached
	}
	r.stamp(&m)
	return Result{
		Messages: append(slices.Clone(r.all[r.inputAt:]), m),
		Text:     strings.Join(append(r.said, text), "\n\n"),
		Steps:    r.steps,
	}
}

// maxSteps is how many calls of the model r may make.
func (r *run) maxSteps() int {
	if r.in != nil && r.in.steps > 0 {
		return r.in.steps
	}
	return r.a.opts.MaxSteps
}

func (r *run) last() *sessions.Message { return &r.all[len(r.all)-1] }

func (r *run) progress(p Progress) {
	if r.t.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Progress(p)
}

// stopped returns ctx's error, with its cause if that says more.
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

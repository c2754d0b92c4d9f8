package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/agent"
)

// A server may ask the person something in the middle of a call. In the present era its
// question is the result, and the call is made again with the answer, after a restart too. In
// the former one the call stays open meanwhile, in this process alone.

const (
	// maxQuestions of a server are put to a person in one call.
	maxQuestions = 3
	// maxRounds of questions, of which nobody may be asked any, are answered in one call, and
	// maxAtOnce in one round.
	maxRounds = 5
	maxAtOnce = 20
	// askFor is how long a call of the former era waits for an answer. Whoever asks the person
	// gives up before.
	askFor = 12 * time.Minute
)

// goOn continues a call with the person's answer, or begins it.
func (t *tool) goOn(ctx context.Context, c agent.Call, q query) (string, error) {
	if c.Answer == nil {
		return t.await(ctx, t.begin(q), q, waiting{})
	}
	var w waiting
	if err := json.Unmarshal([]byte(c.Answer.State), &w); err != nil {
		return "", errLost
	}
	if w.Live != "" {
		u := t.l.pool.takeParked(w.Live)
		if u == nil {
			return "", errLost
		}
		u.answer <- resultFor(c.Answer)
		return t.await(ctx, u, q, w)
	}
	if w.Answers == nil {
		w.Answers = map[string]*sdk.ElicitResult{}
	}
	w.Answers[w.Now] = resultFor(c.Answer)
	return t.nextQuestion(ctx, q, w)
}

// errLost: a call of the former era ended with the process.
var errLost = errors.New("interrupted: the server had asked the person something, and Dragoman was restarted since; the call may or may not have happened")

// nextQuestion puts the next question of a round, or makes the call again when all are
// answered.
func (t *tool) nextQuestion(ctx context.Context, q query, w waiting) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(w.Questions)) {
		if w.Answers[name] != nil {
			continue
		}
		f, why := formOf(t.l.Name, w.Questions[name])
		if why == "" && w.Asked >= maxQuestions {
			why = fmt.Sprintf("it asked more than %d times", maxQuestions)
		}
		if why != "" {
			t.l.refused(why)
			w.Why = why
			w.Answers[name] = &sdk.ElicitResult{Action: string(agent.Declined)}
			continue
		}
		w.Now = name
		w.Asked++
		return "", w.asking(f)
	}
	q.state = w.State
	q.inputs = sdk.InputResponseMap{}
	for name, a := range w.Answers {
		q.inputs[name] = a
	}
	return t.await(ctx, t.begin(q), q, waiting{Asked: w.Asked, Rounds: w.Rounds, Why: w.Why})
}

// underway is a call, which goes on while a question of the former era waits.
type underway struct {
	id     string
	cancel context.CancelCauseFunc
	asked  chan agent.Form        // capacity 1: one question at a time
	answer chan *sdk.ElicitResult // capacity 1
	over   chan struct{}          // closed when the server has answered, or never will; the link's mu guards it
	done   chan struct{}          // closed after r and err are set
	token  string                 // of its progress; the link's mu guards it
	count  int                    // of its questions; the link's mu guards it
	why    string                 // a question of it was declined; the link's mu guards it
	r      *sdk.CallToolResult
	err    error
}

// begin makes a call.
func (t *tool) begin(q query) *underway {
	p := t.l.pool
	ctx, cancel := context.WithCancelCause(p.ctx)
	u := &underway{
		id: p.born + " " + strconv.FormatInt(tokens.Add(1), 10), cancel: cancel,
		asked: make(chan agent.Form, 1), answer: make(chan *sdk.ElicitResult, 1), done: make(chan struct{}),
	}
	q.under = u
	p.wait.Go(func() {
		defer close(u.done)
		defer cancel(nil)
		u.r, u.err = t.l.call(ctx, t.pin, q)
	})
	return u
}

// await waits for the result of a call, or for its question.
func (t *tool) await(ctx context.Context, u *underway, q query, w waiting) (string, error) {
	select {
	case f := <-u.asked:
		t.l.pool.park(u)
		return "", waiting{Live: u.id}.asking(f)
	case <-u.done:
	case <-ctx.Done():
		u.cancel(context.Cause(ctx))
		<-u.done // at most callGrace later
	}
	if u.err != nil {
		return "", u.err
	}
	if len(u.r.InputRequests) > 0 {
		return t.nextRound(ctx, u.r, q, w)
	}
	text, err := t.read(u.r)
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	return text + notAsked(cmp.Or(w.Why, u.why)), err
}

// notAsked tells the model why a question did not reach the person; "" of no reason.
func notAsked(why string) string {
	if why == "" {
		return ""
	}
	return "\n[Dragoman did not put a question of this server to the person, and told the server that they declined: " + why + ". Say that to the person.]"
}

// nextRound puts the questions that are a call's result.
func (t *tool) nextRound(ctx context.Context, r *sdk.CallToolResult, q query, w waiting) (string, error) {
	next := waiting{State: r.RequestState, Questions: map[string]*sdk.ElicitParams{}, Answers: map[string]*sdk.ElicitResult{}, Asked: w.Asked, Rounds: w.Rounds + 1, Why: w.Why}
	if next.Rounds > maxRounds || len(r.InputRequests) > maxAtOnce {
		return "", fmt.Errorf("%s: the server goes on asking what nobody is asked; it may or may not have happened", t.l.Name)
	}
	if w.Asked >= maxQuestions {
		return "", fmt.Errorf("%s: the server asked the person %d times and wants to ask again; it may or may not have happened", t.l.Name, w.Asked)
	}
	for name, one := range r.InputRequests {
		asks, is := one.(*sdk.ElicitParams)
		if !is {
			return "", fmt.Errorf("%s: the server wants something of the model or of this machine that it does not get", t.l.Name)
		}
		next.Questions[name] = asks
	}
	return t.nextQuestion(ctx, q, next)
}

// elicit is asked by a server of the former era in the middle of a call. Which one it means it
// does not say, so it must be the only one.
func (l *link) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	f, why := formOf(l.Name, r.Params)
	u, token, count := l.asker()
	over := l.overOf(u)
	switch {
	case u == nil:
		why = cmp.Or(why, "several calls were running, and it did not say for which it asked")
	case why == "" && count > maxQuestions:
		why = fmt.Sprintf("it asked more than %d times", maxQuestions)
	}
	if why != "" {
		l.refused(why)
		if u != nil {
			l.mu.Lock()
			u.why = why
			l.mu.Unlock()
		}
		return &sdk.ElicitResult{Action: string(agent.Declined)}, nil
	}
	dismissed := &sdk.ElicitResult{Action: string(agent.Dismissed)}
	l.hold(token, true)
	defer l.hold(token, false)
	select {
	case u.asked <- f:
	default:
		return dismissed, nil // it asks two things at once
	}
	select {
	case a := <-u.answer:
		return a, nil
	case <-over: // the connection may not end before this returns
	case <-ctx.Done():
	case <-time.After(askFor):
	}
	return dismissed, nil
}

// asker is the only call that runs, and one more question of it is counted; nil: there are
// several, or none.
func (l *link) asker() (u *underway, token string, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.under) != 1 {
		return nil, "", 0
	}
	for u = range l.under {
		u.count++
	}
	return u, u.token, u.count
}

// overOf is closed when what runs of u has ended; nil of no call.
func (l *link) overOf(u *underway) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u == nil {
		return nil
	}
	return u.over
}

// runs notes that a call has a connection, until ended is called.
func (l *link) runs(u *underway, token string) (ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under == nil {
		l.under = map[*underway]bool{}
	}
	l.under[u] = true
	u.token = token
	over := make(chan struct{})
	u.over = over
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.under, u)
		close(over)
	})
}

// refusedEvery is how often it is logged that a question was declined.
const refusedEvery = 5 * time.Second

// refused logs why a person was not asked. The server reads that they declined.
func (l *link) refused(why string) {
	l.mu.Lock()
	recent := time.Since(l.declined) < refusedEvery
	if !recent {
		l.declined = time.Now()
	}
	l.mu.Unlock()
	if recent {
		return
	}
	l.pool.o.Logger.Warn("a question of a server of tools was declined", "server", l.Name, "err", why)
}

// hold stops the time of a call while its question waits.
func (l *link) hold(token string, on bool) {
	l.mu.Lock()
	p := l.calls[token]
	l.mu.Unlock()
	if p != nil {
		p.hold(on)
	}
}

// park keeps a call until its turn goes on, or for good after a while.
func (p *Pool) park(u *underway) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parked == nil {
		p.parked = map[string]*underway{}
	}
	p.parked[u.id] = u
	p.wait.Go(func() {
		select {
		case <-p.ctx.Done():
		case <-time.After(2 * askFor):
		}
		if p.takeParked(u.id) != nil {
			u.cancel(errors.New("nobody went on with the call"))
		}
	})
}

// takeParked returns a call that waits; nil: there is none, or another process has it.
func (p *Pool) takeParked(id string) *underway {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.parked[id]
	delete(p.parked, id)
	return u
}

package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

const (
	// ownChannel begins the key under which turns without a conversation appear in logs
	// and tools. No conversation has it.
	ownChannel = "api"
	// keepWithin bounds the keeping of an answer.
	keepWithin = 5 * time.Second
)

// sink writes an answer to a client. One goroutine calls it.
type sink interface {
	// more writes what came since.
	more(p progress)
	// beat shows that the connection lives.
	beat()
	// done writes the end of an answer that is complete.
	done(out *outcome)
	// failed writes the end of one that is not.
	failed(no *respond.Refusal)
}

// answer runs the turn of a request, or finds the answer of an earlier one, and writes it.
func (s *server) answer(w http.ResponseWriter, r *http.Request, body []byte, a *asked, to sink) error {
	try, err := s.attemptOf(r, caller(r), body)
	if err != nil {
		return err
	}
	v := newView(s.Beat, a.id, s.Now())
	mine, other := try.begin(v)
	if other != nil {
		return s.attach(w, r, try, other, to)
	}
	ended := make(chan struct{})
	var out *outcome
	var replayed bool
	go func() {
		defer close(ended)
		defer func() { try.end(mine, out, err) }()
		defer recoverTo(&err)
		out, replayed, err = s.produce(r.Context(), caller(r), try, a, v)
	}()
	v.follow(ended, to)
	if err != nil {
		to.failed(s.refusalOf(err, try.began()))
		return nil
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	to.done(out)
	return nil
}

// recoverTo turns a panic of a request's goroutine into its error, so that one bug does
// not end the daemon. The value may hold what people wrote, so only its type is told.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("openai: a request panicked with %T\n%s", v, debug.Stack())
	}
}

// attach answers a repeat as the running request is answered: with what is there of the
// answer, and then with the rest.
func (s *server) attach(w http.ResponseWriter, r *http.Request, try *attempt, other *flight, to sink) error {
	if other.body != try.kept.Body {
		return errReused
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-other.done:
		case <-r.Context().Done():
		}
	}()
	w.Header().Set("Idempotency-Replayed", "true") // before a stream begins
	v, leave := other.view.repeat()
	defer leave()
	v.follow(ended, to)
	if err := r.Context().Err(); err != nil {
		return err
	}
	if other.err != nil {
		to.failed(s.refusalOf(other.err, false))
		return nil
	}
	to.done(other.out)
	return nil
}

// produce returns the answer to a request: that of an earlier one, or a new one.
func (s *server) produce(ctx context.Context, who people.Principal, try *attempt, a *asked, v *view) (out *outcome, replayed bool, err error) {
	before, err := try.load(ctx)
	if before != nil || err != nil {
		return before, true, err
	}
	try.kept.Turn = cmp.Or(try.kept.Turn, "v1-"+rand.Text())
	if try.keyed && !try.stored {
		if err := try.note(ctx); err != nil {
			return nil, false, err
		}
	}
	t, inputs, err := s.turn(ctx, who, try, a, v)
	if err != nil {
		return nil, false, err
	}
	res, err := s.Turns.Given(ctx, *t)
	if err != nil {
		return nil, false, err
	}
	added := res.Messages[inputs:]
	got := outcomeOf(a.id, s.Now(), &res, added, v.thoughts())
	if a.given.Must && len(got.Calls) == 0 && got.Finish == finishStop {
		return nil, false, &respond.Refusal{Status: http.StatusBadGateway, NoRepeat: true, Sentence: "The model did not call the tool that tool_choice requires."}
	}
	// The client must get what is kept for it, even if it hangs up now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	if a.store != nil {
		if err := a.store(ctx, &got, added, ""); err != nil {
			return nil, false, err
		}
	}
	return &got, false, try.finish(ctx, &got, added)
}

// turn is the turn of a request. inputs is how many messages its Input has.
func (s *server) turn(ctx context.Context, who people.Principal, try *attempt, a *asked, v *view) (t *agent.Turn, inputs int, err error) {
	key, err := channels.NewKey(ownChannel, who.ID)
	if err != nil {
		return nil, 0, fmt.Errorf("openai: %w", err)
	}
	last := len(a.messages) - 1
	for last > 0 && a.messages[last].Role != sessions.RoleUser {
		last--
	}
	input, err := s.withParts(ctx, who.ID, a.messages[last:], a.places[last:])
	if err != nil {
		return nil, 0, err
	}
	given := a.given
	t = &agent.Turn{
		ID: try.kept.Turn, Key: key, Private: true, Operator: who.IsOperator(),
		Person: channels.Person{IDs: []string{who.ID}, Name: who.Name},
		System: a.instructions(), Input: input, Given: &given,
		Steps: try.kept.Steps, Record: try.step, Progress: v.show, Thoughts: v.think,
	}
	t.History.Messages = slices.Clone(a.messages[:last])
	t.History.Settings.Reasoning = a.effort
	t.History.Settings.Agent = agentOf(a.model)
	if a.model != Model && t.History.Settings.Agent == "" {
		t.History.Settings.Model = a.model
	}
	return t, len(input), nil
}

// instructions are the client's system messages as a part of the system prompt.
func (a *asked) instructions() string {
	if len(a.system) == 0 {
		return ""
	}
	return "The program through which the person writes adds these instructions. They change nothing about the rules above:\n\n" + strings.Join(a.system, "\n\n")
}

// withParts puts what we did in an unfinished turn in the place of what the client knows
// of it.
func (s *server) withParts(ctx context.Context, owner string, msgs []sessions.Message, places []string) (all []sessions.Message, err error) {
	for i, m := range msgs {
		if len(m.ToolCalls) == 0 || places[i] == placeBefore {
			all = append(all, m)
			continue
		}
		part, err := s.part(ctx, owner, m.ToolCalls)
		switch {
		case errors.Is(err, errNoPart):
			all = append(all, m)
		case err != nil:
			return nil, err
		default:
			for i := range part {
				part[i].Turn = givenTurn
			}
			all = append(all, part...)
		}
	}
	return all, nil
}

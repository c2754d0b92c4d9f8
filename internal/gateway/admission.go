package gateway

import (
	"context"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// goneJobs ends the turns of jobs that are no longer configured.
type goneJobs struct{}

// Before implements [admission.Rule].
func (goneJobs) Before(_ context.Context, t admission.Turn) (admission.Verdict, error) {
	if t.Job != "" && t.Key == (channels.Key{}) {
		return admission.End("the job is no longer configured"), nil
	}
	return admission.Verdict{}, nil
}

// SetRules replaces the rules that are asked before each turn, for turns that begin from
// now on, and asks them about those that are parked.
func (g *Gateway) SetRules(ctx context.Context, rules []admission.Rule) error {
	g.setRules(rules)
	return g.unpark(ctx)
}

func (g *Gateway) setRules(rules []admission.Rule) {
	all := append([]admission.Rule{goneJobs{}}, rules...)
	g.rules.Store(&all)
}

// Rules are the rules that are asked now.
func (g *Gateway) Rules() []admission.Rule { return *g.rules.Load() }

// asked is the turn as rules see it.
func (r *run) asked() admission.Turn {
	newest := r.newest()
	t := admission.Turn{ID: r.id, Key: r.claim.Key, Person: newest.Sender, Private: newest.Private, Parks: r.job == nil, At: r.g.opts.Now()}
	if r.job != nil {
		t.Job = r.job.name
		t.Key = r.job.target
	}
	if id := newest.Sender.ID(); id != "" && (r.job == nil || r.job.reminder != "") {
		t.Owner = people.Identity(t.Key.Channel(), id)
	}
	return t
}

// askRules returns what the first rule says that does not let t go on.
func (g *Gateway) askRules(ctx context.Context, t admission.Turn) (v admission.Verdict, err error) {
	defer recoverTo(&err, "a rule before turn "+t.ID)
	for _, rule := range *g.rules.Load() {
		v, err = rule.Before(ctx, t)
		if !v.IsZero() || err != nil {
			return v, err
		}
	}
	return admission.Verdict{}, nil
}

// endByRule asks the rules, and commits or parks the turn if one says so. It is not ended if
// all let it go on; ended may come with an error of the store.
func (r *run) endByRule(ctx context.Context) (ended bool, err error) {
	began := time.Now()
	v, err := r.g.askRules(ctx, r.asked())
	if err != nil {
		outcome, err := r.finish(ctx, agent.Result{}, r.asStoreError(err))
		r.g.opts.Observer.TurnEnded(outcome, time.Since(began))
		return true, err
	}
	if v.IsZero() {
		return false, nil
	}
	outcome := "skipped"
	var res agent.Result
	if v.Until.IsZero() || r.job != nil {
		res, err = r.skip(ctx, v)
	} else {
		outcome = "parked"
		err = r.park(ctx, v)
	}
	if err != nil {
		return true, err
	}
	if r.parked && outcome == "parked" {
		return true, nil // still: nobody need hear of it again
	}
	r.g.opts.Observer.TurnEnded(outcome, time.Since(began))
	r.emitTurnDone(res, outcome, time.Since(began))
	r.log().Debug("a rule has ended the turn", "turn", r.id, "outcome", outcome)
	return true, nil
}

// skip commits a turn that ends with a sentence of ours.
func (r *run) skip(ctx context.Context, v admission.Verdict) (agent.Result, error) {
	res, err := r.ending(ctx, v.Say)
	if err != nil {
		return res, err
	}
	if r.job != nil {
		r.job.spent = !v.Again.IsZero()
	} else if !v.Again.IsZero() {
		r.g.chats.keepSpent(r.claim.Key, r.id, v.Again)
	}
	r.g.chats.goesOn(r.claim.Key)
	return res, r.commit(ctx, res, "skipped", v.Say)
}

// ending is the result of a turn that ends with a sentence of ours. A job has none: it
// only has an outcome.
func (r *run) ending(ctx context.Context, sentence string) (agent.Result, error) {
	if r.job != nil {
		return agent.Result{}, nil
	}
	h, err := r.g.history(ctx, r.claim.Key)
	if err != nil {
		return agent.Result{}, err
	}
	r.history = h
	text := r.g.SpellCommands(r.claim.Key, sentence)
	said := sessions.Message{Role: sessions.RoleAssistant, Content: text, At: r.g.opts.Now(), Synthetic: true}
	return agent.Result{Text: text, Messages: append(r.questions(), said)}, nil
}

// counts are what is added up of t, in which the model wrote messages.
func (g *Gateway) counts(t admission.Turn, messages []sessions.Message) (all []sessions.Count) {
	if g.opts.Count != nil {
		all = g.opts.Count(t, messages)
	}
	return g.appendCounts(all, t, messages)
}

// appendCounts appends what rules count of t.
func (g *Gateway) appendCounts(all []sessions.Count, t admission.Turn, messages []sessions.Message) []sessions.Count {
	sum := usageOf(messages)
	for _, rule := range *g.rules.Load() {
		if c, able := rule.(admission.Counter); able {
			all = append(all, c.Count(t, sum)...)
		}
	}
	return all
}

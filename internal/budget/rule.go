package budget

import (
	"context"
	"math"
	"time"

	"dragoman/internal/admission"
	"dragoman/sessions"
)

// Type is the type of this rule.
var Type = admission.Type{Name: "budgets", Settings: func() admission.Settings { return new(Settings) }}

var (
	_ admission.Meter   = (*rule)(nil)
	_ admission.Counter = (*rule)(nil)
	_ admission.Teller  = (*rule)(nil)

	_ admission.Budgeter = (*rule)(nil)
	_ admission.Warner   = (*rule)(nil)
	_ admission.Priced   = (*Settings)(nil)
)

// Rule implements [admission.Settings].
func (s *Settings) Rule(with admission.Setup) admission.Rule {
	if !s.On() {
		return nil
	}
	if with.Zone == nil {
		with.Zone = time.Local
	}
	if with.People == nil {
		with.People = alone{}
	}
	return &rule{
		limits: *s, with: with,
		accounts: map[account]*state{}, tickets: map[string]*ticket{}, freed: make(chan struct{}),
	}
}

// alone are people with one identity each.
type alone struct{}

// Person implements [admission.People].
func (alone) Person(_ context.Context, identity string) (string, error) { return identity, nil }

// Owners implements [admission.People].
func (alone) Owners(_ context.Context, identity string) ([]string, error) {
	return []string{identity}, nil
}

// longAnswer is what is reserved for an answer, in tokens, if nothing limits it.
const longAnswer = 4096

// estimate returns what a call may use, in the units of sums.
func (r *rule) estimate(c admission.Call) int64 {
	answer := r.with.MaxTokens
	if answer == 0 {
		answer = longAnswer
	}
	if r.limits.Unit == Tokens {
		return int64(c.Input) + int64(answer)
	}
	if r.with.Price == nil {
		return 0
	}
	return int64(math.Round(r.with.Price(c.Model, c.Input, answer) * billion))
}

// Before implements [admission.Rule].
func (r *rule) Before(ctx context.Context, t admission.Turn) (admission.Verdict, error) {
	accounts, err := r.accountsOf(ctx, t)
	if err != nil {
		return admission.Verdict{}, err
	}
	err = r.refresh(ctx, accounts, t.At, false)
	if err != nil {
		return admission.Verdict{}, err
	}
	r.mu.Lock()
	over := r.exhausted(accounts, t.At)
	r.mu.Unlock()
	return r.verdict(ctx, t, over), nil
}

// Begin implements [admission.Meter].
func (r *rule) Begin(ctx context.Context, t admission.Turn, c admission.Call) (admission.Verdict, error) {
	accounts, err := r.accountsOf(ctx, t)
	if len(accounts) == 0 || err != nil {
		return admission.Verdict{}, err
	}
	most := r.estimate(c)
	for {
		err := r.refresh(ctx, accounts, t.At, r.with.Shared)
		if err != nil {
			return admission.Verdict{}, err
		}
		over, wait := r.reserve(t, accounts, most)
		if wait == nil {
			return r.verdict(ctx, t, over), nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return admission.Verdict{}, ctx.Err()
		}
	}
}

// Count implements [admission.Counter]: it adds what package usage does not.
func (r *rule) Count(t admission.Turn, used sessions.Usage) (all []sessions.Count) {
	n := min(r.limits.used(used), sessions.MaxCount)
	if n <= 0 {
		return nil
	}
	day := t.At.In(r.with.Zone).Format(dayForm)
	for _, a := range r.othersOf(t) {
		if a.scope == ofJob || a.scope == ofAll {
			all = append(all, sessions.Count{Kind: r.kinds(a)[0], Owner: a.owner, Day: day, N: n})
		}
	}
	return all
}

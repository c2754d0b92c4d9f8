package budget

import (
	"context"
	"fmt"
	"math"
	"slices"
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
	return r.verdict(ctx, t, over, false), nil
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
		elsewhere, err := r.elsewhere(ctx, accounts)
		if err != nil {
			return admission.Verdict{}, err
		}
		over, wait := r.reserve(t, accounts, most, elsewhere)
		if wait == nil {
			return r.verdict(ctx, t, over, !c.First), nil
		}
		err = await(ctx, wait, len(elsewhere) > 0)
		if err != nil {
			return admission.Verdict{}, err
		}
	}
}

// await waits until a call has ended here, or for a moment if one runs elsewhere: nobody
// tells us of its end.
func await(ctx context.Context, here <-chan struct{}, elsewhere bool) error {
	look := make(<-chan time.Time)
	if elsewhere {
		timer := time.NewTimer(freshFor)
		defer timer.Stop()
		look = timer.C
	}
	select {
	case <-here:
	case <-look:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// elsewhere is what is reserved of accounts for calls that run on other nodes.
func (r *rule) elsewhere(ctx context.Context, accounts []account) (map[account]int64, error) {
	if r.with.Elsewhere == nil {
		return nil, nil
	}
	calls, err := r.with.Elsewhere(ctx)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	reserved := map[account]int64{}
	for _, a := range accounts {
		var owners []string
		if a.scope == ofPerson {
			owners, err = r.with.People.Owners(ctx, a.owner)
			if err != nil {
				return nil, fmt.Errorf("budget: whose is %s: %w", a.owner, err)
			}
		}
		for i := range calls {
			if a.pays(&calls[i], owners) {
				reserved[a] += r.estimate(calls[i].Call)
			}
		}
	}
	return reserved, nil
}

// pays reports whether a call counts for a, which has these owners if it is a person's.
func (a account) pays(u *admission.Underway, owners []string) bool {
	switch a.scope {
	case ofPerson:
		return slices.Contains(owners, u.Owner)
	case ofChat:
		return !u.Key.IsZero() && sessions.ChatScope(u.Key) == a.owner
	case ofJob:
		return u.Job != "" && u.Job == a.job()
	}
	return true
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

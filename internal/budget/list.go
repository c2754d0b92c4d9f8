package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/internal/admission"
	"dragoman/sessions"
)

// The names of scopes and periods in lists.
var (
	scopeNames  = [...]string{ofPerson: "person", ofChat: "chat", ofJob: "job", ofAll: "all"}
	periodNames = [...]string{day: "day", month: "month"}
)

// chatPrefix and modelPrefix begin the owners that a chat and a model are (package usage).
const (
	chatPrefix  = "chat:"
	modelPrefix = "model/"
)

// sum is what was used on a day, and in its month until then.
type sum struct{ day, month int64 }

// BudgetsOf implements [admission.Budgeter].
func (r *rule) BudgetsOf(ctx context.Context, t admission.Turn) ([]admission.Budget, error) {
	accounts, err := r.accountsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	used := map[account]*sum{}
	for _, a := range accounts {
		var one sum
		one.day, one.month, err = r.sumsOf(ctx, a, t.At.In(r.with.Zone))
		if err != nil {
			return nil, fmt.Errorf("budget: read %s: %w", a.owner, err)
		}
		used[a] = &one
	}
	return r.list(ctx, t, used), nil
}

// AllBudgets implements [admission.Budgeter].
func (r *rule) AllBudgets(ctx context.Context, at time.Time) ([]admission.Budget, error) {
	kinds := append(r.kinds(account{scope: ofChat}), r.kinds(account{scope: ofJob})...)
	used, err := r.allOf(ctx, slices.Compact(kinds), at)
	if err != nil {
		return nil, err
	}
	return r.list(ctx, admission.Turn{At: at}, used), nil
}

// allOf reads what everybody whose sums are of these kinds has used on the day of at, and in
// its month until then.
func (r *rule) allOf(ctx context.Context, kinds []string, at time.Time) (map[account]*sum, error) {
	local := at.In(r.with.Zone)
	today := local.Format(dayForm)
	used := map[account]*sum{}
	for _, kind := range kinds {
		list, err := r.with.Sums.Sums(ctx, sessions.SumFilter{Kind: kind, From: local.Format("200601") + "01", To: today})
		if err != nil {
			return nil, fmt.Errorf("budget: read %s: %w", kind, err)
		}
		for _, c := range list {
			err := r.addTo(ctx, used, c, today)
			if err != nil {
				return nil, err
			}
		}
	}
	return used, nil
}

// addTo adds a sum of the store to that of its account, if that has a limit.
func (r *rule) addTo(ctx context.Context, used map[account]*sum, c sessions.Count, today string) error {
	a := account{ofPerson, c.Owner}
	switch {
	case c.Owner == everybody:
		a.scope = ofAll
	case sessions.JobOf(c.Owner) != c.Owner:
		a.scope = ofJob
		if !slices.Contains(r.kinds(a), c.Kind) {
			return nil // package usage counts the same
		}
	case strings.HasPrefix(c.Owner, modelPrefix):
		return nil
	case strings.HasPrefix(c.Owner, chatPrefix):
		a.scope = ofChat
	}
	if r.limitsOf(a) == (Limits{}) {
		return nil
	}
	if a.scope == ofPerson {
		person, err := r.with.People.Person(ctx, a.owner)
		if err != nil {
			return fmt.Errorf("budget: whose is %s: %w", a.owner, err)
		}
		a.owner = person
	}
	one := used[a]
	if one == nil {
		one = &sum{}
		used[a] = one
	}
	one.month += c.N
	if c.Day == today {
		one.day += c.N
	}
	return nil
}

// list makes a list of what accounts have used. It is read by whoever asks as t.
func (r *rule) list(ctx context.Context, t admission.Turn, used map[account]*sum) (all []admission.Budget) {
	for _, s := range r.shares(used) {
		all = append(all, r.budget(ctx, t, s))
	}
	slices.SortFunc(all, func(a, b admission.Budget) int {
		return cmp.Or(cmp.Compare(b.Used/b.Limit, a.Used/a.Limit), strings.Compare(a.Scope+a.Owner, b.Scope+b.Owner), strings.Compare(a.Period, b.Period))
	})
	return all
}

// shares are how much of each limit of accounts was used, in no order.
func (r *rule) shares(used map[account]*sum) (all []share) {
	for a, sum := range used {
		l := r.limitsOf(a)
		done, running := r.inMemory(a)
		for p, limit := range [...]float64{day: l.Day, month: l.Month} {
			if limit > 0 {
				all = append(all, share{a, period(p), r.limits.units(limit), [...]int64{day: sum.day, month: sum.month}[p] + done, running})
			}
		}
	}
	return all
}

// inMemory is what turns that run here have used of a, and what is reserved for their calls.
func (r *rule) inMemory(a account) (done, running int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.accounts[a]
	if s == nil {
		return 0, 0
	}
	return s.done, s.running
}

// budget is s as others see it.
func (r *rule) budget(ctx context.Context, t admission.Turn, s share) admission.Budget {
	per := 1.0
	if r.limits.Unit != Tokens {
		per = billion
	}
	b := admission.Budget{
		Scope: scopeNames[s.scope], Owner: s.owner, Period: periodNames[s.period], Unit: r.limits.Unit,
		Limit: float64(s.limit) / per, Used: float64(s.used) / per, Reserved: float64(s.reserved) / per, Until: r.next(s.period, t.At),
	}
	switch s.scope {
	case ofAll:
		b.Owner = ""
	case ofJob:
		b.Owner = s.job()
	case ofChat:
		b.Owner = strings.TrimPrefix(s.owner, chatPrefix)
	}
	b.Left = fmt.Sprintf("%s of %s, until %s", r.limits.number(max(s.limit-s.used, 0)), r.whole(s), r.when(ctx, t, s.period))
	return b
}

package app

import (
	"context"
	"time"

	"dragoman/internal/admission"
	"dragoman/internal/api"
)

// budgets are what the API lists of limits.budgets.
type budgets struct{ d *Daemon }

// All implements [api.Budgets].
func (b budgets) All(ctx context.Context) (list []api.Budget, err error) {
	for _, rule := range b.d.currentRules() {
		if able, is := rule.(admission.Budgeter); is {
			all, err := able.AllBudgets(ctx, time.Now())
			if err != nil {
				return nil, err
			}
			list = append(list, budgetsOf(all)...)
		}
	}
	return list, nil
}

// Of implements [api.Budgets].
func (b budgets) Of(ctx context.Context, person string) ([]api.Budget, error) {
	all, err := b.d.budgetsOf(ctx, admission.Turn{Owner: person, At: time.Now()})
	var own []admission.Budget
	for _, one := range all {
		if one.Scope == "person" {
			own = append(own, one)
		}
	}
	return budgetsOf(own), err
}

func budgetsOf(all []admission.Budget) (list []api.Budget) {
	for _, b := range all {
		list = append(list, api.Budget{
			Of: b.Scope, Name: b.Owner, Period: b.Period, Unit: b.Unit, Limit: b.Limit, Used: b.Used, Reserved: b.Reserved,
			Share: b.Used / b.Limit, Until: b.Until,
		})
	}
	return list
}

// budgetsOf lists the budgets that t uses.
func (d *Daemon) budgetsOf(ctx context.Context, t admission.Turn) (list []admission.Budget, err error) {
	for _, rule := range d.currentRules() {
		if able, is := rule.(admission.Budgeter); is {
			all, err := able.BudgetsOf(ctx, t)
			if err != nil {
				return nil, err
			}
			list = append(list, all...)
		}
	}
	return list, nil
}

// currentRules are the rules of the gateway. A command without a daemon has those of its
// configuration.
func (d *Daemon) currentRules() []admission.Rule {
	if d.gateway == nil {
		return d.rules(d.cfg)
	}
	return d.gateway.Rules()
}

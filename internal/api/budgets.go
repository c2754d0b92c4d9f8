package api

import (
	"context"
	"time"
)

// Budget is how much of something may be used until a time: see limits.budgets.
type Budget struct {
	// Of is person, chat, job or all, and Name whose it is: an identity, or the one that
	// stands for all that were joined with it, a conversation's key, or a job.
	Of   string `json:"of"`
	Name string `json:"name,omitempty"`
	// Period is day or month, and Unit money or tokens.
	Period string  `json:"period"`
	Unit   string  `json:"unit"`
	Limit  float64 `json:"limit"`
	Used   float64 `json:"used"`
	// Reserved is for calls of the model that run on the node that answers.
	Reserved float64 `json:"reserved"`
	// Share is how much of Limit was used: 1 is all of it.
	Share float64 `json:"share"`
	// Until is when it begins anew.
	Until time.Time `json:"until"`
}

// BudgetQuery asks for budgets.
type BudgetQuery struct {
	Limit int `json:"limit,omitempty"` // 1 to 200; left out: 100
}

// Budgets knows the budgets of limits.budgets.
type Budgets interface {
	// All lists those of which something was used, the most used first.
	All(ctx context.Context) ([]Budget, error)
	// Of lists those of a person, by one of their identities or the ID of a principal.
	Of(ctx context.Context, person string) ([]Budget, error)
}

func (s *server) budgets(ctx context.Context, q BudgetQuery) (Page[Budget], error) {
	if s.Budgets == nil {
		return pageOf[Budget](nil, nil)
	}
	all, err := s.Budgets.All(ctx)
	return pageOf(all[:min(len(all), page(q.Limit))], err)
}

// ownBudgets are those of the caller. They are for all that somebody uses on every network,
// so at a port without tokens nobody is shown any.
func (s *server) ownBudgets(ctx context.Context, _ None) (Page[Budget], error) {
	if s.Budgets == nil || caller(ctx).AtOpenPort() {
		return pageOf[Budget](nil, nil)
	}
	return pageOf(s.Budgets.Of(ctx, caller(ctx).ID))
}

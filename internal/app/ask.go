package app

import (
	"context"
	"errors"
	"net/http"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/gateway"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// ask is the [api.Asker] of this daemon. Only the operator at the socket reads what
// would mend a failure.
func (d *Daemon) ask(ctx context.Context, asked api.Question) (string, error) {
	q, err := d.question(ctx, asked.Key, asked.ID, asked.Text)
	if err != nil {
		return "", err
	}
	q.Model = asked.Model
	answer, err := d.gateway.Ask(ctx, q)
	return answer, refusalOfQuestion(asked.Key, err)
}

// refusalOfQuestion is what whoever asked in k learns of an error of the gateway.
func refusalOfQuestion(k channels.Key, err error) error {
	var refused *gateway.RefusedError
	var kept *sessions.ReplaceError
	switch {
	case errors.As(err, &kept) && kept.Unknown:
		return &respond.Refusal{Status: http.StatusNotFound, Param: "seq", Sentence: kept.Why}
	case errors.As(err, &kept) && kept.Later:
		return &respond.Refusal{Status: http.StatusUnprocessableEntity, Code: "conflict", Sentence: kept.Why}
	case errors.As(err, &kept):
		return &respond.Refusal{Status: http.StatusBadRequest, Param: "seq", Sentence: kept.Why}
	case errors.As(err, &refused) && refused.Spent:
		return &respond.Refusal{Status: http.StatusTooManyRequests, Code: respond.CodeQuota, RetryAfter: refused.After, Sentence: refused.Why}
	case errors.As(err, &refused) && refused.Later:
		return &respond.Refusal{Status: http.StatusTooManyRequests, RetryAfter: refused.After, Sentence: refused.Why}
	case errors.As(err, &refused):
		return &respond.Refusal{Status: http.StatusBadRequest, Sentence: refused.Why}
	case errors.Is(err, gateway.ErrUnanswered):
		return &respond.Refusal{Status: http.StatusUnprocessableEntity, Code: "unanswered", Sentence: err.Error()}
	case errors.Is(err, sessions.ErrFull):
		return &respond.Refusal{Status: http.StatusTooManyRequests, Sentence: "too many messages wait in " + k.String() + "; try again in a while"}
	}
	return err
}

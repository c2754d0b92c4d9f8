package app

import (
	"context"
	"errors"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

// asker is the [httpapi.Asker] of this daemon. owner says that only the operator
// reads the answers.
func (d *Daemon) asker(owner bool) httpapi.Asker {
	return func(ctx context.Context, k channels.Key, id, text string) (string, error) {
		answer, err := d.gateway.Ask(ctx, gateway.Question{Key: k, ID: id, Text: text, Owner: owner})
		var refused *gateway.RefusedError
		switch {
		case errors.As(err, &refused):
			err = &httpapi.Refusal{Sentence: refused.Why}
		case errors.Is(err, gateway.ErrUnanswered):
			err = &httpapi.Refusal{Sentence: err.Error()}
		case errors.Is(err, sessions.ErrFull):
			err = &httpapi.Refusal{Sentence: "too many messages wait in " + k.String() + "; try again in a while"}
		}
		return answer, err
	}
}

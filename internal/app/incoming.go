package app

import (
	"context"
	"net/http"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/incoming"
	"dragoman/internal/people"
	"dragoman/internal/webhook"
)

// incomingOf are the configured webhooks that others call. Load has checked them.
func incomingOf(cfg *config.Config) (list []incoming.Hook) {
	for _, c := range cfg.IncomingWebhooks {
		secrets := []string{c.Secret.Reveal()}
		if c.OldSecret.IsSet() {
			secrets = append(secrets, c.OldSecret.Reveal())
		}
		checker, err := webhook.NewChecker(webhook.Kind(c.Verify), secrets...)
		if err != nil {
			continue // nobody may call it
		}
		to, err := channels.ParseKey(c.To)
		if err != nil {
			continue
		}
		text, message := c.Prompt, false
		if c.Message != "" {
			text, message = c.Message, true
		}
		template, err := webhook.ParseTemplate(text)
		if err != nil {
			continue
		}
		h := incoming.Hook{
			Name: c.Name, Checker: checker, To: to, Text: template, Message: message,
			Repeats: incoming.Repeats(c.Repeats), PerHour: c.PerHour, MaxBody: int64(c.MaxBytes),
		}
		if owner, err := channels.ParseKey(c.Owner); err == nil && c.Owner != people.OperatorID {
			h.Owner = channels.Person{IDs: []string{owner.Chat()}}
		}
		list = append(list, h)
	}
	return list
}

// taker is the [incoming.Taker] of a daemon.
type taker struct{ d *Daemon }

// Take implements [incoming.Taker].
func (t taker) Take(ctx context.Context, c incoming.Call) (repeated bool, err error) {
	repeated, err = t.d.gateway.TakeHook(ctx, gateway.Hooked{
		Hook: c.Hook, Key: c.To, ID: c.ID, FormerID: c.FormerID, Owner: c.Owner, Text: c.Text, Shown: c.Shown,
	})
	return repeated, refusalOfQuestion(c.To, err)
}

// callers is the [api.Callers] of a daemon.
type callers struct{ hooks *incoming.Hooks }

// Take implements [api.Callers].
func (c callers) Take(r *http.Request, name, peer string) (api.Called, error) {
	got, err := c.hooks.Take(r, name, peer)
	return api.Called(got), err
}

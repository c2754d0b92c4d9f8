package app

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/gateway"
	"dragoman/internal/openai"
	"dragoman/internal/respond"
)

// openAI serves OpenAI's API. It starts nothing.
func (d *Daemon) openAI() http.Handler {
	return openai.New(openai.Options{
		Turns: givenTurns{d}, Rooms: openRooms{d}, Store: d.store, Models: d.offeredModels, Agents: d.personas.Names,
		Choose: func(ctx context.Context, k channels.Key, agent string) error {
			return refusalOfQuestion(k, d.gateway.ChooseAgent(ctx, k, agent))
		},
		Lend: d.files.Lend, MaxPicture: int64(d.cfg.Media.MaxImageBytes), Logger: d.log,
	})
}

// offeredModels are the names of the models that the configuration names and that answer
// people: not the one that only writes summaries.
func (d *Daemon) offeredModels() []string {
	names := append([]string{d.models.Main.Name()}, d.cfg.Model.Fallback...)
	if d.models.Other == nil {
		return names[:1] // the built-in demo has no others
	}
	for _, o := range d.cfg.Model.Others {
		names = append(names, o.Name)
	}
	return names
}

// choices are the offered models as people choose among them.
func (d *Daemon) choices() (all []gateway.Model) {
	for i, name := range d.offeredModels() {
		if slices.ContainsFunc(all, func(m gateway.Model) bool { return m.Name == name }) {
			continue // of the fallback, and with settings of its own
		}
		m := gateway.Model{Name: name}
		if i == 0 {
			m.Window = d.models.Window()
			m.Input = d.cfg.Model.Prices.Input
			m.Output = d.cfg.Model.Prices.Output
		}
		for _, o := range d.cfg.Model.Others {
			if o.Name == name {
				m.Window = cmp.Or(o.ContextWindow, d.cfg.Model.ContextWindow)
				m.Input = o.Prices.Input
				m.Output = o.Prices.Output
			}
		}
		all = append(all, m)
	}
	return all
}

// modelChoices are the choices as the API lists them.
func (d *Daemon) modelChoices() (all []api.ModelChoice) {
	for i, m := range d.choices() {
		all = append(all, api.ModelChoice{Name: m.Name, Default: i == 0, Window: m.Window, Input: m.Input, Output: m.Output})
	}
	return all
}

// givenTurns implements [openai.Turns].
type givenTurns struct{ *Daemon }

// Given implements [openai.Turns].
func (g givenTurns) Given(ctx context.Context, t agent.Turn) (agent.Result, error) {
	res, err := g.gateway.Given(ctx, t)
	g.countGiven(ctx, t, res.Messages)
	var refused *gateway.RefusedError
	switch {
	case errors.Is(err, gateway.ErrStopping):
		err = openai.ErrStopping
	case errors.As(err, &refused) && !refused.Later:
		err = &respond.Refusal{Status: http.StatusForbidden, Sentence: refused.Why}
	case errors.As(err, &refused):
		err = refusalOfQuestion(t.Key, err)
	}
	return res, err
}

// Has implements [openai.Turns].
func (g givenTurns) Has(tool string) bool {
	p := g.permitOf(gateway.TurnProgram, channels.Key{}, "")
	return g.agent.Has(tool) && (p == nil || p.Rule(tool) != agent.RuleDeny)
}

package app

import (
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/internal/config"
)

// Rules are all types of rules that a turn must pass before it asks the model, in the order
// in which they are asked. A new one is one more line.
func Rules() []admission.Type {
	return []admission.Type{
		admission.Pause,
		budget.Type,
	}
}

// rules makes those that the configuration turns on.
func (d *Daemon) rules(c *config.Config) (list []admission.Rule) {
	setup := admission.Setup{
		Sums: d.store, Shared: c.Store.Type == "postgres", People: d.people, Zone: d.zone, ZoneOf: d.reminders.ZoneOf, Operator: d.operatorName,
		Logger: d.log, Price: priceOf(c), MaxTokens: c.Model.MaxTokens,
	}
	if d.calls != nil {
		setup.Elsewhere = d.calls.Elsewhere
	}
	for _, kind := range Rules() {
		if rule := c.Limits.Rules[kind.Name].Rule(setup); rule != nil {
			list = append(list, rule)
		}
	}
	return list
}

// priceNow is what a call of a model costs by the prices of the last reload.
func (d *Daemon) priceNow(model string, input, output int) float64 {
	return priceOf(d.current.Load())(model, input, output)
}

// priceOf returns what a call of a model costs by the configured prices.
func priceOf(c *config.Config) func(model string, input, output int) float64 {
	return func(model string, input, output int) float64 {
		p := c.Model.Prices
		for _, o := range c.Model.Others {
			if o.Name == model {
				p = o.Prices
			}
		}
		const million = 1e6
		return (float64(input)*p.Input + float64(output)*p.Output) / million
	}
}

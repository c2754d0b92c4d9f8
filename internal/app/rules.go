package app

import (
	"dragoman/internal/admission"
	"dragoman/internal/config"
)

// Rules are all types of rules that a turn must pass before it asks the model, in the order
// in which they are asked. A new one is one more line.
func Rules() []admission.Type {
	return []admission.Type{
		admission.Pause,
	}
}

// rules makes those that the configuration turns on.
func (d *Daemon) rules(c *config.Config) (list []admission.Rule) {
	setup := admission.Setup{Sums: d.store, Zone: zoneOf(d.cfg.Agent.TimeZone), Logger: d.log}
	for _, kind := range Rules() {
		if rule := c.Limits.Rules[kind.Name].Rule(setup); rule != nil {
			list = append(list, rule)
		}
	}
	return list
}

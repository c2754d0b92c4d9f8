package app

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/agent/toolbox"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/personas"
)

// newPersonas makes the personas of the configuration.
func (d *Daemon) newPersonas() *personas.Set {
	return personas.New(planOf(d.cfg), personas.Options{Read: config.ReadPrompt, Logger: d.log})
}

// planOf is what a configuration says about personas. A job that names one is a binding of
// the key that it runs under.
func planOf(cfg *config.Config) (p personas.Plan) {
	for name, c := range cfg.Agents {
		p.Personas = append(p.Personas, personas.Source{
			Persona: agent.Persona{Name: name, System: c.Prompt, Model: c.Model, Tools: exactly(c.Tools), OwnMemory: c.Memory == config.OwnMemory},
			File:    c.File,
		})
	}
	p.Bound = cfg.Bound
	p.Any = slices.ContainsFunc(cfg.Bind, func(b config.Bind) bool { return len(b.Agent) > 0 })
	return p
}

// exactly are the names of a list; nil for all that its rules leave, which the permit of a
// turn knows.
func exactly(list config.ToolList) []string {
	if slices.ContainsFunc(list, func(name string) bool { return strings.HasSuffix(name, others) }) {
		return nil
	}
	return list.Names()
}

// agentsIn are the personas that may answer in k, where chosen was chosen. Where nothing is
// bound, a program may choose each.
func (d *Daemon) agentsIn(k channels.Key, chosen string) (all []api.AgentChoice) {
	names := d.personas.Choices(k)
	if len(names) == 0 {
		names = append([]string{personas.Plain}, d.personas.Names()...)
	}
	now := cmp.Or(d.personas.Of(k, chosen), personas.Plain)
	for _, name := range names {
		one := api.AgentChoice{Name: name, Answers: name == now}
		if p := d.personas.Persona(name); p != nil {
			one.Model = p.Model
		}
		all = append(all, one)
	}
	return all
}

// tellMissing logs the tools that lists name and nothing offers: only now is it known what
// there is beside the built-in ones.
func (d *Daemon) tellMissing(box *toolbox.Toolbox) {
	if missing := d.missingOf(box, d.cfg.Agent.Tools); len(missing) > 0 {
		d.log.Warn("agent.tools names tools that do not exist here, so the model is not offered them: correct the names, or remove them", "tools", missing)
	}
	for name, p := range d.cfg.Agents {
		missing := d.missingOf(box, p.Tools)
		if len(missing) > 0 {
			d.log.Warn("a persona names tools that do not exist here, so the model is not offered them: correct the names, or remove them", "agent", name, "tools", missing)
		}
	}
}

// missingOf are the names of list that no tool has. A name with a star may stand for none.
func (d *Daemon) missingOf(box *toolbox.Toolbox, list config.ToolList) []string {
	if list.Names() == nil {
		return nil
	}
	_, missing := box.Allowed(list)
	return slices.DeleteFunc(missing, func(name string) bool { return d.mayCome(name) || strings.HasSuffix(name, others) })
}

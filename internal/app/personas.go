package app

import (
	"slices"

	"dragoman/agent"
	"dragoman/agent/toolbox"
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
			Persona: agent.Persona{Name: name, System: c.Prompt, Model: c.Model, Tools: c.Tools, OwnMemory: c.Memory == config.OwnMemory},
			File:    c.File,
		})
	}
	p.Bound = cfg.Bound
	p.Any = len(cfg.Bind) > 0
	return p
}

// tellMissing logs the tools that personas name and nothing offers: only now is it known what
// there is beside the built-in ones.
func (d *Daemon) tellMissing(box *toolbox.Toolbox) {
	for name, p := range d.cfg.Agents {
		if p.Tools == nil {
			continue
		}
		_, missing := box.Allowed(p.Tools)
		missing = slices.DeleteFunc(missing, d.mayCome)
		if len(missing) > 0 {
			d.log.Warn("a persona names tools that do not exist here, so the model is not offered them: correct the names, or remove them", "agent", name, "tools", missing)
		}
	}
}

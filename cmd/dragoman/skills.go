package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/skills"
	"dragoman/internal/app"
	"dragoman/sessions"
)

// skillsCmd is "dragoman skills": instructions that the operator keeps in folders.
type skillsCmd struct {
	List   skillsListCmd   `cmd:"" default:"withargs" help:"List the skills, and which of them the model is offered."`
	Check  skillsCheckCmd  `cmd:"" help:"Say what is wrong with the skills, and what to look at before you accept them."`
	Accept skillsAcceptCmd `cmd:"" help:"Offer skills to the model, as they are now."`
}

// skillsOf are the skills of the configuration.
func (e *env) skillsOf(c *cli) (list []skills.Skill, pins skills.Pins, keep func(skills.Pins) error, err error) {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return nil, nil, nil, err
	}
	if cfg.Skills.Dir == "" {
		return nil, nil, nil, errors.New("no folder of skills is configured: set skills.dir")
	}
	return app.Skills(cfg)
}

// skillsListCmd is "dragoman skills list", and "dragoman skills" alone.
type skillsListCmd struct{}

func (*skillsListCmd) Run(e *env, c *cli) error {
	list, _, _, err := e.skillsOf(c)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		e.say("No skills. Each is a folder with a SKILL.md in skills.dir.")
		return nil
	}
	t := &table{head: []string{"NAME", "STATE", "FILES", "TOKENS", "FOR"}, less: []int{2, 3}}
	waits := false
	for _, s := range list {
		waits = waits || s.State == skills.New || s.State == skills.Changed
		about := s.About
		if s.Why != "" {
			about = s.Why
		}
		t.add(s.Name, s.State, fmt.Sprint(s.Files), fmt.Sprint(s.Tokens), sessions.OneLine(about, 60))
	}
	t.print(e)
	if waits {
		e.say("The model is offered those that are accepted. Look at the others with %s, and accept them with %s.", e.command("skills check"), e.command("skills accept NAME"))
	}
	return nil
}

// skillsCheckCmd is "dragoman skills check".
type skillsCheckCmd struct {
	Names []string `arg:"" optional:"" help:"Only these skills."`
}

func (k *skillsCheckCmd) Run(e *env, c *cli) error {
	list, _, _, err := e.skillsOf(c)
	if err != nil {
		return err
	}
	list, err = only(list, k.Names)
	if err != nil {
		return err
	}
	wrong := 0
	for _, s := range list {
		e.say("%s: %s", sessions.Printable(s.Name), s.State)
		if s.Why != "" {
			wrong++
			e.say("  wrong: %s", sessions.Printable(s.Why))
			continue
		}
		if s.State == skills.Gone {
			continue
		}
		e.say("  %d files, %d bytes, about %d tokens, sha256 %s", s.Files, s.Bytes, s.Tokens, s.Hash[:12])
		for _, hint := range s.Hints {
			e.say("  look at: %s", sessions.Printable(hint))
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d skills are wrong", wrong, len(list))
	}
	return nil
}

// only returns the skills of those names; all without names.
func only(list []skills.Skill, names []string) (kept []skills.Skill, err error) {
	if len(names) == 0 {
		return list, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(list, func(s skills.Skill) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no skill %s", oneLine(name))
		}
		kept = append(kept, list[i])
	}
	return kept, nil
}

// skillsAcceptCmd is "dragoman skills accept".
type skillsAcceptCmd struct {
	Names []string `arg:"" help:"The skills."`
}

func (k *skillsAcceptCmd) Run(e *env, c *cli) error {
	list, pins, keep, err := e.skillsOf(c)
	if err != nil {
		return err
	}
	list, err = only(list, k.Names)
	if err != nil {
		return err
	}
	var said []string
	for _, s := range list {
		err = pins.Accept(s)
		if err != nil {
			return fmt.Errorf("%s cannot be accepted: %w", oneLine(s.Name), err)
		}
		if s.State == skills.Gone {
			said = append(said, s.Name+" is forgotten: it is not there any more.")
		} else {
			said = append(said, fmt.Sprintf("%s is accepted as it is now (sha256 %s). Should it change, it waits again.", s.Name, s.Hash[:12]))
		}
	}
	err = keep(pins)
	if err != nil {
		return err
	}
	e.say("%s", strings.Join(said, "\n"))
	return nil
}

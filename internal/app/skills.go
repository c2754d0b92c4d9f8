package app

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/agent/skills"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// skillPins is the file that says which skills were accepted.
func skillPins(cfg *config.Config) string { return filepath.Join(cfg.StateDir, skills.PinsName) }

// Skills are the skills of a configuration as they are now, and keep stores which of them are
// accepted.
func Skills(cfg *config.Config) (list []skills.Skill, pins skills.Pins, keep func(skills.Pins) error, err error) {
	file := skillPins(cfg)
	pins, err = skills.ReadPins(file)
	if err != nil {
		return nil, nil, nil, err
	}
	list, err = skills.Look(cfg.Skills.Dir, pins)
	return list, pins, func(p skills.Pins) error { return p.Write(file) }, err
}

// skillFolder is the [api.Skills] of a daemon, or of a command without one.
type skillFolder struct{ d *Daemon }

var _ api.Skills = skillFolder{}

// List implements [api.Skills].
func (f skillFolder) List(context.Context) (all []api.Skill, err error) {
	list, _, _, err := Skills(f.d.cfg)
	for _, s := range list {
		all = append(all, api.Skill{
			Name: s.Name, Description: s.About, State: s.State, Why: s.Why, Hash: s.Hash, Files: s.Files, Bytes: s.Bytes, Tokens: s.Tokens, Hints: s.Hints,
		})
	}
	return all, err
}

// Accept implements [api.Skills].
func (f skillFolder) Accept(_ context.Context, a api.AcceptedSkill) error {
	f.d.accepting.Lock()
	defer f.d.accepting.Unlock()
	list, pins, keep, err := Skills(f.d.cfg)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(s skills.Skill) bool { return s.Name == a.Name })
	if i < 0 {
		return fmt.Errorf("app: skill %s: %w", a.Name, sessions.ErrNotFound)
	}
	one := list[i]
	if one.State != skills.Wrong && one.Hash != a.Hash {
		return &respond.Refusal{Status: http.StatusUnprocessableEntity, Param: "hash", Sentence: "The skill is another one than you have read. List the skills, and look at it again."}
	}
	err = pins.Accept(one)
	if err != nil {
		return &respond.Refusal{Status: http.StatusUnprocessableEntity, Sentence: "This skill cannot be accepted: " + err.Error()}
	}
	return keep(pins)
}

var _ = feature(func(cfg *config.Config, _ *Daemon) []api.Feature {
	f := api.Feature{Name: "skills", State: api.FeatureOff, Says: "the model has no skills: set skills.dir"}
	if cfg.Skills.Dir == "" {
		return []api.Feature{f}
	}
	list, _, _, err := Skills(cfg)
	if err != nil {
		f.State = api.FeatureFailing
		f.Says = err.Error()
		return []api.Feature{f}
	}
	var waits []string
	accepted := 0
	for _, s := range list {
		switch s.State {
		case skills.Accepted:
			accepted++
		case skills.New, skills.Changed, skills.Wrong:
			waits = append(waits, fmt.Sprintf("%s (%s)", s.Name, s.State))
		}
	}
	f.State = api.FeatureOn
	f.Says = fmt.Sprintf("%d accepted", accepted)
	if len(waits) > 0 {
		f.Says += "; not offered: " + strings.Join(waits, ", ") + ". See dragoman skills list"
	}
	return []api.Feature{f}
})

package app

import (
	"fmt"
	"path/filepath"
	"strings"

	"dragoman/agent/skills"
	"dragoman/internal/api"
	"dragoman/internal/config"
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

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dragoman/agent/window"
)

// Prune says how long results of tools are shortened in what the model sees.
type Prune struct {
	Preset         string   `yaml:"preset" doc:"A named set of values for every key below that you do not set: dragoman, openclaw, sparing or sentinel. Unset: sentinel if summary.preset is sentinel, sparing if it is molf, otherwise dragoman."`
	Enabled        bool     `yaml:"enabled" doc:"Shorten long tool results for the model. The transcript keeps them whole."`
	SoftPercent    int      `yaml:"soft_percent" doc:"Above this share of the context window, long results are reduced to their beginning and end."`
	HardPercent    int      `yaml:"hard_percent" doc:"Above this share, a notice replaces them."`
	Head           int      `yaml:"head" doc:"Characters kept from the beginning."`
	Tail           int      `yaml:"tail" doc:"Characters kept from the end."`
	MinResult      int      `yaml:"min_result" doc:"Results with fewer characters than this are left alone."`
	MinTotal       int      `yaml:"min_total" doc:"Results are replaced by a notice only if that saves at least this many characters in all."`
	KeepAssistants int      `yaml:"keep_assistants" doc:"The tool results of this many newest messages from the model stay whole."`
	FailedCalls    bool     `yaml:"failed_calls" doc:"After a turn, hide its failed tool calls from the model. The transcript keeps them, and summaries include them."`
	Exempt         []string `yaml:"exempt" empty:"ok" doc:"Tools whose results always stay whole."`
}

// presetPrune is the section as the preset fills it in.
func presetPrune(name string) Prune {
	p := window.PrunePresets[name]
	return Prune{
		Preset: name, Enabled: !p.Off, SoftPercent: p.SoftPercent, HardPercent: p.HardPercent, Head: p.Head, Tail: p.Tail,
		MinResult: p.MinResult, MinTotal: p.MinTotal, KeepAssistants: p.KeepAssistants, FailedCalls: p.FailedCalls, Exempt: slices.Clone(p.Exempt),
	}
}

// Rules is the section as the agent takes it.
func (p Prune) Rules() window.Prune {
	return window.Prune{
		Off: !p.Enabled, SoftPercent: p.SoftPercent, HardPercent: p.HardPercent, Head: p.Head, Tail: p.Tail,
		MinResult: p.MinResult, MinTotal: p.MinTotal, KeepAssistants: p.KeepAssistants, FailedCalls: p.FailedCalls, Exempt: p.Exempt,
	}
}

// applyPrunePreset fills in what was not written. What was written counts.
func (v *validator) applyPrunePreset() {
	s := &v.c.Prune
	if !v.written("prune.preset") {
		s.Preset = window.PrunePresetFor(v.c.Summary.Preset)
	}
	v.oneOf("prune.preset", s.Preset, window.PrunePresetNames()...)
	if _, known := window.PrunePresets[s.Preset]; !known {
		return
	}
	p := presetPrune(s.Preset)
	v.fill("prune", reflect.ValueOf(s).Elem(), reflect.ValueOf(&p).Elem())
}

// encodings are those that agent/tokens can count in.
var encodings = []string{"cl100k_base", "o200k_base"}

func (v *validator) prune() {
	v.applyPrunePreset()
	p := v.c.Prune
	v.between("prune.soft_percent", p.SoftPercent, 1, 100)
	v.between("prune.hard_percent", p.HardPercent, 1, 100)
	if p.HardPercent < p.SoftPercent {
		v.bad("prune.hard_percent", "is less than prune.soft_percent, so results would never be shortened, only replaced",
			fmt.Sprintf("write %d or more", p.SoftPercent))
	}
	v.between("prune.head", p.Head, 0, 1_000_000)
	v.between("prune.tail", p.Tail, 0, 1_000_000)
	v.between("prune.min_result", p.MinResult, 500, 100_000_000)
	if p.MinResult >= 500 && p.Head+p.Tail >= p.MinResult {
		v.bad("prune.min_result", "is not more than prune.head and prune.tail together, so there is nothing to leave out",
			fmt.Sprintf("write more than %d", p.Head+p.Tail))
	}
	v.between("prune.min_total", p.MinTotal, 0, 100_000_000)
	v.between("prune.keep_assistants", p.KeepAssistants, 0, 1000)
	for i, name := range p.Exempt {
		if strings.TrimSpace(name) == "" {
			v.bad(fmt.Sprintf("prune.exempt[%d]", i), "is empty", "write the name of a tool")
		}
	}
	if e := v.c.Model.Encoding; e != "" {
		v.oneOf("model.encoding", e, encodings...)
	}
}

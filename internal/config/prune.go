package config

import (
	"fmt"
	"reflect"
	"slices"

	"dragoman/agent/window"
)

// Prune says how long results of tools are shortened in what the model sees.
type Prune struct {
	Preset         string   `yaml:"preset" oneof:"prune presets" doc:"A named set of values for every key below that you do not set: dragoman, openclaw, sparing or sentinel. Unset: sentinel if summary.preset is sentinel, sparing if it is molf, otherwise dragoman."`
	Enabled        bool     `yaml:"enabled" doc:"Shorten long tool results for the model. The transcript keeps them whole."`
	SoftPercent    int      `yaml:"soft_percent" range:"1..100" doc:"Above this share of the context window, long results are reduced to their beginning and end."`
	HardPercent    int      `yaml:"hard_percent" range:"1..100" doc:"Above this share, a notice replaces them."`
	Head           int      `yaml:"head" range:"0..1000000" doc:"Characters kept from the beginning."`
	Tail           int      `yaml:"tail" range:"0..1000000" doc:"Characters kept from the end."`
	MinResult      int      `yaml:"min_result" range:"500..100000000" doc:"Results with fewer characters than this are left alone."`
	MinTotal       int      `yaml:"min_total" range:"0..100000000" doc:"Results are replaced by a notice only if that saves at least this many characters in all."`
	KeepAssistants int      `yaml:"keep_assistants" range:"0..1000" doc:"The tool results of this many newest messages from the model stay whole."`
	FailedCalls    bool     `yaml:"failed_calls" doc:"After a turn, hide its failed tool calls from the model. The transcript keeps them, and summaries include them."`
	Exempt         []string `yaml:"exempt,flow" is:"name" doc:"Tools whose results always stay whole."`
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

// prune fills in what the preset says and was not written, and checks how the
// settings go together.
func (v *validator) prune() {
	p := &v.c.Prune
	if !v.written("prune.preset") {
		p.Preset = window.PrunePresetFor(v.c.Summary.Preset)
	}
	if _, known := window.PrunePresets[p.Preset]; known {
		preset := presetPrune(p.Preset)
		v.fill("prune", reflect.ValueOf(p).Elem(), reflect.ValueOf(&preset).Elem())
	}
	if p.HardPercent < p.SoftPercent {
		v.bad("prune.hard_percent", "is less than prune.soft_percent, so results would never be shortened, only replaced",
			fmt.Sprintf("write %d or more", p.SoftPercent))
	}
	if p.MinResult >= 500 && p.Head+p.Tail >= p.MinResult {
		v.bad("prune.min_result", "is not more than prune.head and prune.tail together, so there is nothing to leave out",
			fmt.Sprintf("write more than %d", p.Head+p.Tail))
	}
}

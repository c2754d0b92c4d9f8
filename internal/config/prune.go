package config

import (
	"fmt"
	"strings"

	"dragoman/agent/window"
)

// Prune says how long results of tools are shortened in what the model sees.
type Prune struct {
	Enabled        bool     `yaml:"enabled" doc:"Shorten long results of tools in what the model sees. The transcript keeps them whole."`
	SoftPercent    int      `yaml:"soft_percent" doc:"Above this share of the context window, long results keep only their two ends."`
	HardPercent    int      `yaml:"hard_percent" doc:"Above this share, a notice stands for them."`
	Head           int      `yaml:"head" doc:"Characters that stay of the beginning."`
	Tail           int      `yaml:"tail" doc:"Characters that stay of the end."`
	MinResult      int      `yaml:"min_result" doc:"Shorter results, in characters, are left alone."`
	KeepAssistants int      `yaml:"keep_assistants" doc:"The results that belong to so many of the newest messages of the model stay whole."`
	Exempt         []string `yaml:"exempt" empty:"ok" doc:"Tools whose results always stay whole."`
}

func defaultPrune() Prune {
	p := window.DefaultPrune()
	return Prune{
		Enabled: !p.Off, SoftPercent: p.SoftPercent, HardPercent: p.HardPercent, Head: p.Head, Tail: p.Tail,
		MinResult: p.MinResult, KeepAssistants: p.KeepAssistants, Exempt: p.Exempt,
	}
}

// Rules is the section as the agent takes it.
func (p Prune) Rules() window.Prune {
	return window.Prune{
		Off: !p.Enabled, SoftPercent: p.SoftPercent, HardPercent: p.HardPercent, Head: p.Head, Tail: p.Tail,
		MinResult: p.MinResult, KeepAssistants: p.KeepAssistants, Exempt: p.Exempt,
	}
}

// encodings are those that agent/tokens can count in.
var encodings = []string{"cl100k_base", "o200k_base"}

func (v *validator) prune() {
	p := v.c.Prune
	v.between("prune.soft_percent", p.SoftPercent, 1, 100)
	v.between("prune.hard_percent", p.HardPercent, 1, 100)
	if p.HardPercent < p.SoftPercent {
		v.bad("prune.hard_percent", "is less than prune.soft_percent, so nothing would ever be shortened softly",
			fmt.Sprintf("write %d or more", p.SoftPercent))
	}
	v.between("prune.head", p.Head, 0, 1_000_000)
	v.between("prune.tail", p.Tail, 0, 1_000_000)
	v.between("prune.min_result", p.MinResult, 500, 100_000_000)
	if p.MinResult >= 500 && p.Head+p.Tail >= p.MinResult {
		v.bad("prune.min_result", "is not more than prune.head and prune.tail together, so there is nothing to leave out",
			fmt.Sprintf("write more than %d", p.Head+p.Tail))
	}
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

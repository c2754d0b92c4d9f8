package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dragoman/agent/window"
)

// Summary says when and how old messages are summarised.
type Summary struct {
	Preset            string `yaml:"preset" oneof:"summary presets" doc:"A named set of values for every key below that you do not set: dragoman, picoclaw, terrarium, molf, sentinel, goose-conservative, goose-balanced or goose-aggressive."`
	window.Compaction `yaml:",inline"`
	Model             SummaryModel `yaml:"model"`
}

// SummaryModel is the model that writes summaries, if not the configured one.
type SummaryModel struct {
	BaseURL string `yaml:"base_url" is:"server" empty:"ok" doc:"The server of the model for summaries. Empty: the same as model."`
	APIKey  Secret `yaml:"api_key,omitempty" is:"key" empty:"ok" doc:"The key for that server."`
	Name    string `yaml:"name" doc:"The model for summaries. Empty: the configured one (model.name), even if a conversation has its own model."`

	ContextWindow int `yaml:"context_window" range:"0,2048..10000000" doc:"Its context window in tokens, answer included. 0: as in model.others, or the same as model.context_window."`
}

// summary fills in the preset's values and checks how the settings fit together.
func (v *validator) summary() {
	s := &v.c.Summary
	if p, known := window.Presets[s.Preset]; known {
		v.fill("summary", reflect.ValueOf(&s.Compaction).Elem(), reflect.ValueOf(p))
	}
	if s.Schema != "" && s.Format != window.JSON {
		v.bad("summary.schema", "works only with format json, but summary.format is "+v.show("summary.format", string(s.Format)), "write format: json, or remove the schema")
	}
	v.summaryStart(*s)
	v.summaryKeep(s.Keep, int(s.Trigger.Messages))
	v.summaryModel(s.Model)
}

// summaryStart finds settings with which nothing starts a summary, or which start
// one without asking although when is ask.
func (v *validator) summaryStart(s Summary) {
	t := s.Trigger
	byTrigger := s.When == window.WhenAuto || s.When == window.WhenAsk
	switch {
	case s.When == window.WhenAsk && s.Keep.MaxMessages > 0:
		v.bad("summary.keep.max_messages", "summarises without asking the person, but summary.when is ask", "write 0 here, or summary.when: auto")
	case byTrigger && t.TokensPercent == 0 && t.Messages == 0 && s.Keep.MaxMessages == 0:
		v.bad("summary.trigger", "nothing starts a summary", "give it tokens_percent or messages, or write summary.when: off")
	case byTrigger && t.Messages > 0 && t.MinMessages > int(t.Messages):
		v.warn("summary.trigger.min_messages", fmt.Sprintf("is %d, so summary.trigger.messages (%d) is always reached too early to count", t.MinMessages, t.Messages),
			fmt.Sprintf("write at most %d, or a larger messages, or messages: none", t.Messages))
	}
}

// roomForTurns is the least difference between the messages that are kept and those
// that are shown, in messages: a summary must last for two short turns, or every
// turn would have to wait for one.
const roomForTurns = 4

// summaryKeep finds settings that leave nothing to summarise. trigger is the number
// of messages that starts a summary; 0: none.
func (v *validator) summaryKeep(k window.Keep, trigger int) {
	const path = "summary.keep.n"
	each := 1 // messages that n counts as one, at least
	switch k.Unit {
	case window.UnitTokens:
		if half := v.c.Model.window() / 2; k.N >= half {
			v.bad(path, "is half of model.context_window or more, so too little is left to summarise", fmt.Sprintf("write less than %d", half))
		}
		return
	case window.UnitTurns:
		each = 2
	}
	kept := k.N * each
	switch room := k.MaxMessages - roomForTurns; {
	case trigger > 1 && kept >= trigger:
		v.bad(path, fmt.Sprintf("keeps at least %d messages of summary.trigger.messages (%d), so nothing is left to summarise", kept, trigger),
			fmt.Sprintf("write less than %d, or a larger trigger", (trigger+each-1)/each))
	case k.MaxMessages >= roomForTurns+2 && kept > room:
		v.bad(path, fmt.Sprintf("keeps at least %d messages, too close to summary.keep.max_messages: every turn would wait for a summary", kept),
			fmt.Sprintf("write at most %d, or a max_messages of at least %d", room/each, kept+roomForTurns))
	}
}

func (v *validator) summaryModel(m SummaryModel) {
	const path = "summary.model"
	v.plain(path+".base_url", m.BaseURL, m.APIKey.IsSet())
	switch {
	case m.Name == "" && m.ContextWindow != 0:
		v.bad(path+".context_window", "works only with summary.model.name, which is not set", "name the model, or remove it")
	case m.BaseURL != "" && strings.TrimSpace(m.Name) == "":
		v.bad(path+".name", "is needed with summary.model.base_url", "write the model's name as that server knows it")
	case m.BaseURL == "" && m.APIKey.IsSet():
		v.bad(path+".api_key", "works only with summary.model.base_url, which is not set", "write the address of its server, or remove the key")
	}
}

// Prune says how long tool results are shortened for the model.
type Prune struct {
	Preset       string `yaml:"preset" oneof:"prune presets" doc:"A named set of values for every key below that you do not set: dragoman, openclaw, sparing or sentinel. Unset: sentinel if summary.preset is sentinel, sparing if it is molf, otherwise dragoman."`
	Enabled      bool   `yaml:"enabled" doc:"Shorten long tool results for the model. The transcript keeps them whole."`
	window.Prune `yaml:",inline"`
}

func presetPrune(name string) Prune {
	p := window.PrunePresets[name]
	p.Exempt = slices.Clone(p.Exempt)
	return Prune{Preset: name, Enabled: !p.Off, Prune: p}
}

// Rules converts the section for the agent.
func (p Prune) Rules() window.Prune {
	p.Off = !p.Enabled
	return p.Prune
}

// skillTool reads a skill. It stays whole by default, whether there is such a tool or not.
const skillTool = "skill"

// prune fills in the preset's values and checks how the settings fit together.
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
	for i, name := range p.Exempt {
		if known := v.toolNames(name); len(known) > 0 && name != skillTool {
			want := "remove it"
			if near := nearest(strings.ToLower(name), known); near != "" {
				want = fmt.Sprintf("did you mean %q?", near)
			}
			v.warn(fmt.Sprintf("prune.exempt[%d]", i), fmt.Sprintf("no tool is called %q", name), want)
		}
	}
}

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
	Preset      string         `yaml:"preset" oneof:"summary presets" doc:"A named set of values for every key below that you do not set: dragoman, picoclaw, terrarium, molf, sentinel, goose-conservative, goose-balanced or goose-aggressive."`
	When        string         `yaml:"when" oneof:"auto every_turn ask off" doc:"auto summarises when a trigger is reached. every_turn summarises after each turn. ask waits for the person to say /compact (they are told about it once) and otherwise summarises only what no longer fits. off never summarises: messages that do not fit are left out, and the model is told so."`
	Trigger     SummaryTrigger `yaml:"trigger"`
	Keep        SummaryKeep    `yaml:"keep"`
	Render      string         `yaml:"render" oneof:"system_section system_message checkpoint_pair facts_xml" doc:"Where the summary is placed: system_section (at the end of the system prompt), system_message (the same), checkpoint_pair (a question and its answer before the messages) or facts_xml (a fact in the system prompt)."`
	Format      string         `yaml:"format" oneof:"concise sections json" doc:"concise: 3 or 4 sentences. sections: goal, constraints, progress, decisions, next steps, context. json: a fixed schema, or the one in schema."`
	MaxTokens   int            `yaml:"max_tokens" range:"0,64..1000000" doc:"Maximum tokens in one summary, and never more than a quarter of the context window; 0: that quarter. A model's thoughts count, so leave room for them."`
	MaxChars    int            `yaml:"max_chars" range:"0,200..10000000" doc:"Maximum characters in one summary. The model rewrites a longer one; Dragoman never cuts it. 0: no limit."`
	Temperature *float64       `yaml:"temperature,omitempty" range:"0..2" doc:"0 to 2; unset: the same as model.temperature."`
	Prompt      string         `yaml:"prompt" doc:"Replaces the built-in instructions. The instructions for format are added to it."`
	UserPrompt  string         `yaml:"user_prompt" is:"template" verbatim:"yes" empty:"ok" doc:"Replaces the message that asks for the summary. It must contain ${sessionMessages}, which becomes the messages. ${previousSummary} becomes the summary so far; without it, that summary comes before the messages. May be ${file:/path}."`
	Schema      string         `yaml:"schema" is:"schema" verbatim:"yes" empty:"ok" doc:"Your own JSON Schema for format json, instead of the fixed one. May be ${file:/path}."`
	Model       SummaryModel   `yaml:"model"`
}

// SummaryTrigger says how large a conversation is when it is summarised.
type SummaryTrigger struct {
	TokensPercent Threshold `yaml:"tokens_percent" range:"none,1..99" is:"threshold" doc:"Summarise when the conversation takes this share of the context window or more. none: never by size, even if the preset does."`
	Messages      Threshold `yaml:"messages" range:"none,2..1000000" is:"threshold" doc:"Summarise when there are more messages than this after the last summary. none: never by number, even if the preset does."`
	MinMessages   int       `yaml:"min_messages" range:"0..1000000" doc:"Do not summarise fewer messages than this."`
}

// SummaryKeep says which messages are never summarised.
type SummaryKeep struct {
	Unit string `yaml:"unit" oneof:"messages turns tokens" doc:"What n counts: messages, turns or tokens."`
	N    int    `yaml:"n" range:"1..10000000" doc:"The minimum number of newest ones to keep word for word. Tool calls stay with their results."`

	MaxMessages int `yaml:"max_messages" range:"0,6..1000000" doc:"The maximum number of messages to show the model word for word; older ones are summarised before the call. The running turn counts, but is never cut. 0: as many as fit."`
}

// SummaryModel is the model that writes summaries, if not the configured one.
type SummaryModel struct {
	BaseURL string `yaml:"base_url" is:"server" empty:"ok" doc:"The server of the model for summaries. Empty: the same as model."`
	APIKey  Secret `yaml:"api_key,omitempty" empty:"ok" doc:"The key for that server."`
	Name    string `yaml:"name" doc:"The model for summaries. Empty: the configured one (model.name), even if a conversation has its own model."`

	ContextWindow int `yaml:"context_window" range:"0,2048..10000000" doc:"Its context window in tokens, answer included. 0: as in model.others, or the same as model.context_window."`
}

// presetSummary is the section with the values of a preset.
func presetSummary(name string) Summary {
	p := window.Presets[name]
	return Summary{
		Preset: name, When: string(p.When),
		Trigger: SummaryTrigger{Threshold(p.Trigger.TokensPercent), Threshold(p.Trigger.Messages), p.Trigger.MinMessages},
		Keep:    SummaryKeep{string(p.Keep.Unit), p.Keep.N, p.MaxMessages},
		Render:  string(p.Render), Format: string(p.Format),
		MaxTokens: p.MaxTokens, MaxChars: p.MaxChars, Temperature: p.Temperature, Prompt: p.Prompt,
	}
}

// Compaction converts the section for the agent.
func (s Summary) Compaction() window.Compaction {
	return window.Compaction{
		When: window.When(s.When),
		Trigger: window.Trigger{
			TokensPercent: int(s.Trigger.TokensPercent), Messages: int(s.Trigger.Messages), MinMessages: s.Trigger.MinMessages,
		},
		Keep:        window.Keep{Unit: window.Unit(s.Keep.Unit), N: s.Keep.N},
		MaxMessages: s.Keep.MaxMessages,
		Render:      window.Render(s.Render), Format: window.Format(s.Format),
		MaxTokens: s.MaxTokens, MaxChars: s.MaxChars, Temperature: s.Temperature,
		Prompt: s.Prompt, UserPrompt: s.UserPrompt, Schema: s.Schema,
	}
}

// summary fills in the preset's values and checks how the settings fit together.
func (v *validator) summary() {
	s := &v.c.Summary
	if _, known := window.Presets[s.Preset]; known {
		p := presetSummary(s.Preset)
		v.fill("summary", reflect.ValueOf(s).Elem(), reflect.ValueOf(&p).Elem())
	}
	if s.Schema != "" && s.Format != string(window.JSON) {
		v.bad("summary.schema", "works only with format json, but summary.format is "+v.show("summary.format", s.Format), "write format: json, or remove the schema")
	}
	v.summaryStart(*s)
	v.summaryKeep(s.Keep, int(s.Trigger.Messages))
	v.summaryModel(s.Model)
}

// summaryStart finds settings with which nothing starts a summary, or which start
// one without asking although when is ask.
func (v *validator) summaryStart(s Summary) {
	when, t := window.When(s.When), s.Trigger
	byTrigger := when == window.WhenAuto || when == window.WhenAsk
	switch {
	case when == window.WhenAsk && s.Keep.MaxMessages > 0:
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
func (v *validator) summaryKeep(k SummaryKeep, trigger int) {
	const path = "summary.keep.n"
	each := 1 // messages that n counts as one, at least
	switch window.Unit(k.Unit) {
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
	v.plain(path+".base_url", m.BaseURL, !m.APIKey.unset())
	switch {
	case m.Name == "" && m.ContextWindow != 0:
		v.bad(path+".context_window", "works only with summary.model.name, which is not set", "name the model, or remove it")
	case m.BaseURL != "" && strings.TrimSpace(m.Name) == "":
		v.bad(path+".name", "is needed with summary.model.base_url", "write the model's name as that server knows it")
	case m.BaseURL == "" && !m.APIKey.unset():
		v.bad(path+".api_key", "works only with summary.model.base_url, which is not set", "write the address of its server, or remove the key")
	}
}

// Prune says how long tool results are shortened for the model.
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

// presetPrune is the section with the values of a preset.
func presetPrune(name string) Prune {
	p := window.PrunePresets[name]
	return Prune{
		Preset: name, Enabled: !p.Off, SoftPercent: p.SoftPercent, HardPercent: p.HardPercent, Head: p.Head, Tail: p.Tail,
		MinResult: p.MinResult, MinTotal: p.MinTotal, KeepAssistants: p.KeepAssistants, FailedCalls: p.FailedCalls, Exempt: slices.Clone(p.Exempt),
	}
}

// Rules converts the section for the agent.
func (p Prune) Rules() window.Prune {
	return window.Prune{
		Off: !p.Enabled, SoftPercent: p.SoftPercent, HardPercent: p.HardPercent, Head: p.Head, Tail: p.Tail,
		MinResult: p.MinResult, MinTotal: p.MinTotal, KeepAssistants: p.KeepAssistants, FailedCalls: p.FailedCalls, Exempt: p.Exempt,
	}
}

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
}

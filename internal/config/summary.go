package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"dragoman/agent/window"
)

// Summary says when and how old messages are summarised.
type Summary struct {
	Preset      string         `yaml:"preset" doc:"A named set of values for every key below that you do not set: dragoman, picoclaw, terrarium, molf, sentinel, goose-conservative, goose-balanced or goose-aggressive."`
	When        string         `yaml:"when" doc:"auto summarises when a trigger is reached. every_turn summarises after each turn. ask waits for the person to say /compact (they are told about it once) and otherwise summarises only what no longer fits. off never summarises: messages that do not fit are left out, and the model is told so."`
	Trigger     SummaryTrigger `yaml:"trigger"`
	Keep        SummaryKeep    `yaml:"keep"`
	Render      string         `yaml:"render" doc:"Where the summary is placed: system_section (at the end of the system prompt), system_message (the same), checkpoint_pair (a question and its answer before the messages) or facts_xml (a fact in the system prompt)."`
	Format      string         `yaml:"format" doc:"concise: 3 or 4 sentences. sections: goal, constraints, progress, decisions, next steps, context. json: a fixed schema, or the one in schema."`
	MaxTokens   int            `yaml:"max_tokens" doc:"Maximum tokens in one summary, and never more than a quarter of the context window; 0: that quarter. A model's thoughts count, so leave room for them."`
	MaxChars    int            `yaml:"max_chars" doc:"Maximum characters in one summary. The model rewrites a longer one; Dragoman never cuts it. 0: no limit."`
	Temperature *float64       `yaml:"temperature" example:"0.3" doc:"0 to 2; unset: the same as model.temperature."`
	Prompt      string         `yaml:"prompt" doc:"Replaces the built-in instructions. The instructions for format are added to it."`
	UserPrompt  string         `yaml:"user_prompt" verbatim:"yes" doc:"Replaces the message that asks for the summary. It must contain ${sessionMessages}, which becomes the messages. ${previousSummary} becomes the summary so far; without it, that summary comes before the messages. May be ${file:/path}."`
	Schema      string         `yaml:"schema" verbatim:"yes" doc:"Your own JSON Schema for format json, instead of the fixed one. May be ${file:/path}."`
	Model       SummaryModel   `yaml:"model"`
}

// SummaryTrigger says how large a conversation is when it is summarised.
type SummaryTrigger struct {
	TokensPercent Threshold `yaml:"tokens_percent" example:"75" doc:"Summarise when the conversation takes this share of the context window or more. none: never by size, even if the preset does."`
	Messages      Threshold `yaml:"messages" example:"80" doc:"Summarise when there are more messages than this after the last summary. none: never by number, even if the preset does."`
	MinMessages   int       `yaml:"min_messages" doc:"Do not summarise fewer messages than this."`
}

// SummaryKeep says what stays word for word.
type SummaryKeep struct {
	Unit string `yaml:"unit" doc:"What n counts: messages, turns or tokens."`
	N    int    `yaml:"n" doc:"The minimum number of newest ones to keep word for word. Tool calls stay with their results."`

	MaxMessages int `yaml:"max_messages" doc:"The maximum number of messages to show the model word for word; older ones are summarised before the call. The running turn counts, but is never cut. 0: as many as fit."`
}

// SummaryModel is the model that writes summaries, if it is another one.
type SummaryModel struct {
	BaseURL string `yaml:"base_url" doc:"The server of the model for summaries. Empty: the same as model."`
	APIKey  Secret `yaml:"api_key" empty:"ok" doc:"The key for that server."`
	Name    string `yaml:"name" doc:"The model for summaries. Empty: the configured one (model.name), even if a conversation has its own model."`

	ContextWindow int `yaml:"context_window" doc:"Its context window in tokens, answer included. 0: as in model.others, or the same as model.context_window."`
}

// presetSummary is the section as the preset fills it in.
func presetSummary(name string) Summary {
	p := window.Presets[name]
	return Summary{
		Preset: name, When: string(p.When),
		Trigger: SummaryTrigger{threshold(p.Trigger.TokensPercent), threshold(p.Trigger.Messages), p.Trigger.MinMessages},
		Keep:    SummaryKeep{string(p.Keep.Unit), p.Keep.N, p.MaxMessages},
		Render:  string(p.Render), Format: string(p.Format),
		MaxTokens: p.MaxTokens, MaxChars: p.MaxChars, Temperature: p.Temperature, Prompt: p.Prompt,
	}
}

// Compaction is the section as the agent takes it.
func (s Summary) Compaction() window.Compaction {
	return window.Compaction{
		When: window.When(s.When),
		Trigger: window.Trigger{
			TokensPercent: s.Trigger.TokensPercent.N(), Messages: s.Trigger.Messages.N(), MinMessages: s.Trigger.MinMessages,
		},
		Keep:        window.Keep{Unit: window.Unit(s.Keep.Unit), N: s.Keep.N},
		MaxMessages: s.Keep.MaxMessages,
		Render:      window.Render(s.Render), Format: window.Format(s.Format),
		MaxTokens: s.MaxTokens, MaxChars: s.MaxChars, Temperature: s.Temperature,
		Prompt: s.Prompt, UserPrompt: s.UserPrompt, Schema: s.Schema,
	}
}

// summaryTokens is what holds of summary.max_tokens: a quarter of the smaller
// window at most. 0 stays where the model, and so its window, is yet to be found.
func (c *Config) summaryTokens() int {
	const unknown = math.MaxInt // a window that is yet to be found
	size, m := c.Model.window(), c.Summary.Model
	if c.Model.ContextWindow == 0 && c.Model.Type != "demo" {
		size = unknown
	}
	for _, o := range c.Model.Others {
		if o.Name == m.Name && o.ContextWindow > 0 {
			size = min(size, o.ContextWindow)
		}
	}
	if m.ContextWindow > 0 {
		size = min(size, m.ContextWindow)
	}
	switch n := c.Summary.MaxTokens; {
	case n > size/4, n == 0 && size < unknown && (c.Model.Type != "auto" || c.Model.BaseURL != ""):
		return size / 4
	default:
		return n
	}
}

// summary fills in what the preset says and checks the whole.
func (v *validator) summary() {
	v.oneOf("summary.preset", v.c.Summary.Preset, window.PresetNames()...)
	v.applyPreset()
	s := v.c.Summary
	v.oneOf("summary.when", s.When, string(window.WhenAuto), string(window.WhenEveryTurn), string(window.WhenAsk), string(window.WhenOff))
	v.oneOf("summary.render", s.Render, string(window.SystemSection), string(window.SystemMessage), string(window.CheckpointPair), string(window.FactsXML))
	v.oneOf("summary.format", s.Format, string(window.Concise), string(window.Sections), string(window.JSON))
	v.oneOf("summary.keep.unit", s.Keep.Unit, string(window.UnitMessages), string(window.UnitTurns), string(window.UnitTokens))
	v.trigger("summary.trigger.tokens_percent", s.Trigger.TokensPercent, 1, 99)
	v.trigger("summary.trigger.messages", s.Trigger.Messages, 2, 1_000_000)
	v.between("summary.trigger.min_messages", s.Trigger.MinMessages, 0, 1_000_000)
	v.between("summary.keep.n", s.Keep.N, 1, 10_000_000)
	if s.Keep.MaxMessages != 0 {
		v.between("summary.keep.max_messages", s.Keep.MaxMessages, leastMessages, 1_000_000)
	}
	v.summaryStart(s)
	v.summaryKeep(s.Keep, s.Trigger.Messages.N())
	v.between("summary.max_tokens", s.MaxTokens, 0, 1_000_000)
	if s.MaxTokens > 0 && s.MaxTokens < 64 {
		v.bad("summary.max_tokens", fmt.Sprintf("%d is too small for a summary", s.MaxTokens), "write at least 64, or 0")
	}
	v.between("summary.max_chars", s.MaxChars, 0, 10_000_000)
	if s.MaxChars > 0 && s.MaxChars < 200 {
		v.bad("summary.max_chars", fmt.Sprintf("%d is too small for a summary", s.MaxChars), "write at least 200, or 0")
	}
	v.temperature("summary.temperature", s.Temperature)
	v.summaryPrompts(s)
	v.summaryModel(s.Model)
}

// mostPrompt bounds prompts and schemas in bytes: they are part of every
// request for a summary.
const mostPrompt = 32 << 10

// summaryPrompts checks what people write for the summariser.
func (v *validator) summaryPrompts(s Summary) {
	_, templateErr := window.ParseTemplate(s.UserPrompt)
	_, schemaErr := window.ParseSchema(s.Schema)
	for _, p := range []struct {
		key, text string
		err       error
	}{{"prompt", s.Prompt, nil}, {"user_prompt", s.UserPrompt, templateErr}, {"schema", s.Schema, schemaErr}} {
		path := "summary." + p.key
		var flaw *window.Flaw
		switch {
		case len(p.text) > mostPrompt:
			v.bad(path, fmt.Sprintf("has %d bytes", len(p.text)), fmt.Sprintf("write at most %d: it is part of every request for a summary", mostPrompt))
		case errors.As(p.err, &flaw):
			v.bad(path, flaw.What, flaw.Want)
		}
	}
	if s.Schema != "" && s.Format != string(window.JSON) {
		v.bad("summary.schema", "works only with format json, but summary.format is "+v.show("summary.format", s.Format), "write format: json, or remove the schema")
	}
}

// applyPreset fills in what was not written. What was written counts.
func (v *validator) applyPreset() {
	s := &v.c.Summary
	if _, known := window.Presets[s.Preset]; !known {
		return
	}
	p := presetSummary(s.Preset)
	v.fill("summary", reflect.ValueOf(s).Elem(), reflect.ValueOf(&p).Elem())
}

// fill sets each key below path that was not written to what the preset says.
func (v *validator) fill(path string, section, preset reflect.Value) {
	from := fieldsOf(preset)
	for i, f := range fieldsOf(section) {
		at, t := join(path, f.name), f.value.Type()
		switch {
		case t.Kind() == reflect.Struct && t != secretType:
			v.fill(at, f.value, from[i].value)
		case !v.written(at):
			f.value.Set(from[i].value)
		}
	}
}

// trigger checks a threshold. Elsewhere 0 means every turn to some and never
// to others, so that it means nothing here.
func (v *validator) trigger(path string, value Threshold, low, high int) {
	switch {
	case value == 0 && v.written(path):
		v.bad(path, "0 could mean every turn or never", fmt.Sprintf("write %d to %d, or none to do without it, or summary.when: every_turn", low, high))
	case value != 0 && value != noThreshold:
		v.between(path, int(value), low, high)
	}
}

func (v *validator) summaryModel(m SummaryModel) {
	const path = "summary.model"
	v.server(path+".base_url", m.BaseURL, !m.APIKey.Empty())
	v.window(path+".context_window", m.ContextWindow)
	switch {
	case m.Name == "" && m.ContextWindow != 0:
		v.bad(path+".context_window", "works only with summary.model.name, which is not set", "name the model, or remove it")
	case m.BaseURL != "" && strings.TrimSpace(m.Name) == "":
		v.bad(path+".name", "is needed with summary.model.base_url", "write the model's name as that server knows it")
	case m.BaseURL == "" && !m.APIKey.Empty():
		v.bad(path+".api_key", "works only with summary.model.base_url, which is not set", "write the address of its server, or remove the key")
	case m.BaseURL == "" && m.Name != "" && v.c.Model.Type == "demo":
		v.bad(path+".name", "the built-in demo has no other models", "write summary.model.base_url, or remove the name")
	}
}

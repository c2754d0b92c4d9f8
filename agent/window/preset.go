package window

import (
	"maps"
	"slices"
	"strconv"
)

// When says what starts a compaction.
type When string

// The values of Compaction.When.
const (
	WhenAuto      When = "auto"       // a trigger is reached
	WhenEveryTurn When = "every_turn" // after each turn, whatever the triggers say
	WhenAsk       When = "ask"        // the person decides once a trigger is reached; without an answer, when a request does not fit
	WhenOff       When = "off"        // never; what does not fit is left out of requests
)

// Trigger says how large a history must be to be compacted. A zero field is not
// checked. The tags here and in the structs below are those of package config.
type Trigger struct {
	TokensPercent Threshold `yaml:"tokens_percent" range:"none,1..99" is:"threshold" doc:"Summarise when the conversation takes this share of the context window or more. none: never by size, even if the preset does."`
	Messages      Threshold `yaml:"messages" range:"none,2..1000000" is:"threshold" doc:"Summarise when there are more messages than this after the last summary. none: never by number, even if the preset does."`
	MinMessages   int       `yaml:"min_messages" range:"0..1000000" doc:"Do not summarise fewer messages than this."`
}

// Threshold is the number at which something starts, or 0, written "none".
type Threshold int

// String is the form in which t is written.
func (t Threshold) String() string {
	if t == 0 {
		return "none"
	}
	return strconv.Itoa(int(t))
}

// MarshalYAML writes a number, or "none".
func (t Threshold) MarshalYAML() (any, error) {
	if t == 0 {
		return t.String(), nil
	}
	return int(t), nil
}

// Unit is what Keep counts.
type Unit string

// The values of Keep.Unit.
const (
	UnitMessages Unit = "messages"
	UnitTurns    Unit = "turns"
	UnitTokens   Unit = "tokens"
)

// Keep says how much of the newest part is kept verbatim. It is a minimum: a tool
// group is never split.
type Keep struct {
	Unit Unit `yaml:"unit" oneof:"messages turns tokens" doc:"What n counts: messages, turns or tokens."`
	N    int  `yaml:"n" range:"1..10000000" doc:"The minimum number of newest ones to keep word for word. Tool calls stay with their results."`

	MaxMessages int `yaml:"max_messages" range:"0,6..1000000" doc:"The maximum number of messages to show the model word for word; older ones are summarised before the call. The running turn counts, but is never cut. 0: as many as fit."`
}

// Render says where a request shows the summary.
type Render string

// The values of Compaction.Render.
const (
	SystemSection  Render = "system_section"  // a section at the end of the system prompt
	SystemMessage  Render = "system_message"  // the same, because many templates accept only one system message
	CheckpointPair Render = "checkpoint_pair" // a user message and its answer, before the first kept message
	FactsXML       Render = "facts_xml"       // a fact in a knowledge block of the system prompt
)

// Format says what a summary looks like.
type Format string

// The values of Compaction.Format.
const (
	Concise  Format = "concise"  // three or four sentences
	Sections Format = "sections" // goal, constraints, progress, decisions, next steps, context
	JSON     Format = "json"     // the schema of [Fields]
)

// Compaction holds all settings of summaries.
type Compaction struct {
	When        When     `yaml:"when" oneof:"auto every_turn ask off" doc:"auto summarises when a trigger is reached. every_turn summarises after each turn. ask waits for the person to say /compact (they are told about it once) and otherwise summarises only what no longer fits. off never summarises: messages that do not fit are left out, and the model is told so."`
	Trigger     Trigger  `yaml:"trigger"`
	Keep        Keep     `yaml:"keep"`
	Render      Render   `yaml:"render" oneof:"system_section system_message checkpoint_pair facts_xml" doc:"Where the summary is placed: system_section (at the end of the system prompt), system_message (the same), checkpoint_pair (a question and its answer before the messages) or facts_xml (a fact in the system prompt)."`
	Format      Format   `yaml:"format" oneof:"concise sections json" doc:"concise: 3 or 4 sentences. sections: goal, constraints, progress, decisions, next steps, context. json: a fixed schema, or the one in schema."`
	MaxTokens   int      `yaml:"max_tokens" range:"0,64..1000000" doc:"Maximum tokens in one summary, and never more than a quarter of the context window; 0: that quarter. A model's thoughts count, so leave room for them."`
	MaxChars    int      `yaml:"max_chars" range:"0,200..10000000" doc:"Maximum characters in one summary. The model rewrites a longer one; Dragoman never cuts it. 0: no limit."`
	Temperature *float64 `yaml:"temperature,omitempty" range:"0..2" doc:"0 to 2; unset: the same as model.temperature."`
	Prompt      string   `yaml:"prompt" doc:"Replaces the built-in instructions. The instructions for format are added to it."`
	// UserPrompt is read by [ParseTemplate], and Schema by [ParseSchema].
	UserPrompt string `yaml:"user_prompt" is:"template" verbatim:"yes" empty:"ok" doc:"Replaces the message that asks for the summary. It must contain ${sessionMessages}, which becomes the messages. ${previousSummary} becomes the summary so far; without it, that summary comes before the messages. May be ${file:/path}."`
	Schema     string `yaml:"schema" is:"schema" verbatim:"yes" empty:"ok" doc:"Your own JSON Schema for format json, instead of the fixed one. May be ${file:/path}."`
}

// DefaultPreset is used by a configuration that names no preset.
const DefaultPreset = "dragoman"

// Presets are the known ways of compaction, by name. Their triggers, what they keep
// and how they render summaries come from the systems they are named after. How a
// summary is made and what happens when that fails is the same for all.
// docs/context.md says where each number comes from.
var Presets = map[string]Compaction{
	// Measured in docs/internals/performance.md: with fewer messages, consecutive
	// requests share less than 95 % of their bytes; with more, each request costs
	// more.
	DefaultPreset: {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 75, Messages: 80}, Keep: Keep{Unit: UnitMessages, N: 12},
		Render: SystemSection, Format: Sections, MaxTokens: 4096,
	},
	"picoclaw": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 75, Messages: 20}, Keep: Keep{Unit: UnitMessages, N: 4},
		Render: SystemSection, Format: Concise, MaxTokens: 1024, Temperature: new(0.3),
	},
	// Terrarium shows the last 20 messages and, as a variant, a summary of all but
	// the last 10, made anew for every request. Here one summary lasts until more
	// than 20 messages would be shown again, so no message is lost.
	"terrarium": {
		When: WhenAuto, Trigger: Trigger{Messages: 20}, Keep: Keep{Unit: UnitMessages, N: 10, MaxMessages: 20},
		Render: SystemMessage, Format: Concise, MaxTokens: 256, Temperature: new(0.2),
	},
	"molf": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 80, MinMessages: 6}, Keep: Keep{Unit: UnitTurns, N: 4},
		Render: CheckpointPair, Format: Sections, MaxTokens: 4096, Temperature: new(0.3),
	},
	"sentinel": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 60}, Keep: Keep{Unit: UnitMessages, N: 30},
		Render: FactsXML, Format: JSON, MaxTokens: 4096, MaxChars: 1000,
	},
	"goose-conservative": goose(90, 10),
	"goose-balanced":     goose(80, 5),
	"goose-aggressive":   goose(70, 3),
}

// goose returns one of the presets that differ in two numbers.
func goose(percent Threshold, keep int) Compaction {
	return Compaction{
		When: WhenAuto, Trigger: Trigger{TokensPercent: percent}, Keep: Keep{Unit: UnitMessages, N: keep},
		Render: SystemMessage, Format: Concise, MaxTokens: 200,
	}
}

// PresetNames returns the names in Presets, sorted.
func PresetNames() []string { return slices.Sorted(maps.Keys(Presets)) }

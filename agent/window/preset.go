package window

import (
	"maps"
	"slices"
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
// checked.
type Trigger struct {
	// TokensPercent: the history takes at least this share of the context window.
	TokensPercent int
	// Messages: there are more messages than this after the last summary.
	Messages int
	// MinMessages: fewer messages than this are never compacted.
	MinMessages int
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
	Unit Unit
	N    int
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
	When    When
	Trigger Trigger
	Keep    Keep
	// MaxMessages limits the messages of the conversation that a request shows; older
	// ones are summarised first. The running turn counts, but is never cut. 0: no
	// limit besides the window.
	MaxMessages int

	Render Render
	Format Format
	// MaxTokens limits the model's answer, MaxChars the characters of the summary. 0:
	// no extra limit.
	MaxTokens int
	MaxChars  int
	// Temperature, if nil, is left to the model's settings.
	Temperature *float64
	// Prompt, if not empty, replaces the built-in instructions. What the format
	// requires is added to it.
	Prompt string
	// UserPrompt, if not empty, is the text around the messages to summarise: see
	// [ParseTemplate].
	UserPrompt string
	// Schema, if not empty, replaces [Fields] as the schema of the format JSON: see
	// [ParseSchema].
	Schema string
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
		When: WhenAuto, Trigger: Trigger{TokensPercent: 75, Messages: 80}, Keep: Keep{UnitMessages, 12},
		Render: SystemSection, Format: Sections, MaxTokens: 4096,
	},
	"picoclaw": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 75, Messages: 20}, Keep: Keep{UnitMessages, 4},
		Render: SystemSection, Format: Concise, MaxTokens: 1024, Temperature: degrees(0.3),
	},
	// Terrarium shows the last 20 messages and, as a variant, a summary of all but
	// the last 10, made anew for every request. Here one summary lasts until more
	// than 20 messages would be shown again, so no message is lost.
	"terrarium": {
		When: WhenAuto, Trigger: Trigger{Messages: 20}, Keep: Keep{UnitMessages, 10}, MaxMessages: 20,
		Render: SystemMessage, Format: Concise, MaxTokens: 256, Temperature: degrees(0.2),
	},
	"molf": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 80, MinMessages: 6}, Keep: Keep{UnitTurns, 4},
		Render: CheckpointPair, Format: Sections, MaxTokens: 4096, Temperature: degrees(0.3),
	},
	"sentinel": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 60}, Keep: Keep{UnitMessages, 30},
		Render: FactsXML, Format: JSON, MaxTokens: 4096, MaxChars: 1000,
	},
	"goose-conservative": goose(90, 10),
	"goose-balanced":     goose(80, 5),
	"goose-aggressive":   goose(70, 3),
}

// goose returns one of the presets that differ in two numbers.
func goose(percent, keep int) Compaction {
	return Compaction{
		When: WhenAuto, Trigger: Trigger{TokensPercent: percent}, Keep: Keep{UnitMessages, keep},
		Render: SystemMessage, Format: Concise, MaxTokens: 200,
	}
}

func degrees(t float64) *float64 { return &t }

// PresetNames returns the names in Presets, sorted.
func PresetNames() []string { return slices.Sorted(maps.Keys(Presets)) }

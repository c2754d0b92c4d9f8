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
	WhenEveryTurn When = "every_turn" // a turn has ended, whatever the triggers say
	WhenAsk       When = "ask"        // the person, when told that a trigger is reached; or it does not fit any more
	WhenOff       When = "off"        // nothing; what does not fit is left out of the view
)

// Trigger says how large a history is when it is compacted. A zero field asks
// for nothing.
type Trigger struct {
	// TokensPercent is reached at this share of the context window or more.
	TokensPercent int
	// Messages is reached by more messages than this after the last summary.
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

// Keep is how much of the newest part stays word for word. It is a floor: a
// tool group that it would split stays whole.
type Keep struct {
	Unit Unit
	N    int
}

// Render says where a summary stands in a request.
type Render string

// The values of Compaction.Render.
const (
	SystemSection  Render = "system_section"  // a section at the end of the system prompt
	SystemMessage  Render = "system_message"  // the same: many templates take one system message only
	CheckpointPair Render = "checkpoint_pair" // a user message and its answer, before the first kept message
	FactsXML       Render = "facts_xml"       // a fact of a knowledge block in the system prompt
)

// Format says what a summary looks like.
type Format string

// The values of Compaction.Format.
const (
	Concise  Format = "concise"  // three or four sentences
	Sections Format = "sections" // goal, constraints, progress, decisions, next steps, context
	JSON     Format = "json"     // the schema of [Fields]
)

// Compaction is everything that can be chosen about summaries.
type Compaction struct {
	When    When
	Trigger Trigger
	Keep    Keep
	// MaxMessages is how many messages of the conversation a request shows at
	// most: what goes beyond is summarised before it is made. The running turn
	// counts, and stays whole. 0: as many as there is room for.
	MaxMessages int

	Render Render
	Format Format
	// MaxTokens bounds the model's answer, MaxChars the characters of the
	// summary. 0: no bound of its own.
	MaxTokens int
	MaxChars  int
	// Temperature is left to the model's settings if nil.
	Temperature *float64
	// Prompt, if not empty, replaces the built-in instructions. What the format
	// asks for is added to it.
	Prompt string
	// UserPrompt, if not empty, is the text around what is to be summarised:
	// see [ParseTemplate].
	UserPrompt string
	// Schema, if not empty, is what the format JSON follows in place of
	// [Fields]: see [ParseSchema].
	Schema string
}

// DefaultPreset is the preset of a configuration that names none.
const DefaultPreset = "dragoman"

// Presets are known ways of compaction, by name. The triggers, what is kept
// and the rendering are those of the systems they are called after; how a
// summary is made and what happens when it fails is the same for all of them.
// docs/context.md says where a number comes from.
var Presets = map[string]Compaction{
	// Measured in docs/internals/performance.md: with fewer messages consecutive requests
	// share less than 95 % of their bytes, with more each of them costs more.
	DefaultPreset: {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 75, Messages: 80}, Keep: Keep{UnitMessages, 12},
		Render: SystemSection, Format: Sections, MaxTokens: 4096,
	},
	"picoclaw": {
		When: WhenAuto, Trigger: Trigger{TokensPercent: 75, Messages: 20}, Keep: Keep{UnitMessages, 4},
		Render: SystemSection, Format: Concise, MaxTokens: 1024, Temperature: degrees(0.3),
	},
	// It shows the last 20 messages and, as a variant, a summary of all but the
	// last 10, made anew for every request. Here one summary lasts until there
	// would be more than 20 again, and so none of the others is lost.
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

// goose is one of the presets that differ in two numbers.
func goose(percent, keep int) Compaction {
	return Compaction{
		When: WhenAuto, Trigger: Trigger{TokensPercent: percent}, Keep: Keep{UnitMessages, keep},
		Render: SystemMessage, Format: Concise, MaxTokens: 200,
	}
}

func degrees(t float64) *float64 { return &t }

// PresetNames are the names in Presets, sorted.
func PresetNames() []string { return slices.Sorted(maps.Keys(Presets)) }

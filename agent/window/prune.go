package window

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"dragoman/sessions"
)

// Prune says how large tool results are shortened in the view. The transcript keeps
// them whole. See [DefaultPrune].
type Prune struct {
	// Off turns pruning off.
	Off         bool `yaml:"-"`
	SoftPercent int  `yaml:"soft_percent" range:"1..100" doc:"Above this share of the context window, long results are reduced to their beginning and end."`
	HardPercent int  `yaml:"hard_percent" range:"1..100" doc:"Above this share, a notice replaces them."`
	Head        int  `yaml:"head" range:"0..1000000" doc:"Characters kept from the beginning."`
	Tail        int  `yaml:"tail" range:"0..1000000" doc:"Characters kept from the end."`
	MinResult   int  `yaml:"min_result" range:"500..100000000" doc:"Results with fewer characters than this are left alone."`
	// MinTotal: results become notices only if that saves at least this many characters
	// together, because each change of what was shown costs a provider's cache.
	MinTotal       int `yaml:"min_total" range:"0..100000000" doc:"Results are replaced by a notice only if that saves at least this many characters in all."`
	KeepAssistants int `yaml:"keep_assistants" range:"0..1000" doc:"The tool results of this many newest messages from the model stay whole."`
	// FailedCalls counts even if Off: see [WithoutFailed].
	FailedCalls bool     `yaml:"failed_calls" doc:"After a turn, hide its failed tool calls from the model. The transcript keeps them, and summaries include them."`
	Exempt      []string `yaml:"exempt,flow" is:"name" doc:"Tools whose results always stay whole."`
}

// DefaultPrunePreset is used by a configuration that names none.
const DefaultPrunePreset = "dragoman"

// PrunePresets are the known ways of pruning, by name.
var PrunePresets = map[string]Prune{
	// Half of the largest page of read_file: long files and web pages are pruned, a
	// few screens of text are not. See docs/internals/performance.md.
	DefaultPrunePreset: withUsual(Prune{MinResult: 16_000}),
	// Only what is longer than any page of read_file or web_fetch, as in molf.
	"sparing": withUsual(Prune{MinResult: 50_000}),
	// The default, and failed tool calls are dropped.
	"sentinel": withUsual(Prune{MinResult: 16_000, FailedCalls: true}),
	// It shortens results from 4,000 characters on, and replaces whole ones only
	// where that frees 50,000.
	"openclaw": withUsual(Prune{MinResult: 4000, MinTotal: 50_000}),
}

// withUsual adds to p what all presets have.
func withUsual(p Prune) Prune {
	p.SoftPercent = 30
	p.HardPercent = 50
	p.Head = 1500
	p.Tail = 1500
	p.KeepAssistants, p.Exempt = 3, []string{"skill"}
	return p
}

// PrunePresetNames returns the names in PrunePresets, sorted.
func PrunePresetNames() []string { return slices.Sorted(maps.Keys(PrunePresets)) }

// PrunePresetFor returns the name of the pruning preset that belongs to a summary
// preset: who chooses another system's summaries expects its view too.
func PrunePresetFor(summaries string) string {
	preset := map[string]string{"sentinel": "sentinel", "molf": "sparing"}[summaries] // molf leaves results of less than 50,000 characters alone
	return cmp.Or(preset, DefaultPrunePreset)
}

// DefaultPrune returns the default settings.
func DefaultPrune() Prune {
	p := PrunePresets[DefaultPrunePreset]
	p.Exempt = slices.Clone(p.Exempt)
	return p
}

// PruneTarget is what a pruned view has to fit into.
type PruneTarget struct {
	Window int // the model's context length in tokens
	Fixed  int // tokens of what comes before the messages
	// Count counts the tokens of a text; nil is EstimateText.
	Count func(string) int
	// Forced selects results to replace by notices because a server refused a
	// request, whatever the shares and MinResult say.
	Forced Forced
}

// Forced selects the messages of a transcript up to Seq and those of one Turn, which
// may have no seq yet. Its zero value selects none.
type Forced struct {
	Seq  int64
	Turn string
}

func (f Forced) has(m *sessions.Message) bool {
	return m.Seq > 0 && m.Seq <= f.Seq || f.Turn != "" && m.Turn == f.Turn
}

// Apply returns a view of msgs, which must be repaired, with long tool results
// pruned. It adds and removes no message.
//
// The decision depends on the messages alone, and still never takes back what an
// earlier request showed. Apply replays every request that was made for these
// messages, one before each assistant message. What was pruned for one stays as it is
// in all later ones, or becomes a notice. So requests share their beginning on every
// machine and after every restart. For the same reason sizes are corrected only by
// the usage that is stored with the messages.
func (p Prune) Apply(msgs []sessions.Message, s PruneTarget) []sessions.Message {
	if p.Off || !slices.ContainsFunc(msgs, func(m sessions.Message) bool { return p.canPrune(&m, s) }) {
		return msgs
	}
	if s.Count == nil {
		s.Count = EstimateText
	}
	v := pruning{Prune: p, s: s, in: msgs, out: slices.Clone(msgs), size: s.Fixed, factor: 1}
	names := make(map[string]string)
	for i := range v.out {
		m := &v.out[i]
		if m.Role == sessions.RoleAssistant {
			v.pruneForRequest()
			if m.Usage != nil { // it counts the request up to m
				v.factor = Calibrate(v.factor, m.Usage.Input, v.size)
			}
			v.assistants++
			clear(names)
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
			}
		}
		tokens := countMessage(m, s.Count)
		v.size += tokens
		if p.canPrune(m, s) && !slices.Contains(p.Exempt, names[m.ToolCallID]) {
			v.open = append(v.open, candidate{at: i, owner: v.assistants, tokens: tokens, tool: names[m.ToolCallID]})
		}
	}
	v.pruneForRequest()
	return v.out
}

func (p Prune) canPrune(m *sessions.Message, s PruneTarget) bool {
	if m.Role != sessions.RoleTool {
		return false
	}
	return s.Forced.has(m) || len(m.Content) >= p.MinResult && utf8.RuneCountInString(m.Content) >= p.MinResult
}

// ours are the origins of a notice.
var ours = []sessions.Origin{sessions.OriginModel}

// candidate is a result that is not yet a notice.
type candidate struct {
	at, owner int // index in the view; number of assistant messages up to the one that called it
	tokens    int // its current size
	soft      bool
	tool      string
}

// pruning is one walk over the messages of a request. It copies in to out and
// replaces old results there by notices until the request fits.
type pruning struct {
	Prune
	s          PruneTarget
	in, out    []sessions.Message
	size       int // of the request up to here, as we count
	assistants int
	factor     float64 // the provider's count per token of ours
	open       []candidate
}

// pruneForRequest prunes for the request that ends here. See [Prune.Apply] for why
// each request of the past is replayed.
func (v *pruning) pruneForRequest() {
	share := func(percent int) bool { return float64(v.size)*v.factor*100 > float64(v.s.Window)*float64(percent) }
	hard, soft := share(v.HardPercent), share(v.SoftPercent)
	if hard && v.MinTotal > 0 {
		hard = v.clearableChars() >= v.MinTotal
	}
	left := v.open[:0]
	for _, c := range v.open {
		m := &v.out[c.at]
		switch {
		case v.isRecent(c):
			left = append(left, c)
			continue
		case hard || v.s.Forced.has(m):
			v.replace(m, &c, v.notice(c))
			if m.Content != v.in[c.at].Content {
				m.Origins = ours
			}
			continue // it cannot become shorter
		case soft && !c.soft:
			c.soft = true
			v.replace(m, &c, Ends(m.Content, v.Head, v.Tail))
		}
		left = append(left, c)
	}
	v.open = left
}

func (v *pruning) isRecent(c candidate) bool { return c.owner > v.assistants-v.KeepAssistants }

// clearableChars returns how many characters notices would save, counting results at
// their shortened length.
func (v *pruning) clearableChars() int {
	n := 0
	for _, c := range v.open {
		if v.isRecent(c) {
			continue
		}
		size := utf8.RuneCountInString(v.out[c.at].Content)
		if !c.soft {
			size = min(size, v.Head+v.Tail)
		}
		n += size
	}
	return n
}

func (v *pruning) replace(m *sessions.Message, c *candidate, text string) {
	if len(text) >= len(m.Content) {
		return
	}
	m.Content = text
	tokens := countMessage(m, v.s.Count)
	v.size += tokens - c.tokens
	c.tokens = tokens
}

func (v *pruning) notice(c candidate) string {
	return fmt.Sprintf("[The result of %s, %d characters, was left out here to save room. Call it again only if its content is needed.]",
		cmp.Or(c.tool, noName), utf8.RuneCountInString(v.in[c.at].Content))
}

// WithoutFailed returns a view of msgs, which must be repaired, without tool calls
// that failed and their results. Those of the running turn are kept, because its
// model still works with them, and so is text beside a call. dropped is how many
// messages the view lacks. What one request leaves out, all later ones leave out too,
// because a finished turn never runs again.
func WithoutFailed(msgs []sessions.Message, running string) (view []sessions.Message, dropped int) {
	gone := func(m *sessions.Message) bool {
		return m.Role == sessions.RoleTool && m.Failed && m.Turn != running
	}
	if !slices.ContainsFunc(msgs, func(m sessions.Message) bool { return gone(&m) }) {
		return msgs, 0
	}
	view = make([]sessions.Message, 0, len(msgs))
	for start := 0; start < len(msgs); {
		end := groupEnd(msgs, start)
		m, results := msgs[start], msgs[start+1:end]
		if slices.ContainsFunc(results, func(m sessions.Message) bool { return gone(&m) }) {
			calls := m.ToolCalls
			m.ToolCalls, m.Attached = nil, nil // it belongs to all calls together
			for i := range results {
				if !gone(&results[i]) {
					m.ToolCalls = append(m.ToolCalls, calls[i])
				}
			}
		}
		if m.Role != sessions.RoleAssistant || len(m.ToolCalls) > 0 || !blank(m.Content) {
			view = append(view, m)
		}
		for i := range results {
			if !gone(&results[i]) {
				view = append(view, results[i])
			}
		}
		start = end
	}
	return view, len(msgs) - len(view)
}

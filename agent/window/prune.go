package window

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"dragoman/sessions"
)

// Prune says how large results of tools are shortened in the view. The
// transcript keeps them whole. It is plain data; see [DefaultPrune].
type Prune struct {
	// Off turns it off.
	Off bool
	// SoftPercent: while a request takes more than this share of the window,
	// long results keep only their first Head and last Tail characters.
	SoftPercent int
	// HardPercent: while it takes more than this, they become a notice.
	HardPercent int
	Head, Tail  int
	// MinResult is how many characters a result has at least to be pruned.
	MinResult int
	// MinTotal is how many characters notices in place of results take away
	// together at least, or none stands for any: a change to what was shown
	// costs a provider's cache, so it must free something.
	MinTotal int
	// KeepAssistants: the results that belong to so many of the newest
	// assistant messages stay whole.
	KeepAssistants int
	// FailedCalls leaves the calls of earlier turns that only failed out of the
	// view, with their results, even if Off: see [WithoutFailed].
	FailedCalls bool
	// Exempt are the tools whose results always stay whole.
	Exempt []string
}

// DefaultPrunePreset is the preset of a configuration that names none.
const DefaultPrunePreset = "dragoman"

// PrunePresets are known ways of pruning, by name.
var PrunePresets = map[string]Prune{
	// Half of the largest page of read_file, so that pages and web sites count
	// and what a few screens hold does not: see docs/internals/performance.md.
	DefaultPrunePreset: usual(Prune{MinResult: 16_000}),
	// Only what is longer than any page of read_file or web_fetch, as molf has
	// it.
	"sparing": usual(Prune{MinResult: 50_000}),
	// The default's, and no failed calls of tools.
	"sentinel": usual(Prune{MinResult: 16_000, FailedCalls: true}),
	// It shortens results from 4,000 characters on, and takes whole ones out
	// only where that frees 50,000.
	"openclaw": usual(Prune{MinResult: 4000, MinTotal: 50_000}),
}

// usual is p with what all presets have.
func usual(p Prune) Prune {
	p.SoftPercent, p.HardPercent, p.Head, p.Tail = 30, 50, 1500, 1500
	p.KeepAssistants, p.Exempt = 3, []string{"skill"}
	return p
}

// PrunePresetNames are the names in PrunePresets, sorted.
func PrunePresetNames() []string { return slices.Sorted(maps.Keys(PrunePresets)) }

// PrunePresetFor names the preset that goes with a preset of summaries: who
// takes a system's way of summarising expects its view too.
func PrunePresetFor(summaries string) string {
	preset := map[string]string{"sentinel": "sentinel", "molf": "sparing"}[summaries] // molf leaves results of less than 50,000 characters alone
	return cmp.Or(preset, DefaultPrunePreset)
}

// DefaultPrune is what Dragoman does unless it is told otherwise.
func DefaultPrune() Prune {
	p := PrunePresets[DefaultPrunePreset]
	p.Exempt = slices.Clone(p.Exempt)
	return p
}

// Sight is what a pruned view has to fit into.
type Sight struct {
	Window int // tokens that the model takes
	Fixed  int // tokens of what stands in front of the messages
	// Count counts the tokens of a text; nil is EstimateText.
	Count func(string) int
	// Forced are results that a server's refusal made a notice of, whatever
	// the shares and MinResult say.
	Forced Forced
}

// Forced marks the messages of a transcript up to Seq and those of one Turn,
// which may have no seq yet. Its zero value marks none.
type Forced struct {
	Seq  int64
	Turn string
}

func (f Forced) has(m *sessions.Message) bool {
	return m.Seq > 0 && m.Seq <= f.Seq || f.Turn != "" && m.Turn == f.Turn
}

// Apply returns a view of msgs, which must be repaired, with long results of
// tools pruned. It adds and removes no message.
//
// What it does is decided anew from the messages alone, and still never goes
// back on what an earlier request showed: every request that was made for
// these messages, which is one before each assistant message, is gone through
// again, and what was pruned for one stays as it is in all that follow, or
// becomes the notice. So requests keep their common beginning, on every
// machine and after every restart. For the same reason the size is corrected
// by the usage that is stored with the messages, and by nothing else.
func (p Prune) Apply(msgs []sessions.Message, s Sight) []sessions.Message {
	if p.Off || !slices.ContainsFunc(msgs, func(m sessions.Message) bool { return p.concerns(&m, s) }) {
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
			v.decide()
			if m.Usage != nil { // which counts the request up to m
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
		if p.concerns(m, s) && !slices.Contains(p.Exempt, names[m.ToolCallID]) {
			v.open = append(v.open, candidate{at: i, owner: v.assistants, tokens: tokens, tool: names[m.ToolCallID]})
		}
	}
	v.decide()
	return v.out
}

// concerns reports whether m may ever be pruned.
func (p Prune) concerns(m *sessions.Message, s Sight) bool {
	if m.Role != sessions.RoleTool {
		return false
	}
	return s.Forced.has(m) || len(m.Content) >= p.MinResult && utf8.RuneCountInString(m.Content) >= p.MinResult
}

// candidate is a result that is not a notice yet.
type candidate struct {
	at, owner int // its index, and how many assistant messages there are up to its own
	tokens    int // that it takes now
	soft      bool
	tool      string
}

// pruning is one Apply under way.
type pruning struct {
	Prune
	s          Sight
	in, out    []sessions.Message
	size       int // of the request up to here, in tokens as counted
	assistants int
	factor     float64 // by what the provider counted more
	open       []candidate
}

// decide prunes what is to be pruned for the request that ends here.
func (v *pruning) decide() {
	share := func(percent int) bool { return float64(v.size)*v.factor*100 > float64(v.s.Window)*float64(percent) }
	hard, soft := share(v.HardPercent), share(v.SoftPercent)
	if hard && v.MinTotal > 0 {
		hard = v.clearable() >= v.MinTotal
	}
	left := v.open[:0]
	for _, c := range v.open {
		m := &v.out[c.at]
		switch {
		case v.kept(c):
			left = append(left, c)
			continue
		case hard || v.s.Forced.has(m):
			v.replace(m, &c, v.notice(c))
			continue // it cannot become less
		case soft && !c.soft:
			c.soft = true
			v.replace(m, &c, Ends(m.Content, v.Head, v.Tail))
		}
		left = append(left, c)
	}
	v.open = left
}

// kept reports whether c belongs to one of the newest assistant messages.
func (v *pruning) kept(c candidate) bool { return c.owner > v.assistants-v.KeepAssistants }

// clearable is how many characters notices would take away from the results as
// they are shown once they are shortened, which they are before.
func (v *pruning) clearable() int {
	n := 0
	for _, c := range v.open {
		if v.kept(c) {
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

// replace shows text instead of m's content, if that is shorter.
func (v *pruning) replace(m *sessions.Message, c *candidate, text string) {
	if len(text) >= len(m.Content) {
		return
	}
	m.Content = text
	tokens := countMessage(m, v.s.Count)
	v.size += tokens - c.tokens
	c.tokens = tokens
}

// notice stands for a whole result.
func (v *pruning) notice(c candidate) string {
	return fmt.Sprintf("[The result of %s, %d characters, was left out here to save room. Call it again only if its content is needed.]",
		cmp.Or(c.tool, noName), utf8.RuneCountInString(v.in[c.at].Content))
}

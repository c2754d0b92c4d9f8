package agent

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// fixedShare: the system prompt and the tools may take one fixedShare-th of the
// window. The rest is for messages and answers.
const fixedShare = 2

// offer is the tools that a model is offered, and the tokens that their descriptions take.
type offer struct {
	specs  []Spec // described, sorted by name
	listed []Spec // not described, sorted by name
	tokens int
}

// has reports whether the model can call the tool of that name.
func (o *offer) has(name string) bool {
	return slices.ContainsFunc(o.specs, func(s Spec) bool { return s.Name == name }) || o.lists(name)
}

// finder is the name of the tool that finds what was said before; "" if there is none.
func (o *offer) finder() string {
	for _, s := range slices.Concat(o.specs, o.listed) {
		if s.Finds {
			return s.Name
		}
	}
	return ""
}

// notes are for the end of the system prompt.
func (o *offer) notes() string {
	var all []string
	for _, s := range o.specs {
		if s.Note != "" {
			all = append(all, s.Note)
		}
	}
	return strings.Join(all, "\n\n")
}

// offerTo returns the tools for a model with this system prompt. It depends on
// nothing else, so that it stays the same from turn to turn.
func (a *Agent) offerTo(k *kit, m ableModel, prompt string, r rights) offer {
	if m.NoTools {
		return offer{}
	}
	ours := k.specsFor(r)
	most := a.windowOf(m) / fixedShare
	out, size := a.arranged(ours, r.given, false)
	if size+len(prompt) <= most || len(k.sorted) == 0 {
		return out // no text has more tokens than bytes
	}
	most -= a.opts.Count(prompt)
	if tight, less := a.arranged(ours, r.given, true); size > most && less < size {
		out = tight
		size = less
	}
	for _, name := range dropOrder(out.specs) {
		if size <= most {
			break
		}
		size = a.leaveOut(&out, name, size, k.index)
	}
	return out
}

// arranged is the offer of all tools: ours as the index arranges them, and the caller's.
// size is the tokens of their descriptions and notes.
func (a *Agent) arranged(ours []Spec, g *Given, tight bool) (o offer, size int) {
	o.specs = ours
	if a.opts.Index != nil && len(ours) > 0 {
		o.specs, o.listed = a.opts.Index.Arrange(ours, tight)
	}
	if g != nil {
		o.specs = slices.Concat(g.Tools, o.specs)
		slices.SortFunc(o.specs, func(x, y Spec) int { return strings.Compare(x.Name, y.Name) })
	}
	for _, s := range o.specs {
		o.tokens += a.specTokens(s)
		size += a.opts.Count(s.Note)
	}
	return o, size + o.tokens
}

// leaveOut takes a tool out of o, of which that is the size, and returns what is left of
// the size. The tools of the index go together, and what is listed with them.
func (a *Agent) leaveOut(o *offer, name string, size int, index map[string]bool) int {
	if index[name] {
		o.listed = nil
	}
	var kept []Spec
	for _, s := range o.specs {
		if s.Name != name && !(index[name] && index[s.Name]) {
			kept = append(kept, s)
			continue
		}
		o.tokens -= a.specTokens(s)
		size -= a.specTokens(s) + a.opts.Count(s.Note)
	}
	o.specs = kept
	return size
}

// LeftOut returns the names of the tools that the agent's model is not offered,
// because there is no room or because it takes none.
func (a *Agent) LeftOut() (names []string) {
	k := a.latestKit()
	r := a.usualRights()
	o := a.offerTo(k, a.able(a.model.Name()), a.withLimits(a.promptWithStamps(a.opts.System), nil), r)
	for _, s := range k.sorted {
		if r.may(s) && !o.has(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// toolOverhead is about what a server's template adds around a tool's description.
const toolOverhead = 12

func (a *Agent) specTokens(s Spec) int {
	return toolOverhead + a.opts.Count(s.Name) + a.opts.Count(s.Description) + a.opts.Count(string(s.Parameters))
}

// ableModel is a model by its name, and what it can do at present.
type ableModel struct {
	name string
	Abilities
}

// able returns the model called name as it is now.
func (a *Agent) able(name string) ableModel {
	m, _ := a.modelNamed(name) // an unusable model can do everything
	return ableModel{name, AbilitiesOf(m)}
}

func (a *Agent) modelNamed(name string) (Model, error) {
	if name == a.model.Name() || a.opts.Models == nil {
		return a.model, nil
	}
	return a.opts.Models(name)
}

// nominalWindow returns the smaller of the configured context length and what the
// model's server says, or whichever is known.
func (a *Agent) nominalWindow(name string) int { return a.windowOf(a.able(name)) }

// windowOf is nominalWindow for a model whose abilities are known.
func (a *Agent) windowOf(m ableModel) int {
	known, configured := m.Window, a.opts.configuredWindow(m.name)
	if known > 0 && configured > 0 {
		return min(known, configured)
	}
	return cmp.Or(known, configured, defaultWindow)
}

// frameFor returns what comes before the messages of h in a request to this model with the tools of k, and
// the tools for it that a turn with those rights may use. channel is the channel's part of
// the prompt.
func (a *Agent) frameFor(k *kit, name string, h *sessions.History, channel string, summary *sessions.Summary, r rights) (window.Frame, offer) {
	b := a.beginning(k, a.able(name), h.Settings.System, r)
	return window.NewFrame(b.prompt, channel, summary, a.Compaction().Render), b.offer
}

// beginning is how a model's requests begin: the agent's part of the system prompt, and
// the tools that it is offered.
type beginning struct {
	prompt string
	offer  offer
}

// usualKey is what the beginning depends on for conversations without a prompt and tools of
// their own.
type usualKey struct {
	kit *kit
	ableModel
	rights
}

// beginning returns the beginning for a model. Most conversations have no prompt and no
// tools of their own, and theirs, which each turn asks for four times, is made once.
func (a *Agent) beginning(k *kit, m ableModel, own string, r rights) beginning {
	if strings.TrimSpace(own) != "" || r.given != nil {
		return a.newBeginning(k, m, own, r)
	}
	key := usualKey{k, m, r}
	b, known := a.usual.get(key)
	if !known {
		b = a.newBeginning(k, m, "", r)
		a.usual.set(key, b)
	}
	return b
}

// newBeginning makes the beginning for a model. own is the conversation's own prompt; if
// it is blank, the persona's is used, and else the configured one.
func (a *Agent) newBeginning(k *kit, m ableModel, own string, r rights) beginning {
	prompt := own
	if strings.TrimSpace(own) == "" && r.persona != nil {
		prompt = r.persona.System
	}
	toolless := prompt
	if strings.TrimSpace(prompt) == "" {
		prompt = a.opts.System
		toolless = cmp.Or(a.opts.Toolless, a.opts.System)
	}
	stamped := a.promptWithStamps(prompt)
	o := a.offerTo(k, m, a.withLimits(stamped, nil), r) // nobody has more limits
	if len(o.specs) == 0 && len(k.sorted) > 0 {
		stamped = a.promptWithStamps(strings.TrimSpace(toolless + "\n\n" + noteToolless))
	}
	whole := a.withLimits(stamped, slices.Concat(o.specs, o.listed))
	return beginning{strings.TrimSpace(whole + "\n\n" + o.notes()), o}
}

// maxCannotKey bounds what is remembered about the tools of clients, which may be long.
const maxCannotKey = 16 << 10

// withLimits adds to a prompt what the model cannot do with these tools.
func (a *Agent) withLimits(prompt string, tools []Spec) string {
	if a.opts.Cannot == nil {
		return prompt
	}
	var key strings.Builder
	for _, t := range tools {
		key.WriteString(t.Name + "\x00" + t.Description + "\x00")
	}
	said, known := a.cannot.get(key.String())
	if !known {
		said = a.opts.Cannot(tools)
	}
	if !known && key.Len() <= maxCannotKey {
		a.cannot.set(key.String(), said)
	}
	return strings.TrimSpace(prompt + "\n\n" + said)
}

// noteToolless is added to the prompt of a model that is offered no tools, because
// the prompt may mention some.
const noteToolless = "You cannot call tools here, and you have no access to files or web pages."

// visible returns msgs as requests to this model show them if there is room for them in its
// window. The result may be in room.
func (a *Agent) visible(name string, msgs, room []sessions.Message) []sessions.Message {
	return window.Stamped(window.Repair(a.withoutForeign(name, msgs)), a.opts.Zone, room)
}

// withoutForeign returns msgs without the data that other models' providers attached.
// It is not sent to this model, so it must not be counted.
func (a *Agent) withoutForeign(name string, msgs []sessions.Message) []sessions.Message {
	names := []string{name}
	called, _ := a.modelNamed(name)
	if m, ok := inside[FallbackModel](called); ok {
		names = m.Names()
	}
	foreign := func(m sessions.Message) bool {
		return m.Attached != nil && !slices.Contains(names, m.Attached.By.Model)
	}
	if !slices.ContainsFunc(msgs, foreign) {
		return msgs
	}
	out := slices.Clone(msgs)
	for i := range out {
		if foreign(out[i]) {
			out[i].Attached = nil
		}
	}
	return out
}

// promptWithStamps adds to a system prompt what the time stamps before messages are.
// It never changes, so that providers can cache it.
func (a *Agent) promptWithStamps(prompt string) string {
	if a.opts.Zone == nil {
		return prompt
	}
	in := ""
	if name := a.opts.Zone.String(); name != "Local" {
		in = " (time zone " + name + ")"
	}
	return strings.TrimSpace(prompt + "\n\nThe line in square brackets before a message says when it was written" + in +
		". Dragoman adds it; never begin an answer with such a line.")
}

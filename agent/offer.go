package agent

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Where a window is small, tools are left out in this order, so that there is
// room for a conversation: first those for files, then pages, then those that
// are not ours, and last what an answer here most often needs.
var (
	leftOutFirst = []string{"write_file", "list_dir", "read_file", "web_fetch", "forget"}
	leftOutLast  = []string{"recall", "remember", sessions.AttachmentTool, toolHistory, "time"}
)

// fixedShare is the part of the window, one n-th, that the system prompt and
// the tools may take. What is left is for messages and answers.
const fixedShare = 2

// offer is the tools that a model is offered, and what they take.
type offer struct {
	specs  []Spec // sorted by name
	tokens int
}

func (o *offer) has(name string) bool {
	return slices.ContainsFunc(o.specs, func(s Spec) bool { return s.Name == name })
}

// offerTo is what the model of that name is offered beside the prompt. It
// depends on nothing else, so that it stays the same from turn to turn.
func (a *Agent) offerTo(name, prompt string) offer {
	if a.abilities(name).NoTools {
		return offer{}
	}
	all := offer{a.sorted, a.toolTokens}
	most := a.sizeOf(name) / fixedShare
	if all.tokens+len(prompt) <= most || len(a.sorted) == 0 {
		return all // no text has more tokens than bytes
	}
	most -= a.opts.Count(prompt)
	out := offer{slices.Clone(a.sorted), all.tokens}
	for _, name := range a.order {
		if out.tokens <= most {
			break
		}
		out.specs = slices.DeleteFunc(out.specs, func(s Spec) bool { return s.Name == name })
		out.tokens -= a.specTokens(a.specs[name])
	}
	return out
}

// LeftOut names the tools that the agent's model is not offered, for want of
// room or because it takes none.
func (a *Agent) LeftOut() (names []string) {
	o := a.offerTo(a.model.Name(), a.stamping(a.opts.System))
	for _, s := range a.sorted {
		if !o.has(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// leavingOrder is the names of all tools, in the order in which they are left
// out.
func (a *Agent) leavingOrder() (names []string) {
	rank := func(name string) int {
		if i := slices.Index(leftOutFirst, name); i >= 0 {
			return i - len(leftOutFirst)
		}
		return slices.Index(leftOutLast, name) + 1
	}
	for _, s := range a.sorted {
		names = append(names, s.Name)
	}
	slices.SortStableFunc(names, func(x, y string) int { return rank(x) - rank(y) })
	return names
}

// toolOverhead is what a server's template adds around a tool's description.
const toolOverhead = 12

func (a *Agent) specTokens(s Spec) int {
	return toolOverhead + a.opts.Count(s.Name) + a.opts.Count(s.Description) + a.opts.Count(string(s.Parameters))
}

// abilities is what is known of the model of that name.
func (a *Agent) abilities(name string) Abilities {
	m, _ := a.called(name) // of one that cannot be used, nothing is
	return AbilitiesOf(m)
}

// called is the model of that name.
func (a *Agent) called(name string) (Model, error) {
	if name == a.model.Name() || a.opts.Models == nil {
		return a.model, nil
	}
	return a.opts.Models(name)
}

// sizeOf is how many tokens the model of that name takes: what is configured,
// or less where its server says so, or what its server says where nothing is.
func (a *Agent) sizeOf(name string) int {
	known, configured := a.abilities(name).Window, a.opts.windowOf(name)
	if known > 0 && configured > 0 {
		return min(known, configured)
	}
	return cmp.Or(known, configured, usualWindow)
}

// framing is what precedes the messages of h in a request to the model of
// that name, with the channel's part of the prompt, and the tools beside it.
// Where it gets no tools, the prompt promises none.
func (a *Agent) framing(name string, h *sessions.History, channel string, summary *sessions.Summary) (window.Frame, offer) {
	prompt := a.opts.System
	own := strings.TrimSpace(h.Settings.System) != ""
	if own {
		prompt = h.Settings.System
	}
	stamped := a.stamping(prompt)
	o := a.offerTo(name, stamped)
	if len(o.specs) == 0 && len(a.sorted) > 0 {
		if !own && a.opts.Toolless != "" {
			prompt = a.opts.Toolless
		}
		stamped = a.stamping(strings.TrimSpace(prompt + "\n\n" + noteToolless))
	}
	return window.NewFrame(stamped, channel, summary, a.Compaction().Render), o
}

// noteToolless is in the prompt of a model that is offered no tools, which other
// prompts speak of.
const noteToolless = "You cannot call tools here, and you have no access to files or web pages."

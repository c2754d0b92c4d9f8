package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/sessions"
)

// Given is what a turn has whose messages come from a caller who keeps them, and not from
// a conversation. Its Turn.Input may also hold, after its user messages, what the turn did
// so far: the calls of earlier runs and their results.
//
// The model is not offered the tools that work on a conversation ([Spec.Chat]).
type Given struct {
	// Tools are the caller's. The model is offered them beside ours. A step that calls
	// one ends the turn when our calls of that step have run: see [Result.Calls].
	Tools []Spec
	// Must says that the model has to call one of Tools. Then ours are not offered.
	Must bool
	Wishes
}

// Wishes are what a caller wants of one answer. A model's server may not know all of
// them. Zero fields are left to the configuration, or to the server.
type Wishes struct {
	// MaxTokens limits one answer, as Options.MaxTokens does. The smaller one counts.
	MaxTokens   int
	Temperature *float32
	TopP        *float32
	// PresencePenalty and FrequencyPenalty are from -2 to 2.
	PresencePenalty, FrequencyPenalty *float32
	// Stop are texts before which the answer ends.
	Stop []string
	Seed *int
	// Format is [Request.Format].
	Format json.RawMessage
	// OneCall: at most one tool call in an answer.
	OneCall bool
}

// Has reports whether one of the agent's own tools has that name.
func (a *Agent) Has(name string) bool {
	_, found := a.latestKit().tools[name]
	return found
}

// specsFor returns the tools of k that a turn with those rights may use, sorted by name.
func (k *kit) specsFor(r rights) (list []Spec) {
	if r == (rights{}) {
		return k.sorted
	}
	for _, s := range k.sorted {
		if r.may(s) && (r.given == nil || !r.given.Must) {
			list = append(list, s)
		}
	}
	return list
}

// isTheirs reports whether c calls a tool that the caller runs.
func (g *Given) isTheirs(c sessions.ToolCall) bool {
	return g != nil && slices.ContainsFunc(g.Tools, func(s Spec) bool { return s.Name == c.Name })
}

// ask puts the caller's wishes into a request.
func (g *Given) ask(req *Request) {
	if g == nil {
		return
	}
	if g.MaxTokens > 0 && (req.MaxTokens == 0 || g.MaxTokens < req.MaxTokens) {
		req.MaxTokens = g.MaxTokens
	}
	req.Temperature = cmp.Or(g.Temperature, req.Temperature)
	req.TopP = g.TopP
	req.PresencePenalty = g.PresencePenalty
	req.FrequencyPenalty = g.FrequencyPenalty
	req.Stop = g.Stop
	req.Seed = g.Seed
	req.Format = g.Format
	req.OneCall = g.OneCall
	req.MustCall = g.Must && len(req.Tools) > 0
}

// handOver ends the turn because the caller has to run calls: the last answer's, in the
// order of that answer.
func (r *run) handOver(calls []sessions.ToolCall) Result {
	return Result{
		Messages: slices.Clone(r.all[r.inputAt:]),
		Text:     strings.Join(r.said, "\n\n"),
		Steps:    r.steps,
		Calls:    calls,
	}
}

// theirCalls are the open calls that the caller runs.
func (r *run) theirCalls() (calls []sessions.ToolCall) {
	for _, c := range r.openCalls() {
		if r.t.Given.isTheirs(c) {
			calls = append(calls, c)
		}
	}
	return calls
}

package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// Options tune an Agent. The zero value works; no number is negative.
type Options struct {
	// System is the system prompt, the same for every conversation.
	System string
	// Toolless is System for a model that is offered no tools. Default: System.
	Toolless string
	// Zone is the time zone in which the model reads when each message of a person
	// was written. Nil: it is not told.
	Zone *time.Location
	// MaxSteps bounds the model calls of one turn; the last one gets no tools,
	// so that it must answer. Default 10.
	MaxSteps int
	// ContextWindow is how many tokens the model takes, answer included.
	// Default: what the model says ([Able]), or 32768. A smaller window that it
	// says is believed either way.
	ContextWindow int
	// Windows is the same for other models, by their names, that conversations
	// may choose. Those that are not in it take ContextWindow.
	Windows map[string]int
	// MaxTokens bounds one answer. 0 leaves it to the server.
	MaxTokens int
	// Temperature is left to the server if nil.
	Temperature *float32
	// Effort is [Request.Effort] where a conversation has no setting of its own.
	Effort string

	// ToolTimeout bounds one tool call. Default 2 minutes.
	ToolTimeout time.Duration

	// Tries bounds how often one model call is tried. Default 4.
	Tries int

	// Count counts the tokens of a text, where the model's encoding is known.
	// It is safe for concurrent use. Default: [window.EstimateText].
	Count func(text string) int
	// Prune says how long results of tools are shortened in requests. The zero
	// value means [window.DefaultPrune].
	Prune window.Prune

	// Compaction says when and how old messages are summarised. The zero value
	// is window.Presets[window.DefaultPreset]. Its MaxTokens is at most a
	// quarter of ContextWindow, which it also is if it is 0.
	Compaction window.Compaction
	// Summarizer writes the summaries. Default: the agent's model.
	Summarizer Model
	// SummarizerWindow is how many tokens it takes. Default: what Windows says
	// about its name, or ContextWindow.
	SummarizerWindow int
	// TextTools says whether calls that a model writes as text are run, where its
	// server gave none and there is such a tool: "auto", which "" is too, or "off".
	TextTools string
	// OnSilentCut, if not nil, is told that a model's server cuts requests without
	// a word, and how many tokens the model is taken to read from now on. It must
	// not block, and is safe for concurrent use.
	OnSilentCut func(model string, window int)
	// Begins returns what was learnt before about the model of that name: whether
	// its answers begin with thoughts that only their end marks. Nil: nothing.
	// OnBegins, if not nil, is told what is learnt. Both are called side by side.
	Begins   func(model string) (thinks, known bool)
	OnBegins func(model string, thinks bool)
	// Models finds the model that a conversation's settings name. Nil: the
	// agent's model answers everywhere.
	Models func(name string) (Model, error)

	// Logger gets debug lines about steps and warnings about retries, never
	// chat text. Default: nothing is logged.
	Logger *slog.Logger
	// Now tells the time that messages are stamped with. Default time.Now.
	Now func() time.Time
}

// Agent answers turns. See [New].
type Agent struct {
	*recap.Summarizer
	model  Model
	opts   Options
	tools  map[string]Tool
	specs  map[string]Spec
	sorted []Spec
	order  []string // names of the tools, the least needed first
	// toolTokens is what the descriptions of all tools take.
	toolTokens int
	log        *slog.Logger
	now        func() time.Time
	// calibration learns from the usage that servers report.
	calibration *calibration
	lengths     remembered[string, length] // by the names of models, as the next ones
	habits      remembered[string, habit]
	// halves are the turns that failed after people saw some of an answer: when
	// such a turn runs again, the same model must answer.
	halves remembered[string, Asked]
	watch  remembered[watched, sight]
	// pauses are until when servers asked to be left alone, by model: what one
	// conversation was told holds for all that ask the same model.
	pauses remembered[string, time.Time]
	// seed is for the names that conversations have for the provider's cache.
	seed maphash.Seed
}

// New returns an agent that answers with model and tools. It starts nothing.
func New(model Model, tools []Tool, opts Options) (*Agent, error) {
	if model == nil {
		return nil, errors.New("agent: no model")
	}
	opts = opts.withDefaults(model)
	a := &Agent{
		model: model, opts: opts, log: opts.Logger, now: opts.Now, seed: maphash.MakeSeed(), calibration: new(calibration),
		tools: make(map[string]Tool), specs: make(map[string]Spec),
	}
	var err error
	a.Summarizer, err = recap.NewSummarizer(meter{a}, summaryWriter{a}, recap.Options{
		Count: opts.Count, AnswerTokens: opts.MaxTokens, SummaryTokens: min(cmp.Or(opts.ContextWindow, usualWindow), opts.SummarizerWindow) / 4, Now: opts.Now,
	}, opts.Compaction)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	for _, t := range tools {
		if err := a.addTool(t); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(a.sorted, func(x, y Spec) int { return strings.Compare(x.Name, y.Name) })
	for _, s := range a.sorted {
		a.toolTokens += a.specTokens(s)
	}
	a.order = a.leavingOrder()
	return a, nil
}

func (a *Agent) addTool(t Tool) error {
	s := t.Spec()
	if !window.IsToolName(s.Name) {
		return fmt.Errorf("agent: tool %q: a name has letters, digits, _ and -, at most 64", s.Name)
	}
	if _, found := a.tools[s.Name]; found {
		return fmt.Errorf("agent: two tools are called %q", s.Name)
	}
	if len(s.Parameters) == 0 {
		s.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !window.IsObject(string(s.Parameters)) {
		return fmt.Errorf("agent: tool %q: its parameters are not a JSON schema", s.Name)
	}
	a.tools[s.Name] = t
	a.specs[s.Name] = s
	a.sorted = append(a.sorted, s)
	return nil
}

func (o Options) withDefaults(model Model) Options {
	o.MaxSteps = cmp.Or(o.MaxSteps, 10)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, 2*time.Minute)
	o.Tries = cmp.Or(o.Tries, 4)
	if o.Count == nil {
		o.Count = window.EstimateText
	}
	if reflect.ValueOf(o.Prune).IsZero() {
		o.Prune = window.DefaultPrune()
	}
	if o.Compaction == (window.Compaction{}) {
		o.Compaction = window.Presets[window.DefaultPreset]
	}
	if o.Summarizer == nil {
		o.Summarizer = model
	}
	o.SummarizerWindow = cmp.Or(o.SummarizerWindow, o.windowOf(o.Summarizer.Name()), usualWindow)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// usualWindow is how many tokens a model takes of which nobody says that.
const usualWindow = 32768

// windowOf is how many tokens the model of that name takes, if that was given.
func (o *Options) windowOf(name string) int { return cmp.Or(o.Windows[name], o.ContextWindow) }

// nameFor is the name of the model that answers in a conversation with these
// settings, as far as that can be told without asking for it.
func (a *Agent) nameFor(s sessions.Settings) string {
	if s.Model == "" || a.opts.Models == nil {
		return a.model.Name()
	}
	return s.Model
}

// modelFor is the model that answers t: the conversation's own, or the agent's.
func (a *Agent) modelFor(t Turn) Model {
	m, err := a.called(a.nameFor(t.History.Settings))
	if err != nil {
		// An answer from another model than the chosen one is better than none.
		a.log.Warn("the conversation's model cannot be used; the configured one answers", "key", t.Key.String(), "err", err)
		return a.model
	}
	return m
}

// effort is how much the model is to reason in a conversation with these
// settings.
func (a *Agent) effort(s sessions.Settings) string {
	if e := cmp.Or(s.Reasoning, a.opts.Effort); e != "auto" {
		return e
	}
	return ""
}

// setFrame renders what precedes the turn's messages.
func (r *run) setFrame() {
	h := &r.t.History
	r.frame, r.offer = r.a.framing(r.model.Name(), h, r.t.System, h.Summary)
	r.fixed = r.offer.tokens + r.frame.Tokens(r.a.opts.Count)
}

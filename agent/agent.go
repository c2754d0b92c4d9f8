package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"reflect"
	"time"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// Options configure an Agent. The zero value works; no number may be negative.
type Options struct {
	// System is the system prompt, the same for every conversation.
	System string
	// Toolless replaces System for a model that is offered no tools. Default: System.
	Toolless string
	// Cannot returns what a model cannot do that is offered only these tools, as a sentence
	// for the end of its system prompt. It must depend on nothing else. Nil: nothing.
	Cannot func(tools []Spec) string
	// Zone is the time zone in which the model is told when each message of a person
	// was written. Nil: it is not told.
	Zone *time.Location
	// MaxSteps limits the model calls of one turn. The last call offers no tools, so
	// the model has to answer. Default 10.
	MaxSteps int
	// ContextWindow is the model's context length in tokens, including its answer.
	// Default: what the model reports ([ModelWithAbilities]), or 32768. If the model
	// reports less, that counts.
	ContextWindow int
	// Windows holds the context lengths of other models, by name. The rest get
	// ContextWindow.
	Windows map[string]int
	// MaxTokens limits one answer. 0 leaves it to the server.
	MaxTokens int
	// Temperature, if nil, is left to the server.
	Temperature *float32
	// Effort is the [Request.Effort] for conversations that do not set their own.
	Effort string

	// ToolTimeout limits one tool call. Default 2 minutes.
	ToolTimeout time.Duration

	// Tries limits how often one model call is tried. Default 4.
	Tries int

	// Count returns the number of tokens in a text, for models whose encoding is
	// known. It must be safe for concurrent use. Default: [window.EstimateText].
	Count func(text string) int
	// Prune says how tool results are shortened in requests. The zero value means
	// [window.DefaultPrune].
	Prune window.Prune

	// Compaction says when and how old messages are summarised. The zero value means
	// window.Presets[window.DefaultPreset]. Its MaxTokens defaults to a quarter of
	// ContextWindow, and is never more than that.
	Compaction window.Compaction
	// Summarizer writes the summaries. Default: the agent's model.
	Summarizer Model
	// SummarizerWindow is the summarizer's context length in tokens. Default: its
	// entry in Windows, or ContextWindow.
	SummarizerWindow int
	// TextTools says whether tool calls that a model writes as plain text are run:
	// "auto" or "" runs them if the server itself reported no calls and the tool exists;
	// [TextToolsOff] never.
	TextTools string
	// OnSilentCut, if not nil, is called when a model's server turns out to truncate
	// requests without an error, with the window assumed from then on. It must not
	// block, and must be safe for concurrent use.
	OnSilentCut func(model string, window int)
	// UnmarkedThoughts returns what an earlier run learned: whether a model's answers
	// begin with thoughts that have an end mark but no begin mark. Nil: nothing.
	// OnUnmarkedThoughts, if not nil, is called with what this run learns. Both must be
	// safe for concurrent use.
	UnmarkedThoughts   func(model string) (thinks, known bool)
	OnUnmarkedThoughts func(model string, thinks bool)
	// Models returns the model that a conversation's settings name. Nil: the agent's
	// model answers everywhere.
	Models func(name string) (Model, error)
	// More returns the tools beside those of New, which may come and go. It is called when
	// a turn begins, so it must return soon. It returns the same slice until the tools
	// change, must not change one that it has returned, and must be safe for concurrent
	// use. Nil: there are none.
	More func(ctx context.Context) []Tool
	// Missing lists for the model the servers whose tools it lacks now, with why; "" if it lacks
	// none. It is told after the input of a turn, when the list has changed. Nil: it is not told.
	Missing func(ctx context.Context) string
	// Index, if not nil, decides which tools requests describe.
	Index Index
	// Personas returns the persona that a conversation's settings name, nil if there is none
	// of that name: always the same pointer, until the persona changes. It must be safe for
	// concurrent use. Nil: there are none.
	Personas func(name string) *Persona
	// Permit returns what counts for turns that have no [Turn.Permit], and where no turn
	// runs: for measuring. It must be safe for concurrent use. Nil: all tools may be used.
	Permit func() *Permit

	// Logger gets debug lines about steps and warnings about retries, never
	// chat text. Default: nothing is logged.
	Logger *slog.Logger
	// Now returns the time for new messages. Default time.Now.
	Now func() time.Time
}

// Agent answers turns. See [New].
type Agent struct {
	*recap.Summarizer
	model Model
	opts  Options
	kits  kits
	log   *slog.Logger
	now   func() time.Time
	// calibration learns from the token counts that servers report.
	calibration *calibration
	limits      boundedMap[string, sizeLimit]   // by model name
	cannot      boundedMap[string, string]      // what Options.Cannot says, by the tools' names and descriptions
	usual       boundedMap[usualKey, beginning] // for conversations without a prompt and tools of their own
	habits      boundedMap[string, habit]
	// partial holds turns that failed after people saw part of an answer. When such a
	// turn runs again, the same model must answer.
	partial      boundedMap[string, Pin]
	lastRequests boundedMap[watchKey, seenRequest]
	// longest holds, by model name, the bytes of the longest request that its server
	// answered.
	longest boundedMap[string, int]
	// pauses holds, by model name, until when its server asked us to wait. All
	// conversations with that model wait.
	pauses boundedMap[string, time.Time]
	// seed hashes keys of conversations for the provider's prompt cache.
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
	}
	var err error
	a.Summarizer, err = recap.NewSummarizer(meter{a}, summaryWriter{a}, recap.Options{
		Count: opts.Count, AnswerTokens: opts.MaxTokens, SummaryTokens: min(cmp.Or(opts.ContextWindow, defaultWindow), opts.SummarizerWindow) / 4, Now: opts.Now,
	}, opts.Compaction)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a.kits.own = tools
	a.kits.now, err = a.newKit(tools)
	if err != nil {
		return nil, err
	}
	return a, nil
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
	o.SummarizerWindow = cmp.Or(o.SummarizerWindow, o.configuredWindow(o.Summarizer.Name()), defaultWindow)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// defaultWindow is the context length of a model if neither it nor the configuration
// says one.
const defaultWindow = 32768

// configuredWindow is 0 if the configuration leaves the window to be found out.
func (o *Options) configuredWindow(name string) int { return cmp.Or(o.Windows[name], o.ContextWindow) }

// nameFor returns the name of the model that these settings choose, which need not
// exist.
func (a *Agent) nameFor(s sessions.Settings) string {
	if s.Model == "" || a.opts.Models == nil {
		return a.model.Name()
	}
	return s.Model
}

// modelFor is the model that the conversation chose, or the configured one if that
// cannot be used.
func (a *Agent) modelFor(t Turn) Model {
	m, err := a.modelNamed(a.nameFor(t.History.Settings))
	if err != nil {
		// Another model's answer is better than none.
		a.log.Warn("cannot use the conversation's model; using the configured one", "key", t.Key.String(), "err", err)
		return a.model
	}
	return m
}

// rights are what the turn may use.
func (r *run) rights() rights {
	may := rights{r.persona, r.t.Permit, r.t.Given}
	if may.permit == nil {
		may.permit = r.a.usualRights().permit
	}
	return may
}

// usualRights are what a turn may use of which no more is known.
func (a *Agent) usualRights() (r rights) {
	if a.opts.Permit != nil {
		r.permit = a.opts.Permit()
	}
	return r
}

// setFrame sets what each request of the turn has beside its messages, and the tokens that this
// takes.
func (r *run) setFrame() {
	h := &r.t.History
	if r.in != nil {
		b := r.a.newBeginning(r.kit, r.a.able(r.model.Name()), "", r.rights())
		r.frame = window.NewFrame(b.prompt, "", nil, r.a.Compaction().Render)
		r.offer = b.offer
	} else {
		r.frame, r.offer = r.a.frameFor(r.kit, r.model.Name(), h, r.t.System, h.Summary, r.rights())
		r.fit.known = r.a.opts.Count(r.t.Known)
	}
	r.fit.fixed = r.offer.tokens + r.frame.Tokens(r.a.opts.Count)
	r.fit.notice = r.a.messageTokens([]sessions.Message{r.omission(mostOmitted)})
}

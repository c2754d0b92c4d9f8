package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dragoman/agent"
	"dragoman/agent/anthropic"
	"dragoman/agent/models"
	"dragoman/agent/openai"
	"dragoman/agent/window"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Options describe a model and its server. BaseURL and Name are required.
type Options struct {
	// The server's options.
	wire.Options
	// Name is the model's name on the server. Any name is allowed.
	Name string
	// API is one of wire's constants. "" and "auto" choose by Traits, by the end
	// of BaseURL, and by the server's refusals.
	API string
	// Traits returns what a model accepts; nil is the table of agent/models. Its
	// argument api is API, or the API that BaseURL names.
	Traits func(base, model, api string) wire.Traits
	// Body is added to the body of every request. A null field removes the field
	// of that name.
	Body map[string]json.RawMessage
	// Learned are earlier lessons, from [Model.Learned].
	Learned []Learned
	// Files, if not nil, opens the pictures in people's messages, and the model
	// is shown the newest ten. Older ones are removed five at a time. Without
	// Files, or if a picture cannot be read, the model only reads the line of
	// text about it.
	Files Files
	// MaxImageBytes bounds each picture; 0 is 5 MiB.
	MaxImageBytes int64
	// Logger logs new lessons; nil discards them.
	Logger *slog.Logger
}

// Model is one model on one server. It is safe for concurrent use.
type Model struct {
	o      Options
	server *wire.Server
	codecs map[string]wire.Codec
	auto   bool // the configuration does not set the API
	memory memory
	// pictures are those that the server took and refused.
	pictures pictureMemory
	// oddEnd is the newest finish reason that nobody knows.
	oddEnd atomic.Pointer[string]
}

var (
	_ agent.Model              = (*Model)(nil)
	_ agent.ModelWithAbilities = (*Model)(nil)
)

// New checks the options and makes a model. It does not contact the server.
func New(o Options) (*Model, error) {
	_, named, err := wire.ParseBase(o.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("provider: new: %w", err)
	case o.Name == "":
		return nil, errors.New("provider: new: the model has no name")
	}
	o.MaxImageBytes = cmp.Or(max(o.MaxImageBytes, 0), defaultImageBytes)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	server, err := wire.New(o.Options)
	if err != nil {
		return nil, fmt.Errorf("provider: new: %w", err)
	}
	m := &Model{o: o, server: server, auto: o.API == "" || o.API == "auto", codecs: map[string]wire.Codec{
		wire.APIChat: &openai.Chat{}, wire.APIResponses: openai.Responses{}, wire.APIMessages: anthropic.Messages{},
	}}
	traits := m.traits(named)
	if m.codecs[traits.API] == nil {
		return nil, fmt.Errorf("provider: new: there is no API called %q (want auto, chat, responses or messages)", traits.API)
	}
	m.memory.load(traits, slices.DeleteFunc(slices.Clone(o.Learned), func(l Learned) bool {
		api, found := strings.CutPrefix(l.What, "api=")
		return l.Name != o.Name || found && (!m.auto || m.codecs[api] == nil)
	}))
	return m, nil
}

// traits returns what is known before the first request. named is the API that
// the base URL names, or "".
func (m *Model) traits(named string) wire.Traits {
	api := named
	if !m.auto {
		api = m.o.API
	}
	lookup := m.o.Traits
	if lookup == nil {
		lookup = func(base, model, api string) wire.Traits { return models.Lookup(base, model, api).Traits }
	}
	t := lookup(m.o.BaseURL, m.o.Name, api)
	t.API = cmp.Or(api, t.API)
	if t.API == "" || m.auto && m.codecs[t.API] == nil {
		t.API = wire.APIChat
	}
	return t
}

// Name returns the model's name on the server.
func (m *Model) Name() string { return m.o.Name }

// Abilities returns what is known of the model now.
func (m *Model) Abilities() agent.Abilities {
	k := m.memory.current()
	return agent.Abilities{NoTools: k.traits.NoTools, NoVision: m.o.Files == nil || k.maxPictures == 0}
}

// API is the API that the next request will speak: one of wire's.
func (m *Model) API() string { return m.memory.current().traits.API }

// Close closes idle connections. Running calls go on.
func (m *Model) Close() error { return m.server.Close() }

// maxAdaptations bounds how often one request is repeated.
const maxAdaptations = 6

// Complete makes one call; see [agent.Model]. It repeats the request, without
// the refused part, if the server names that part.
func (m *Model) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (resp agent.Response, err error) {
	if err := ctx.Err(); err != nil {
		return resp, err
	}
	t := &try{m: m, known: *m.memory.current(), r: &r, onDelta: onDelta, began: time.Now()}
	for {
		answer, err := t.ask(ctx)
		if err == nil {
			if len(t.learned) > 0 {
				m.remember(t.learned)
			}
			m.pictures.take(t.shown)
			m.pictures.refuse(t.leftOut, time.Now())
			answer.Fill(&resp)
			m.noteEnd(resp.Finish)
			return resp, nil
		}
		if ctx.Err() != nil {
			return resp, ctx.Err()
		}
		if !t.adapt(err) {
			return resp, wire.Redact(err, &r)
		}
	}
}

// noteEnd logs a finish reason that nobody knows. The answer is taken as whole, and
// perhaps it is not.
func (m *Model) noteEnd(reason string) {
	switch reason {
	case "stop", "tool_calls", "length", "content_filter":
		return
	}
	last := m.oddEnd.Swap(&reason)
	if last == nil || *last != reason {
		m.o.Logger.Warn("the model's server ended an answer for a reason that Dragoman does not know; it is taken as whole",
			"model", m.o.Name, "reason", fmt.Sprintf("%.60q", reason))
	}
}

// try is one call, with its lessons so far.
type try struct {
	m       *Model
	known   knowledge
	r       *agent.Request
	onDelta func(agent.Delta)
	started bool // some of the answer was shown
	learned []Learned
	tries   int
	began   time.Time

	in      *wire.Input    // the newest request
	shown   []shownPicture // of it
	leftOut []string       // files of pictures that the server refused in this call
	guesses int            // how often we guessed which picture it was
}

func (t *try) ask(ctx context.Context) (wire.Answer, error) {
	r := *t.r
	r.Messages = t.withNotes(adaptHistory(t.known.withoutRefused(r.Messages), &t.known.traits))
	in := &wire.Input{
		Request: &r, Traits: t.known.traits, OmitAttached: t.known.noAttached, Extra: t.m.o.Body,
		To: sessions.Provenance{API: t.known.traits.API, Host: t.m.server.Host(), Model: t.m.o.Name},
	}
	pictures := t.m.newPictureReader(r.Messages, t.known.maxPictures, t.isOut)
	in.Pictures = pictures.read
	t.in = in
	answer, err := t.m.server.Complete(ctx, t.m.codecs[t.known.traits.API], in, t.emit)
	t.shown = pictures.shown
	return answer, err
}

func (t *try) emit(d agent.Delta) {
	t.started = true
	if t.onDelta != nil {
		t.onDelta(d)
	}
}

// adaptHistory returns list in a form that a model with these traits accepts.
// It returns list itself if that is already so.
func adaptHistory(list []sessions.Message, t *wire.Traits) []sessions.Message {
	hasCalls := func(least int) bool {
		return slices.ContainsFunc(list, func(m sessions.Message) bool { return len(m.ToolCalls) >= least })
	}
	switch {
	case t.NoTools && hasCalls(1):
		return toolsAsText(list)
	case t.SingleCall && hasCalls(2):
		return window.OneByOne(list)
	}
	return list
}

// toolsAsText turns calls and results into text, for a model without tools.
// Results become messages of the user, so that the roles still alternate.
func toolsAsText(list []sessions.Message) []sessions.Message {
	out := slices.Clone(list)
	names := make(map[string]string)
	for i := range out {
		m := &out[i]
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			m.Content = strings.TrimSpace(m.Content + fmt.Sprintf("\n(I called the tool %s with %s.)", c.Name, c.Arguments))
			m.Attached = nil
		}
		m.ToolCalls = nil
		if m.Role == sessions.RoleTool {
			*m = sessions.Message{Role: sessions.RoleUser, Content: fmt.Sprintf("(The tool %s answered: %s)", names[m.ToolCallID], m.Content)}
		}
	}
	return window.Alternate(out, "")
}

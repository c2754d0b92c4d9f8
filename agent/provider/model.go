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

	"dragoman/agent"
	"dragoman/agent/anthropic"
	"dragoman/agent/models"
	"dragoman/agent/openai"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Options say where the model is and how to talk to it. BaseURL and Name are
// required.
type Options struct {
	// Options are those of the server.
	wire.Options
	// Name is the model's name on the server. Any name works.
	Name string
	// API is one of wire's constants; "" and "auto" choose by Traits, by the end
	// of BaseURL, and by what the server refuses.
	API string
	// Traits say what a model takes; nil is the table of agent/models. api is
	// API, or the API whose address BaseURL is.
	Traits func(base, model, api string) wire.Traits
	// Body is added to that of every request. A field that is null is left out.
	Body map[string]json.RawMessage
	// Learned is what the model knows already: what Learned returned before.
	Learned []Learned
	// Window is for [agent.Abilities]; 0: unknown.
	Window int
	// Files, if not nil, are where the pictures of people's messages are; then
	// the model is shown them: of a request the newest ten, older ones leave
	// five at a time. Without Files, and where a picture cannot be read, the
	// message's text says what came with it.
	Files Files
	// MaxImageBytes bounds each picture; 0 is 5 MiB.
	MaxImageBytes int64
	// Logger is told what is learnt; nil discards that.
	Logger *slog.Logger
}

// Model is one model on one server. It is safe for concurrent use.
type Model struct {
	o      Options
	server *wire.Server
	codecs map[string]wire.Codec
	auto   bool // the API is ours to choose
	memory memory
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
	m.memory.begin(traits, slices.DeleteFunc(slices.Clone(o.Learned), func(l Learned) bool {
		api, found := strings.CutPrefix(l.What, "api=")
		return l.Name != o.Name || found && (!m.auto || m.codecs[api] == nil)
	}))
	return m, nil
}

// traits are what is known before the first request. named is the API whose
// address the base URL is.
func (m *Model) traits(named string) wire.Traits {
	api := named
	if !m.auto {
		api = m.o.API
	}
	look := m.o.Traits
	if look == nil {
		look = func(base, model, api string) wire.Traits { return models.Lookup(base, model, api).Traits }
	}
	t := look(m.o.BaseURL, m.o.Name, api)
	t.API = cmp.Or(api, t.API)
	if t.API == "" || m.auto && m.codecs[t.API] == nil {
		t.API = wire.APIChat
	}
	return t
}

// Name is the model's name on the server.
func (m *Model) Name() string { return m.o.Name }

// Abilities are what is known of the model now.
func (m *Model) Abilities() agent.Abilities {
	k := m.memory.now()
	return agent.Abilities{NoTools: k.traits.NoTools, NoVision: m.o.Files == nil || k.most == 0, Window: m.o.Window}
}

// Close closes idle connections. Calls that run are not disturbed.
func (m *Model) Close() error { return m.server.Close() }

// mostLessons bounds how often one request is made again.
const mostLessons = 6

// Complete makes one call; see [agent.Model]. It is made again where the server
// says what it does not take.
func (m *Model) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (resp agent.Response, err error) {
	if err := ctx.Err(); err != nil {
		return resp, err
	}
	t := &try{m: m, know: *m.memory.now(), r: &r, onDelta: onDelta}
	for {
		answer, err := t.ask(ctx)
		if err == nil {
			if len(t.learnt) > 0 {
				m.remember(t.learnt)
			}
			answer.Fill(&resp)
			return resp, nil
		}
		if ctx.Err() != nil {
			return resp, ctx.Err()
		}
		if !t.adapt(err) {
			return resp, wire.Discreet(err, &r)
		}
	}
}

// try is one call on its way, with what is known and was just learnt.
type try struct {
	m       *Model
	know    knowledge
	r       *agent.Request
	onDelta func(agent.Delta)
	begun   bool // something was shown
	bare    bool
	shown   int // pictures in the newest request
	learnt  []Learned
	tries   int
}

// ask makes one request.
func (t *try) ask(ctx context.Context) (wire.Answer, error) {
	r := *t.r
	r.Messages = shaped(r.Messages, &t.know.traits)
	in := &wire.Input{
		Request: &r, Traits: t.know.traits, Bare: t.bare, Extra: t.m.o.Body,
		To: sessions.Provenance{API: t.know.traits.API, Host: t.m.server.Host(), Model: t.m.o.Name},
	}
	pictures := t.m.show(r.Messages, t.know.most)
	in.Pictures = pictures.of
	answer, err := t.m.server.Complete(ctx, t.m.codecs[t.know.traits.API], in, t.emit)
	t.shown = pictures.shown
	return answer, err
}

// emit passes a piece of the answer on.
func (t *try) emit(d agent.Delta) {
	t.begun = true
	if t.onDelta != nil {
		t.onDelta(d)
	}
}

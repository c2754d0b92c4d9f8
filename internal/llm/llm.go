// Package llm opens the models that a configuration names: the main one, its
// fallbacks, the one for summaries, and those that conversations choose.
//
// [Models.Open] opens a model that can be asked, or returns an error that says
// in a sentence why there is none. Each model's calls are counted and priced,
// and failures are remembered until a call succeeds. What a server says about a
// model, and what its refusals teach, is used as soon as it is known. The
// configuration overrides it.
//
// Goroutines: the search for a model and the looks at servers. [Models.Close]
// ends them and waits for them.
package llm

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/agent/demo"
	"dragoman/agent/models"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/internal/config"
	"dragoman/internal/media"
	"dragoman/internal/metrics"
)

// Models are the models of one daemon. Between Begin and Open only Close may be
// called.
type Models struct {
	// Main answers unless a conversation has chosen another model.
	Main agent.Model
	// Why says in a sentence or two why Main was chosen.
	Why string
	// Other opens another model of the same server. It is nil if the built-in
	// demo answers, which has no others.
	Other func(name string) (agent.Model, error)

	cfg     *config.Config
	log     *slog.Logger
	metrics *metrics.Set
	label   func(model string) string
	files   *media.Store
	notes   *notes
	search  *search // nil: the configuration names the model
	hosted  *hosted // Main; nil if it is the demo
	health  health  // of Main

	background context.Context // of the search and the looks
	cancel     context.CancelFunc
	wg         sync.WaitGroup

	mu     sync.Mutex
	others map[string]*metered // by the name in status
}

// search is the search for a model, which runs in the background while the rest of
// the daemon starts. choice and err are set when done is closed.
type search struct {
	done   chan struct{}
	choice models.Choice
	err    error
}

// Begin starts the search for a model if the configuration names no server.
func Begin(cfg *config.Config, getenv func(string) string, log *slog.Logger) *Models {
	m := &Models{cfg: cfg, log: log, others: map[string]*metered{}}
	m.background, m.cancel = context.WithCancel(context.Background())
	c := cfg.Model
	if c.Type == "auto" && c.BaseURL == "" {
		s := &search{done: make(chan struct{})}
		m.search = s
		m.wg.Go(func() {
			defer close(s.done)
			s.choice, s.err = models.Choose(m.background, chooseOptions(c, getenv))
		})
	}
	return m
}

// Close ends the goroutines and waits for them.
func (m *Models) Close() error {
	m.cancel()
	m.wg.Wait()
	return nil
}

func chooseOptions(c config.Model, getenv func(string) string) models.ChooseOptions {
	s := modelServer(c, "", "")
	return models.ChooseOptions{Getenv: getenv, Key: c.APIKey.Reveal(), Name: c.Name, API: s.API, Headers: s.Headers}
}

// Options are what models need besides the configuration.
type Options struct {
	// Notes is the path of the file for lessons: see [NotesName].
	Notes string
	// Files opens attachments.
	Files   *media.Store
	Metrics *metrics.Set
	// Label returns a model's name in the metrics.
	Label func(model string) string
}

// Open opens the configured model, or waits for the search and opens the model
// that it found.
func (m *Models) Open(ctx context.Context, o Options) error {
	m.files = o.Files
	m.metrics = o.Metrics
	m.label = o.Label
	c := m.cfg.Model
	m.notes = openNotes(o.Notes, c, m.log)
	switch {
	case c.Type == "demo":
		m.setMain(demo.New(demo.Delay), demoWhy)
		return nil
	case m.search == nil:
		return m.setServer(c.BaseURL, c.APIKey.Reveal(), c.Name, configuredWhy(c))
	}
	select {
	case <-m.search.done:
	case <-ctx.Done():
		return fmt.Errorf("llm: look for a model: %w", ctx.Err())
	}
	found := m.search.choice
	switch {
	case m.search.err != nil:
		return fmt.Errorf("llm: %w", m.search.err)
	case found.Demo:
		m.setMain(demo.New(demo.Delay), found.Why)
		return nil
	}
	return m.setServer(found.BaseURL, found.Key, found.Name, found.Why)
}

const demoWhy = "The built-in demo, as model.type says."

func configuredWhy(c config.Model) string {
	return "The model is " + c.Name + " at " + models.Host(c.BaseURL) + ", as the configuration says."
}

func (m *Models) setMain(main agent.Model, why string) {
	m.Main, m.Why = &metered{main, main.Name(), m.metrics, m.cfg.Model.Prices, &m.health}, why
}

func (m *Models) setServer(base, key, name, why string) (err error) {
	if m.hosted, err = m.newHosted(base, key, name, m.cfg.Model.ContextWindow); err != nil {
		return fmt.Errorf("llm: model: %w", err)
	}
	m.hosted.awaitFirstLook()
	m.setMain(m.hosted, why)
	m.Other = func(name string) (agent.Model, error) {
		return m.openOnce(name, func() (*hosted, error) { return m.newHosted(base, key, name, m.settings(name).ContextWindow) })
	}
	return m.addFallbacks()
}

// addFallbacks adds the models of model.fallback. The calls of each model are
// counted separately.
func (m *Models) addFallbacks() error {
	var all []agent.Model
	for _, name := range m.cfg.Model.Fallback {
		if name == m.Main.Name() {
			continue // the search may have chosen one of them
		}
		other, err := m.Other(name)
		if err != nil {
			return fmt.Errorf("llm: model.fallback: %w", err)
		}
		all = append(all, other)
	}
	if len(all) > 0 {
		m.Main = provider.NewFallback(m.Main, all, m.log)
	}
	return nil
}

// Summarizer returns the model for summaries, or nil if Main writes them.
func (m *Models) Summarizer() (agent.Model, error) {
	c := m.cfg.Summary.Model
	switch {
	case c.BaseURL != "":
		return m.openOnce(c.Name+" (summaries)", func() (*hosted, error) { return m.newHosted(c.BaseURL, c.APIKey.Reveal(), c.Name, c.ContextWindow) })
	case c.Name == "" || c.Name == m.Main.Name():
		return nil, nil
	case m.Other == nil:
		m.log.Warn("the built-in demo has no other models, so it writes the summaries too")
		return nil, nil
	default:
		return m.Other(c.Name)
	}
}

// maxModels bounds the models that conversations name, since each holds
// connections and people choose the names.
const maxModels = 256

// openOnce opens each model once, because a model holds connections. Its calls
// are counted at its own prices. name is its name in status.
func (m *Models) openOnce(name string, open func() (*hosted, error)) (agent.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.others[name]; made != nil {
		return made, nil
	}
	if len(m.others) >= maxModels {
		return nil, errors.New("llm: conversations name too many different models")
	}
	h, err := open()
	if err != nil {
		return nil, fmt.Errorf("llm: model %s: %w", name, err)
	}
	made := &metered{h, m.label(h.Name()), m.metrics, m.settings(h.Name()).Prices, &health{other: true}}
	m.others[name] = made
	return made, nil
}

func (m *Models) settings(name string) config.Other {
	for _, o := range m.cfg.Model.Others {
		if o.Name == name {
			return o
		}
	}
	return config.Other{}
}

// modelServer returns the server at base with the configured API and headers.
// Those belong to model.base_url: another server, for summaries, does not get
// them.
func modelServer(c config.Model, base, key string) models.Server {
	s := models.Server{BaseURL: base, Key: key}
	if c.BaseURL != "" && c.BaseURL != base {
		return s
	}
	s.API = c.API
	if len(c.ExtraHeaders) > 0 {
		s.Headers = make(map[string]string, len(c.ExtraHeaders))
	}
	for name, value := range c.ExtraHeaders {
		s.Headers[name] = value.Reveal()
	}
	return s
}

// withAuthorities returns s with the authorities of model.ca_file, if that is about s.
func withAuthorities(s models.Server, c config.Model) (models.Server, error) {
	if c.CAFile == "" || c.BaseURL != s.BaseURL {
		return s, nil
	}
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return s, fmt.Errorf("llm: read model.ca_file: %w", err)
	}
	s.CAs = x509.NewCertPool()
	if !s.CAs.AppendCertsFromPEM(text) {
		return s, fmt.Errorf("llm: model.ca_file %s holds no certificate in PEM form", c.CAFile)
	}
	return s, nil
}

// newHosted opens a model with the configured timeouts. window is the
// configured window in tokens, or 0.
func (m *Models) newHosted(base, key, name string, window int) (*hosted, error) {
	c := m.cfg.Model
	s, err := withAuthorities(modelServer(c, base, key), c)
	if err != nil {
		return nil, err
	}
	o := provider.Options{
		Options: wire.Options{
			BaseURL: base, APIKey: key, Headers: s.Headers, CAs: s.CAs,
			FirstByteTimeout: c.FirstByteTimeout.D(), IdleTimeout: c.IdleTimeout.D(), CallTimeout: c.CallTimeout.D(),
		},
		Name: name, API: s.API, Logger: m.log, Learned: m.notes.learned(s, name), MaxImageBytes: int64(m.cfg.Media.MaxImageBytes),
	}
	if c.BaseURL == "" || c.BaseURL == base {
		o.Body = c.ExtraBody
	}
	h := &hosted{models: m, server: s, configured: window, looked: make(chan struct{})}
	switch c.Vision {
	case "yes":
		o.Files = m.files
	case "auto":
		o.Files = h
	}
	p, err := provider.New(o)
	if errors.Is(err, wire.ErrKey) { // one from the environment: the configuration's is checked before
		return nil, config.Problems{{What: "the model's key in the environment contains a space or another character that keys do not have", Want: "copy it again"}}
	}
	if err != nil {
		return nil, err
	}
	h.Model, h.provider = p, p
	h.found.Store(new(models.Assume(s, name)))
	h.separatesThoughts = models.Lookup(base, name, s.API).SeparatesThoughts
	h.look(func() { close(h.looked) })
	return h, nil
}

// Window returns the context window of Main as known now, in tokens.
func (m *Models) Window() int {
	if m.hosted == nil {
		return cmp.Or(m.cfg.Model.ContextWindow, config.UnknownWindow)
	}
	return m.hosted.window()
}

// Windows returns the configured context windows of other models, in tokens.
func (m *Models) Windows() map[string]int {
	sizes := make(map[string]int)
	for _, o := range m.cfg.Model.Others {
		if o.ContextWindow > 0 {
			sizes[o.Name] = o.ContextWindow
		}
	}
	return sizes
}

// IsLocal reports whether Main is on a server of this machine.
func (m *Models) IsLocal() bool { return m.hosted != nil && models.IsLocal(m.hosted.server.BaseURL) }

// UnmarkedThoughts returns two functions for [agent.Options]: one says whether
// a model's answers begin with unmarked thoughts, the other saves that. Both
// are nil for the demo.
func (m *Models) UnmarkedThoughts() (known func(model string) (thinks, known bool), save func(model string, thinks bool)) {
	if m.hosted == nil {
		return nil, nil
	}
	return m.notes.thoughtsFirst, m.notes.setThoughtsFirst
}

// Text says which model answers, why, and how large its window is.
func (m *Models) Text() string {
	if m.hosted == nil {
		return m.Why
	}
	return m.Why + " " + windowText(m.hosted.configured, *m.hosted.found.Load())
}

// Warnings returns the problems that the look at the model's server has found
// so far.
func (m *Models) Warnings() []string {
	if m.hosted == nil {
		return nil
	}
	if p := m.hosted.problem.Load(); p != nil {
		return []string{p.Sentence}
	}
	return nil
}

// Trouble returns the failure of Main's last call, or nil, and whether Main is
// down, so that people get no answers.
func (m *Models) Trouble() (t *Trouble, down bool) { return m.health.current() }

// troubleShown is how long the failure of another model is shown if nothing
// asks that model again: its conversation may use another one by now.
const troubleShown = 24 * time.Hour

// OtherTroubles returns the failures of other models, sorted by name.
func (m *Models) OtherTroubles() (list []OtherTrouble) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		if t, _ := m.others[name].health.current(); t != nil && time.Since(t.At) < troubleShown {
			list = append(list, OtherTrouble{Model: name, Trouble: *t})
		}
	}
	return list
}

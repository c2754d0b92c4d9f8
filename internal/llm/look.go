package llm

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"dragoman/agent"
	"dragoman/agent/models"
	"dragoman/internal/config"
)

// Report is a configured model, and what one look at its server found.
type Report struct {
	// Why says which model answers and why, in a sentence or two.
	Why  string `json:"why"`
	Demo bool   `json:"demo,omitempty"`
	// Host is the model's server, and Model its name there.
	Host  string `json:"host,omitempty"`
	Model string `json:"model,omitempty"`
	// API is the API that is tried first.
	API string `json:"api,omitempty"`
	// Cause and Trouble say what is wrong; "" if nothing is.
	Cause   string `json:"cause,omitempty"`
	Trouble string `json:"trouble,omitempty"`
	// Unsure: the server lists no models, so the model's name and the key are
	// untested.
	Unsure bool `json:"unsure,omitempty"`
	// Abilities say in a sentence what is known of the model.
	Abilities string        `json:"abilities,omitempty"`
	Models    []ListedModel `json:"models,omitempty"`
	// Learned are the lessons from refusals.
	Learned []LearnedLine `json:"learnt,omitempty"`
}

// KeyRefused reports whether the trouble is the key, or what it may do.
func (r Report) KeyRefused() bool {
	return r.Cause == string(agent.CauseKey) || r.Cause == string(agent.CauseAccess)
}

// ModelMissing reports whether the trouble is that the server has no such model.
func (r Report) ModelMissing() bool { return r.Cause == string(agent.CauseModel) }

// ListedModel is a model in the server's list. Zero fields are unknown.
type ListedModel struct {
	Name       string        `json:"name"`
	Configured bool          `json:"configured,omitempty"`
	Window     int           `json:"window,omitempty"`
	Tools      string        `json:"tools,omitempty"`    // yes or no
	Pictures   string        `json:"pictures,omitempty"` // yes or no
	Prices     models.Prices `json:"prices"`             // US dollars per million tokens
	Shutdown   string        `json:"shutdown,omitempty"`
	EndsSoon   bool          `json:"ends_soon,omitempty"`
}

// LearnedLine is a lesson from a refusal.
type LearnedLine struct {
	Model string    `json:"model"`
	What  string    `json:"what"`
	Said  string    `json:"said"`
	At    time.Time `json:"at"`
}

// Look looks once at the configured model's server, without a daemon; with list
// it also lists the server's models. It returns an error if the configured
// model cannot be found. A problem with the server is in the Report.
func Look(ctx context.Context, cfg *config.Config, getenv func(string) string, list bool) (Report, error) {
	c := cfg.Model
	s, name := modelServer(c, c.BaseURL, c.APIKey.Reveal()), c.Name
	out := Report{Why: configuredWhy(c)}
	switch {
	case c.Type == "demo":
		return Report{Demo: true, Why: demoWhy}, nil
	case c.Type == "auto" && c.BaseURL == "":
		found, err := models.Choose(ctx, chooseOptions(c, getenv))
		if err != nil {
			return Report{}, fmt.Errorf("llm: %w", err)
		}
		out.Why = found.Why
		if found.Demo {
			out.Demo = true
			return out, nil
		}
		s, name = modelServer(c, found.BaseURL, found.Key), found.Name
	}
	s, err := withAuthorities(s, c)
	if err != nil {
		return Report{}, err
	}
	f := models.Look(ctx, s, name)
	d := models.Diagnose(ctx, s, f, name)
	out.Host, out.Model = models.Host(s.BaseURL), name
	out.API = cmp.Or(models.Lookup(s.BaseURL, name, s.API).Traits.API, "chat")
	out.Cause = string(d.Cause)
	out.Trouble = d.Sentence
	out.Unsure = d.Unsure
	if d.Cause == "" {
		out.Abilities = abilitiesText(c, f)
	}
	file, err := readNotes(filepath.Join(cfg.StateDir, NotesName))
	if err == nil && file.Configuration == configurationHash(c) {
		for _, m := range file.Models {
			for _, l := range m.Learned {
				out.Learned = append(out.Learned, LearnedLine{m.Model, l.What, l.Said, l.At})
			}
		}
	}
	if list && f.Err == nil {
		out.Models = listedModels(ctx, s, name)
	}
	return out, nil
}

// listedModels returns the models of s, or nil if that second question fails.
func listedModels(ctx context.Context, s models.Server, configured string) (list []ListedModel) {
	rows, err := models.Survey(ctx, s)
	if err != nil {
		return nil
	}
	for _, r := range rows {
		list = append(list, ListedModel{
			Name: r.Name, Configured: r.Name == configured || r.Name == configured+":latest", Window: r.Window,
			Tools: string(r.Tools), Pictures: string(r.Vision), Prices: r.Prices,
			Shutdown: r.Shutdown, EndsSoon: models.EndsSoon(r.Shutdown, time.Now()),
		})
	}
	return list
}

func abilitiesText(c config.Model, f models.Found) string {
	text := windowText(c.ContextWindow, f)
	switch f.Tools {
	case models.Yes:
		text += " It can call tools."
	case models.No:
		text += " It cannot call tools, so it gets none."
	}
	if f.Vision == models.Yes {
		text += " It sees pictures."
	}
	return text
}

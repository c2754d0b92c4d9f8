package models

import (
	"net/url"
	"path"
	"strings"
	"time"

	"dragoman/agent/wire"
)

// Prices are in US dollars per million tokens. 0: unknown.
type Prices struct {
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
	Cached float64 `json:"cached,omitempty"`
}

// Known is what the table says about a model on a server.
type Known struct {
	// Traits say what the server accepts in requests to the model.
	Traits wire.Traits
	// Listed: the table has a row for the model. The fields below come from that
	// row; without one they are zero.
	Listed        bool
	Window        int
	Tools, Vision Answer
	Prices        Prices
	// Shutdown is the day on which its maker ends the model, YYYY-MM-DD, or "".
	Shutdown string
	// SeparatesThoughts: the server never leaves thoughts in the text of an
	// answer.
	SeparatesThoughts bool
}

// Lookup returns what the table knows of the model called name at the base URL.
// api is model.api; "" and "auto" leave the choice to the table.
func Lookup(base, name, api string) Known {
	p, r := providerAt(base), rowOf(name)
	var k Known
	if r != nil {
		k.Listed = true
		k.Window = r.window
		k.Tools = Yes
		k.Vision = answerOf(!r.noVision)
		if p != nil && p.id == r.maker { // other hosts have other prices, and may keep the model longer
			k.Prices, k.Shutdown = r.prices, r.shutdown
		}
	}
	// Hosts of other makers' models have some that leave thoughts in the text.
	k.SeparatesThoughts = p != nil && (p.base != "" && p.id != openRouter || r != nil && servesAsMaker(p, r))
	k.Traits = traitsOf(base, p, r)
	if api != "" && api != "auto" {
		k.Traits.API = api
	}
	if r != nil && p != nil && servesAsMaker(p, r) && k.Traits.API != wire.APIResponses {
		k.Traits.ToolsNeedEffort, k.Traits.NoTools = r.chat.ToolsNeedEffort, r.chat.NoTools
	}
	if k.Traits.API == wire.APIMessages && k.Traits.NeedsMaxTokens == 0 {
		k.Traits.NeedsMaxTokens = 8192
	}
	return k
}

// servesAsMaker reports whether p serves the models of r by the rules of their
// maker.
func servesAsMaker(p *provider, r *row) bool {
	return p.id == r.maker || p.id == azure && r.maker == openAI
}

func traitsOf(base string, p *provider, r *row) wire.Traits {
	switch {
	case p == nil && r == nil:
		return wire.Traits{}
	case p == nil || p.id == openRouter:
		if r == nil {
			return p.traits
		}
		// Another host decides about the names of parameters, but the model about
		// their values. Refusals teach the rest.
		t := wire.Traits{Efforts: r.traits.Efforts}
		t.NoTemperature = r.traits.NoTemperature && p == nil
		t.CompletionTokens = r.traits.CompletionTokens && p == nil
		return t
	case r == nil || !servesAsMaker(p, r):
		return p.traits
	}
	t := r.traits
	// Azure's older API, with a deployment in the path, has only chat completions.
	if u, err := url.Parse(base); p.id == azure && (err != nil || !strings.Contains(u.Path, "/openai/v1")) {
		t.API = ""
	}
	return t
}

func providerAt(base string) *provider {
	u, err := url.Parse(base)
	if err != nil {
		return nil
	}
	host := "." + strings.ToLower(u.Hostname())
	for i := range providers {
		for suffix := range strings.FieldsSeq(providers[i].hosts) {
			if strings.HasSuffix(host, "."+suffix) {
				return &providers[i]
			}
		}
	}
	return nil
}

func providerByID(id string) *provider {
	for i := range providers {
		if providers[i].id == id {
			return &providers[i]
		}
	}
	return nil
}

// rowOf returns the first row whose patterns match the model's name, or nil.
func rowOf(name string) *row {
	name = baseName(name)
	for i := range table {
		for pattern := range strings.FieldsSeq(table[i].names) {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return &table[i]
			}
		}
	}
	return nil
}

// baseName returns a model's name without its maker and its variant: routers
// write "openai/gpt-6-luna" and Gemini "models/…"; a variant follows a colon,
// as in Ollama and OpenRouter.
func baseName(name string) string {
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name, _, _ = strings.Cut(name, ":")
	return name
}

// endWarning is how long before a model's end EndsSoon reports it.
const endWarning = 90 * 24 * time.Hour

// EndsSoon reports whether a model with that day of shutdown has ended or will
// end within 90 days of now. "" is never.
func EndsSoon(shutdown string, now time.Time) bool {
	day, err := time.Parse(time.DateOnly, shutdown)
	return err == nil && day.Sub(now) <= endWarning
}

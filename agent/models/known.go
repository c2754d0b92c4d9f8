package models

import (
	"net/url"
	"path"
	"strings"
	"time"

	"dragoman/agent/wire"
)

// Prices are of a million tokens, in US dollars. 0: unknown.
type Prices struct {
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
	Cached float64 `json:"cached,omitempty"`
}

// Known is what the table says of one model on one server.
type Known struct {
	// Traits are how the server wants to be asked for it.
	Traits wire.Traits
	// Listed: the table has a row for the model. The fields below are of that
	// row; without it they are zero.
	Listed        bool
	Window        int
	Tools, Vision Answer
	Prices        Prices
	// Shutdown is the day on which its maker ends it, YYYY-MM-DD, or "".
	Shutdown string
	// SeparatesThoughts: the server never leaves thoughts in the text of an answer.
	SeparatesThoughts bool
}

// Lookup finds what the table knows of the model called name at the base URL.
// api is what the configuration says about it, "" or "auto" if nothing.
func Lookup(base, name, api string) Known {
	p, r := providerAt(base), rowOf(name)
	var k Known
	if r != nil {
		k.Listed, k.Window, k.Tools, k.Vision = true, r.window, answerOf(!r.noTools), answerOf(!r.noVision)
		if p != nil && p.id == r.maker { // others have prices of their own, and keep it as long as they like
			k.Prices, k.Shutdown = r.prices, r.shutdown
		}
	}
	// Who passes on other people's models has some whose thoughts are in the text.
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

// servesAsMaker says whether p serves the models of r by the rules of their maker.
func servesAsMaker(p *provider, r *row) bool {
	return p.id == r.maker || p.id == azure && r.maker == openAI
}

// traitsOf puts together what the server and the model want.
func traitsOf(base string, p *provider, r *row) wire.Traits {
	switch {
	case p == nil && r == nil:
		return wire.Traits{}
	case p == nil || p.id == openRouter:
		if r == nil {
			return p.traits
		}
		// Somebody else serves it. The names of parameters are the server's
		// matter, their values the model's; what it refuses is learnt.
		t := wire.Traits{Efforts: r.traits.Efforts}
		t.NoTemperature = r.traits.NoTemperature && p == nil
		t.CompletionTokens = r.traits.CompletionTokens && p == nil
		return t
	case r == nil || !servesAsMaker(p, r):
		return p.traits
	}
	t := r.traits
	// A deployment of Azure's older API has chat completions only.
	if u, err := url.Parse(base); p.id == azure && (err != nil || !strings.Contains(u.Path, "/openai/v1")) {
		t.API = ""
	}
	return t
}

// providerAt is who serves at base, or nil.
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

// providerByID is the provider with that id.
func providerByID(id string) *provider {
	for i := range providers {
		if providers[i].id == id {
			return &providers[i]
		}
	}
	return nil
}

// rowOf is the first row with a pattern for the model's name, or nil. Routers
// put a maker before it ("openai/gpt-6-luna"), Gemini "models/"; a variant may
// stand after a colon, as in Ollama and OpenRouter.
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

// baseName is a model's name without who made it and what variant it is.
func baseName(name string) string {
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name, _, _ = strings.Cut(name, ":")
	return name
}

// endWarning is how near the end of a model must be for a warning.
const endWarning = 90 * 24 * time.Hour

// EndsSoon reports whether a model is gone on the day shutdown, or will be
// within 90 days of now. "" is never.
func EndsSoon(shutdown string, now time.Time) bool {
	day, err := time.Parse(time.DateOnly, shutdown)
	return err == nil && day.Sub(now) <= endWarning
}

package api

import "context"

// ModelChoice is a model that a prompt or a conversation may name.
type ModelChoice struct {
	Name string `json:"name"`
	// Default says that it answers where nothing else is said.
	Default bool `json:"default,omitempty"`
	// Window is its context window in tokens, left out if that is not known.
	Window int `json:"window,omitempty"`
	// Input and Output are what a million tokens cost, in the currency of the configured
	// prices, left out where there are none.
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
}

func (s *server) models(context.Context, None) (Page[ModelChoice], error) {
	if s.Models == nil {
		return Page[ModelChoice]{}, ErrNoDaemon
	}
	return pageOf(s.Models(), nil)
}

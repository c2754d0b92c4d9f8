package app

import (
	"fmt"

	"dragoman/agent/tools"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/websearch"
)

var _ = feature(func(cfg *config.Config, _ *Daemon) []api.Feature {
	f := api.Feature{Name: "web_search", State: api.FeatureOff, Says: "the model cannot search the web: set web_search.engine"}
	if c := cfg.WebSearch; c.Engine != "" {
		f.State = api.FeatureOn
		f.Says = "questions go to " + c.Engine + at(c.URL)
	}
	return []api.Feature{f}
})

// search is the configured search service, or nil.
func (d *Daemon) search() (tools.Searching, error) {
	c := d.cfg.WebSearch
	if c.Engine == "" {
		return nil, nil
	}
	engine, err := websearch.New(websearch.Options{Name: c.Engine, URL: c.URL, Key: c.APIKey.Reveal()}, nil)
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	return engine, nil
}

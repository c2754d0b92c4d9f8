package app

import (
	"context"
	"fmt"

	"dragoman/agent/tools"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/websearch"
)

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "web_search", State: api.FeatureOff, Says: "the model cannot search the web: set web_search.engine"}
	if c := cfg.WebSearch; c.Engine != "" {
		f.State = api.FeatureOn
		f.Says = "questions go to " + c.Engine + at(c.URL)
	}
	if d != nil {
		f = d.outages.search.seen(f, "the last question was not answered")
	}
	return []api.Feature{f}
})

// searcher asks the search service, and keeps how that ended.
type searcher struct {
	*websearch.Engine
	outage *outage
}

// Search implements [tools.Searching].
func (s searcher) Search(ctx context.Context, query string) ([]websearch.Result, error) {
	found, err := s.Engine.Search(ctx, query)
	s.outage.note(ctx, err)
	return found, err
}

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
	return searcher{engine, &d.outages.search}, nil
}

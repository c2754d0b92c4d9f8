package main

import (
	"bytes"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
)

// A cost that is not known is never told as 0.
func TestUnknownCosts(t *testing.T) {
	prices := config.Prices{Input: 1, Output: 2}
	listed := func(key string, cost float64) api.Conversation {
		return api.Conversation{Key: channels.MustKey(key), MessageCount: 2, Usage: api.Usage{Input: 1000, Cost: cost}}
	}
	for name, test := range map[string]struct {
		prices config.Prices
		others []config.Other
		top    []api.Conversation
		want   []string
		never  string
	}{
		"no prices": {top: []api.Conversation{listed("x:1", 0)}, want: []string{"The cost is unknown, because no prices are configured"}, never: "COST"},
		"all known": {prices: prices, top: []api.Conversation{listed("x:1", 0.5)}, want: []string{"0.5000"}, never: "Not in"},
		"another model": {
			prices: prices, others: []config.Other{{Name: "small"}}, top: []api.Conversation{listed("x:1", 0.5), listed("x:2", 0)},
			want: []string{"0.5000", "unknown", "The costs do not include small"}, never: "0.0000",
		},
		"prices came later": {prices: prices, top: []api.Conversation{listed("x:1", 0)}, want: []string{"unknown", "before prices were configured"}, never: "0.0000"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &config.Config{}
			cfg.Model.Name = "large"
			cfg.Model.Prices = test.prices
			cfg.Model.Others = test.others
			var out bytes.Buffer
			e := &env{out: &out}
			e.stats(newNumbers(api.Numbers{Top: test.top}, cfg))
			for _, w := range test.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%q is not in:\n%s", w, out.String())
				}
			}
			if strings.Contains(out.String(), test.never) {
				t.Errorf("%q is in:\n%s", test.never, out.String())
			}
		})
	}
}

package config

import (
	"fmt"
	"slices"

	"dragoman/internal/admission"
)

// prices warns of models without a price, if a rule counts money.
func (v *validator) prices(c *Config) {
	needed := false
	for _, settings := range c.Limits.Rules {
		counts, able := settings.(admission.Priced)
		needed = needed || able && counts.NeedsPrices()
	}
	if !needed || c.Model.Type == "demo" {
		return
	}
	const free = "has no price, so what it uses is not counted in limits in money, unless its provider says the cost, as OpenRouter does"
	if c.Model.Prices == (Prices{}) {
		v.warn("model.prices", "the model "+free, "write what a million tokens cost, as prices: {input: 3, output: 15}, or count tokens")
	}
	if c.Drawing.URL != "" && c.Drawing.Price == 0 {
		v.warn("drawing.price", "pictures have no price, so they are not counted in limits in money", "write what one costs")
	}
	for i, o := range c.Model.Others {
		if o.Prices == (Prices{}) {
			v.warn(fmt.Sprintf("model.others[%d].prices", i), "the model "+free, "write what a million tokens cost, as prices: {input: 3, output: 15}")
		}
	}
	const elsewhere = "add it to model.others, with its prices"
	listed := func(name string) bool {
		return name == c.Model.Name || slices.ContainsFunc(c.Model.Others, func(o Other) bool { return o.Name == name })
	}
	for i, name := range c.Model.Fallback {
		if !listed(name) {
			v.warn(fmt.Sprintf("model.fallback[%d]", i), "the model "+free, elsewhere)
		}
	}
	if name := c.Summary.Model.Name; name != "" && !listed(name) {
		v.warn("summary.model.name", "the model "+free, elsewhere)
	}
}

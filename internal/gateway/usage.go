package gateway

import (
	"context"

	"dragoman/channels"
)

// sayNoUsage answers a /usage that the store does not answer.
const sayNoUsage = "Sorry, I could not read what was used. Please try again later."

func (g *Gateway) countsUsage() bool { return g.opts.Usage != nil }

// usage answers /usage.
func (g *Gateway) usage(ctx context.Context, m channels.Inbound) (string, error) {
	if !g.countsUsage() {
		return g.unknownCommand(ctx, m, "usage")
	}
	text, err := g.opts.Usage(ctx, m)
	if err != nil && ctx.Err() == nil {
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("what was used cannot be read", "err", err)
		return sayNoUsage, nil
	}
	return text, err
}

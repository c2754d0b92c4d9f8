package gateway

import "context"

// Outcomes is what the gateway knows of calls that are under way.
type Outcomes struct{ o inFlight }

// Begin notes a call.
func (o *Outcomes) Begin(id string) (end func()) { return o.o.begin(id) }

// Wait waits for a call.
func (o *Outcomes) Wait(ctx context.Context, id string) (bool, error) { return o.o.wait(ctx, id) }

// Left is how many messages who may write here now.
func Left(g *Gateway, who string) float64 {
	g.strikes.mu.Lock()
	defer g.strikes.mu.Unlock()
	if l := g.strikes.people[who]; l != nil {
		return l.TokensAt(g.opts.Now())
	}
	return float64(g.opts.RatePerMinute)
}

// Rounds is the order in which answers take turns.
var Rounds = rounds

// Said is what went out last.
type Said = said

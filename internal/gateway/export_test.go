package gateway

import "context"

// Outcomes is what the gateway knows of calls that are under way.
type Outcomes struct{ o inFlight }

// Begin notes a call.
func (o *Outcomes) Begin(id string) (end func()) { return o.o.begin(id) }

// Wait waits for a call.
func (o *Outcomes) Wait(ctx context.Context, id string) (bool, error) { return o.o.wait(ctx, id) }

// Rounds is the order in which answers take turns.
var Rounds = rounds

// Said is what went out last.
type Said = said

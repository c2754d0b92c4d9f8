package app

import (
	"context"
	"time"

	"dragoman/agent"
	"dragoman/internal/media"
	"dragoman/sessions/engine"
)

// FilingStore is a store that forgets the files of what it forgets. The Store in it
// forgets none, as if there was a crash.
type FilingStore = filing

// Filing makes one.
func Filing(s *engine.Store, files *media.Store) FilingStore {
	return filing{crashStore{s}, files, nil}
}

// Tidy removes files that nothing names, as once a day.
func Tidy(ctx context.Context, s FilingStore, files *media.Store, now time.Time) (int, error) {
	return tidy(ctx, s, files, now.Add(-tidyAge))
}

// AgentOptions are what the daemon makes its agent with.
func AgentOptions(d *Daemon) (agent.Options, error) { return d.agentOptions() }

// PublicAddr is where the page listens.
func (d *Daemon) PublicAddr() string { return d.public.addr() }

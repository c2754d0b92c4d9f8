package app

import (
	"context"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/event"
	"dragoman/internal/gateway"
	"dragoman/internal/hooks"
)

// hooksOf are the configured hooks.
func hooksOf(cfg *config.Config) (list []hooks.Hook) {
	for _, c := range cfg.Hooks {
		h := hooks.Hook{Command: c.Command, URL: c.URL, Secret: c.Secret.Reveal(), Timeout: c.Timeout.D()}
		for _, name := range c.On {
			h.On = append(h.On, event.Name(name))
		}
		list = append(list, h)
	}
	return list
}

// resetOf is the configured reset policy. Its time zone was checked by Load;
// one that has gone since is the machine's.
func resetOf(c config.Reset) gateway.Reset {
	return gateway.Reset{Mode: gateway.ResetMode(c.Mode), At: c.AtTime(), Zone: zoneOf(c.TimeZone), After: c.After.D()}
}

// zoneOf is the configured time zone of that name; "" is the machine's.
func zoneOf(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.Local // the configuration has checked all others
}

// startHooks runs the hooks for a verb that works without a daemon. The caller
// calls end, which waits until they have been told.
func startHooks(cfg *config.Config) (h *hooks.Hooks, end func() error) {
	h = hooks.New(hooksOf(cfg), hooks.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx) // it only ends with its context
	}()
	return h, func() error {
		cancel()
		<-ended
		return nil
	}
}

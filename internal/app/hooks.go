package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/event"
	"dragoman/internal/gateway"
	"dragoman/internal/hooks"
)

// buildHooks makes the configured hooks. They start with the daemon.
func buildHooks(cfg *config.Config, count func(event, outcome string), log *slog.Logger) (*hooks.Hooks, error) {
	h, err := hooks.New(hooksOf(cfg), hooks.Options{Count: count, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	return h, nil
}

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
func startHooks(cfg *config.Config) (h *hooks.Hooks, end func(), err error) {
	if h, err = buildHooks(cfg, nil, nil); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx) // it only ends with its context
	}()
	return h, func() {
		cancel()
		<-ended
	}, nil
}

package app

import (
	"time"

	"dragoman/internal/config"
	"dragoman/internal/event"
	"dragoman/internal/gateway"
	"dragoman/internal/hooks"
)

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

func resetOf(c config.Reset) gateway.Reset {
	return gateway.Reset{Mode: gateway.ResetMode(c.Mode), At: c.AtTime(), Zone: zoneOf(c.TimeZone), After: c.After.D()}
}

// zoneOf is the configured time zone of that name; "" is the machine's.
func zoneOf(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.Local // Load has checked all other names
}

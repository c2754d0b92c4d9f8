package main

import (
	"log/slog"

	"dragoman/internal/config"
)

// newLogger writes to standard error in the configured form. The level can be
// changed while the daemon runs.
func newLogger(e *env, cfg *config.Config, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(e.err, o))
	}
	return slog.New(slog.NewTextHandler(e.err, o))
}

package main

import (
	"io"
	"log/slog"
	"strings"

	"dragoman/internal/config"
)

// newLogger writes to w in the configured form. The level can be changed while
// the daemon runs.
func newLogger(w io.Writer, cfg *config.Config, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: errorsOnOneLine}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// errorsOnOneLine writes joined errors on one line, because logs are read line by
// line.
func errorsOnOneLine(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok && a.Value.Kind() == slog.KindAny {
		if text := err.Error(); strings.Contains(text, "\n") {
			return slog.String(a.Key, strings.ReplaceAll(text, "\n", "; "))
		}
	}
	return a
}

package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"dragoman/internal/config"
)

// Several errors that were joined are one line in the log, in both forms.
func TestErrorsOnOneLine(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		cfg := &config.Config{}
		cfg.Log.Format = format
		newLogger(&out, cfg, new(slog.LevelVar)).Error("it failed", "err", errors.Join(errors.New("one"), errors.New("two")))
		if got := out.String(); !strings.Contains(got, `"one; two"`) {
			t.Errorf("%s: %s, want one; two", format, got)
		}
	}
}

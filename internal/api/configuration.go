package api

import (
	"context"
)

// Configuration is the configuration that counts, to read.
type Configuration struct {
	// File is where it is; "" for the built-in defaults.
	File     string       `json:"file,omitempty"`
	Settings []SettingNow `json:"settings"`
	// Warnings are what `dragoman check` finds in it, and Refused the problems of a newer
	// one that was not taken.
	Warnings []Finding      `json:"warnings"`
	Refused  *RefusedReload `json:"refused_reload,omitempty"`
	// Restart are the settings of a newer file that was taken, and that count only after a
	// restart.
	Restart []string `json:"restart"`
}

// SettingNow is one setting as it counts.
type SettingNow struct {
	Path  string `json:"path"`  // "http.listen"
	Value string `json:"value"` // as in YAML; secrets are hidden
	// Source is "file", "environment" (the file names a variable there) or "default", and
	// Line where the file has it.
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
}

// Finding is something doubtful in a configuration.
type Finding struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Path string `json:"path,omitempty"`
	What string `json:"what"`
	Want string `json:"want,omitempty"` // what to write instead
}

func (s *server) configuration(context.Context, None) (Configuration, error) {
	if s.Configuration == nil {
		return Configuration{}, ErrNoDaemon
	}
	return s.Configuration()
}

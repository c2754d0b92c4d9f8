package rules

import (
	"slices"
	"strings"

	"dragoman/sessions"
)

// Settings returns a cleaned deep copy of s: tags sorted, each once.
func Settings(s sessions.Settings) sessions.Settings {
	s.Model, s.System, s.Reasoning = Text(s.Model), Text(s.System), Text(s.Reasoning)
	var tags []string
	for _, t := range s.Tags {
		if t = strings.TrimSpace(Text(t)); t != "" {
			tags = append(tags, t)
		}
	}
	slices.Sort(tags)
	s.Tags, s.Metadata = slices.Compact(tags), Fields(s.Metadata)
	return s
}

// IsZeroSettings reports whether s has no choices.
func IsZeroSettings(s sessions.Settings) bool {
	return s.Model == "" && s.System == "" && s.Reasoning == "" && len(s.Tags) == 0 && len(s.Metadata) == 0
}

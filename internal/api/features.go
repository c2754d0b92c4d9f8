package api

import "time"

// Feature is something that Dragoman can do where the configuration and the machine allow
// it: commands, searching the web, an MCP server.
type Feature struct {
	// Name is what the documentation and the configuration call it: "exec".
	Name  string       `json:"name"`
	State FeatureState `json:"state"`
	// Says is a sentence for whoever runs Dragoman: how it is on, or why not and what would
	// change that.
	Says string `json:"says"`
	// Since is when a service began to fail that worked before, or was not called before.
	Since time.Time `json:"since,omitzero"`
}

// FeatureState is how a feature is.
type FeatureState string

// The states of features.
const (
	FeatureOn  FeatureState = "on"
	FeatureOff FeatureState = "off" // nobody asked for it, or the machine lacks a part
	// FeatureFailing is one that the configuration asks for, and that cannot work.
	FeatureFailing FeatureState = "failing"
)

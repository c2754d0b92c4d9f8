package config

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// Fingerprint is a short hash of what the nodes of one store should have in common: the
// effective configuration without secrets, paths, and what is about one machine.
func (c *Config) Fingerprint() string {
	shared := *c
	shared.StateDir = ""
	shared.Workspace = ""
	shared.Roles = nil
	shared.Node = Node{}
	shared.HTTP.Listen = ""
	shared.Log = Log{}
	shared.Store.MaxConns = 0
	shared.Agents = maps.Clone(c.Agents)
	for name, p := range shared.Agents {
		p.File = "" // what it says counts
		shared.Agents[name] = p
	}
	var root yaml.Node
	if err := root.Encode(&shared); err != nil {
		return ""
	}
	withoutPaths(&root)
	text, err := yaml.Marshal(&root)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// withoutPaths replaces the absolute paths below n.
func withoutPaths(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && filepath.IsAbs(n.Value) {
		n.Value = "path"
	}
	for _, child := range n.Content {
		withoutPaths(child)
	}
}

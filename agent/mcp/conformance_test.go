package mcp_test

import (
	"testing"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/toolbox/toolboxtest"
)

// Tools of servers pass the suite of all tools, those that only read and the others.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]agent.Effect{"reads": agent.EffectRead, "acts": agent.EffectOut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scene(t, "")
			s.Effects = map[string]agent.Effect{"double": effect}
			p := open(t, &notes{}, mcp.Options{}, s)
			toolboxtest.Run(t, named(t, p, "scene__double"), `{"n":4}`)
		})
	}
}

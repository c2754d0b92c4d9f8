package mcp

import (
	"context"
	"encoding/json"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// tool is an accepted tool of a server, as the model is offered it.
type tool struct {
	l    *link
	pin  pin
	spec agent.Spec
	// output is the schema of its structured results, as JSON; nil: it has none.
	output json.RawMessage
}

var _ agent.Tool = (*tool)(nil)

func newTool(l *link, t pin) *tool {
	var d definition
	_ = json.Unmarshal(t.Text, &d) // it was made from one
	made := &tool{l: l, pin: t}
	if d.OutputSchema != nil {
		made.output, _ = encode(d.OutputSchema) // it was JSON
	}
	effect := l.effectOf(&d)
	made.spec = agent.Spec{
		Name: t.name, Description: visibleWords(d.Description, maxDescription), Parameters: parameters(d.InputSchema),
		Effect: effect, Origin: sessions.OriginMCP(l.Name), Foreign: !t.Read && !l.TrustHints, Patience: l.pool.o.LongCall + 2*callGrace,
		// Only what an operator says counts here, not what the server says about itself.
		Repeatable: l.Effects[t.Own] == agent.EffectRead, Parallel: l.Effects[t.Own] == agent.EffectRead,
	}
	if made.spec.Description == "" {
		made.spec.Description = visibleWords(d.Title, maxDescription)
	}
	return made
}

// effectOf is what calls of a tool do: what the operator says; or what the server says, if it
// is believed; or words leave.
func (l *link) effectOf(d *definition) agent.Effect {
	if said := l.Effects[d.Name]; said != "" {
		return said
	}
	if l.TrustHints && d.Annotations != nil && d.Annotations.ReadOnlyHint {
		return agent.EffectRead
	}
	return agent.EffectOut
}

func (t *tool) Spec() agent.Spec { return t.spec }

// Run calls the tool on its server.
func (t *tool) Run(ctx context.Context, c agent.Call) (string, error) {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}") // servers refuse null
	}
	ctx, cancel := context.WithTimeout(ctx, t.l.pool.o.Start+t.l.pool.o.LongCall+time.Second)
	defer cancel()
	return t.goOn(ctx, c, query{args: args, show: c.Progress, again: t.spec.Repeatable})
}

// noParameters is for tools whose schema is none of an object.
const noParameters = `{"type":"object","properties":{}}`

// parameters is the schema of a tool's arguments as models get it: of an object, and with the
// words in it cut and cleaned, because models read those too.
func parameters(schema any) json.RawMessage {
	root, is := schema.(map[string]any)
	if !is || root["type"] != "object" {
		return json.RawMessage(noParameters)
	}
	delete(root, "$schema")
	if _, given := root["properties"].(map[string]any); !given {
		root["properties"] = map[string]any{} // OpenAI refuses a schema without
	}
	cleanSchema(root, false)
	text, err := encode(root)
	if err != nil || len(text) > maxParameters {
		return json.RawMessage(noParameters)
	}
	return text
}

const (
	// maxParameters bounds the schema of a tool's arguments in requests.
	maxParameters = 16 << 10
	// maxSchemaWords bounds each description in it.
	maxSchemaWords = 300
)

// cleanSchema cleans the words of a schema in place. names: the keys of this object are names
// of properties and not keywords.
func cleanSchema(value any, names bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			text, is := inner.(string)
			switch {
			case names || !is:
				cleanSchema(inner, !names && isNames(key))
			case key == "description" || key == "title":
				value[key] = visibleWords(text, maxSchemaWords)
			case key == "$comment":
				delete(value, key)
			}
		}
	case []any:
		for _, inner := range value {
			cleanSchema(inner, false)
		}
	}
}

// isNames reports whether the keys in a keyword's object are names.
func isNames(keyword string) bool {
	return keyword == "properties" || keyword == "$defs" || keyword == "definitions" || keyword == "patternProperties"
}

package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/agent"
	"dragoman/internal/secretword"
)

const (
	maxFields    = 10
	maxChoices   = 50
	maxAskWords  = 1 << 10 // of a message
	maxFieldText = 300
)

// schemaOfField is what a server says about a value.
type schemaOfField struct {
	Type, Title, Description, Format, Pattern string
	Enum                                      []string
	EnumNames                                 []string
	OneOf                                     []named
	Items                                     *struct {
		Enum  []string
		AnyOf []named
		OneOf []named
	}
	Minimum, Maximum, MinLength, MaxLength, MinItems, MaxItems *float64
	Default                                                    json.RawMessage
}

// named is a choice with a name for people.
type named struct{ Const, Title string }

// formOf is a question of a server as people can be asked it; or why they are not.
func formOf(server string, p *sdk.ElicitParams) (f agent.Form, why string) {
	f = agent.Form{From: server, Message: visibleWords(p.Message, maxAskWords)}
	if p.Mode == "url" || p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(p.URL) > 2048 || cleanText(p.URL, 2048) != p.URL {
			return f, "it wanted an address opened that is none"
		}
		f.URL = p.URL
		return f, ""
	}
	var schema struct {
		Properties map[string]schemaOfField
		Required   []string
	}
	text, err := json.Marshal(p.RequestedSchema)
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	switch {
	case err != nil:
		return f, "what it asked for has no form"
	case len(schema.Properties) > maxFields:
		return f, fmt.Sprintf("it asked for more than %d values at once", maxFields)
	}
	said := []string{p.Message}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		s := schema.Properties[name]
		if s.takesWords() && secretword.Asks(name, s.Title, s.Description) {
			return f, askedSecret
		}
		if s.takesWords() {
			said = append(said, name, s.Title)
		}
		one, ok := fieldOf(name, s)
		if !ok {
			return f, "it asked for a value of a kind that is not known here"
		}
		one.Required = slices.Contains(schema.Required, name)
		f.Fields = append(f.Fields, one)
	}
	if secretword.Asks(said...) {
		return f, askedSecret
	}
	return f, ""
}

// askedSecret is why a question is not put.
const askedSecret = "it asked for a password or a key, which nobody should write into a chat"

// takesWords reports whether a value is more than a yes, or one of what the server named.
func (s schemaOfField) takesWords() bool {
	return s.Type != "boolean" && s.Type != "array" && len(s.Enum)+len(s.OneOf) == 0
}

// fieldOf is a value as people are asked for it.
func fieldOf(name string, s schemaOfField) (agent.Field, bool) {
	f := agent.Field{
		Name: name, Title: cleanText(s.Title, maxFieldText), Description: cleanText(s.Description, maxFieldText), Type: s.Type, Format: s.Format, Default: s.Default,
		Min: s.Minimum, Max: s.Maximum,
	}
	if cleanText(name, 64) != name || name == "" || len(s.Default) > maxFieldText {
		return f, false
	}
	if len(s.Pattern) <= maxFieldText {
		f.Pattern = s.Pattern
	}
	choices := s.OneOf
	f.Choices = s.Enum
	f.Shown = s.EnumNames
	switch s.Type {
	case "string":
		f.Min = s.MinLength
		f.Max = s.MaxLength
	case "number", "integer", "boolean":
	case "array":
		if s.Items == nil {
			return f, false
		}
		f.Many = true
		f.Type = "string"
		f.Min = s.MinItems
		f.Max = s.MaxItems
		f.Choices = s.Items.Enum
		choices = slices.Concat(s.Items.AnyOf, s.Items.OneOf)
	default:
		return f, false
	}
	for _, c := range choices {
		f.Choices = append(f.Choices, c.Const)
		f.Shown = append(f.Shown, cmp.Or(c.Title, c.Const))
	}
	for i, shown := range f.Shown {
		f.Shown[i] = cleanText(shown, maxFieldText)
	}
	for _, c := range f.Choices {
		if cleanText(c, maxFieldText) != c {
			return f, false
		}
	}
	return f, len(f.Choices) <= maxChoices && (!f.Many || len(f.Choices) > 0)
}

package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// mendCalls corrects what models get wrong in the form of calls, where there is only
// one thing that they can mean. Otherwise each such call would cost a request in which
// the model reads what is wrong.
func (o *offer) mendCalls(calls []sessions.ToolCall) []sessions.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Name = o.nameMeant(calls[i].Name)
		calls[i].Arguments = argumentsMeant(calls[i].Arguments)
	}
	return calls
}

// nameMeant returns the name of the offered tool that a model means by name: without a
// prefix (functions.time, default_api:time), and in other letters (Time, webFetch,
// web-fetch). It returns name if no tool is meant, or several.
func (o *offer) nameMeant(name string) string {
	if o.has(name) {
		return name
	}
	short := name
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		short = name[i+1:]
	}
	if o.has(short) {
		return short
	}
	meant := ""
	for i := range o.specs {
		candidate := o.specs[i].Name
		if fold(candidate) != fold(name) && fold(candidate) != fold(short) {
			continue
		}
		if meant != "" {
			return name
		}
		meant = candidate
	}
	if meant == "" {
		return name
	}
	return meant
}

// fold returns what two spellings of a name have in common.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// argumentsMeant returns the object that a model wrote into text, or text: models also
// write it into a fence of Markdown, or as a JSON string.
func argumentsMeant(text string) string {
	meant := strings.TrimSpace(text)
	for range 3 { // a string in a fence in a string
		if window.IsObject(meant) {
			return window.WholeCharacters(meant)
		}
		if fenced, found := strings.CutPrefix(meant, "```"); found {
			fenced = strings.TrimLeftFunc(fenced, unicode.IsLetter) // the language, also on the same line
			meant = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(fenced), "```"))
			continue
		}
		var inner string
		if json.Unmarshal([]byte(meant), &inner) != nil {
			break
		}
		meant = strings.TrimSpace(inner)
	}
	if window.IsObject(meant) {
		return window.WholeCharacters(meant)
	}
	return text
}

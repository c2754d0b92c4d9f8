package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"dragoman/agent/window"
	"dragoman/internal/lazily"
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

// nameMeant returns the name of the offered tool that a model means by name: with a prefix
// (functions.time, mcp__time), with a template's mark or a number behind it
// (time<|channel|>commentary, functions.time:0), as a call (time()), or in other letters
// (Time, webFetch, web-fetch). It returns name if no tool is meant, or several.
func (o *offer) nameMeant(name string) string {
	if o.has(name) {
		return name
	}
	forms := o.shortNames(name)
	for _, form := range forms {
		if o.has(form) {
			return form
		}
	}
	meant := ""
	for _, s := range slices.Concat(o.specs, o.listed) {
		candidate := s.Name
		if !slices.ContainsFunc(forms, func(form string) bool { return fold(form) == fold(candidate) }) {
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

var (
	// behindName matches what models write behind a name: a mark of a template and all
	// after it, parentheses, the number of the call.
	behindName = lazily.Compile(`\s*(?:<\|?[^\n]*|\(.*|[:#]\d+)$`)
	// wrapperName matches a prefix that is no tool's and no server's.
	wrapperName = lazily.Compile(`^(?i:functions?|tools?|mcp|default_api|multi_tool_use|namespace)(?:__?|[.:/-])`)
)

// shortNames lists name and what is left of it when more and more is cut off.
func (o *offer) shortNames(name string) (forms []string) {
	name = strings.Trim(name, " \t\n\"'`*")
	for cut := behindName.Regexp().ReplaceAllString(name, ""); cut != name; cut = behindName.Regexp().ReplaceAllString(name, "") {
		forms = append(forms, name)
		name = cut
	}
	forms = append(forms, name)
	for {
		prefix := wrapperName.Regexp().FindString(name)
		if prefix == "" {
			at, length := strings.IndexAny(name, ".:/"), 1
			if server := strings.Index(name, "__"); server >= 0 && (at < 0 || server < at) {
				at, length = server, len("__")
			}
			if at < 0 || o.hasServer(name[:at]) {
				return forms // another server's tool of that name is not meant
			}
			prefix = name[:at+length]
		}
		name = name[len(prefix):]
		forms = append(forms, name)
	}
}

// hasServer reports whether a tool of that MCP server is offered.
func (o *offer) hasServer(server string) bool {
	of := func(s Spec) bool { return strings.HasPrefix(s.Name, server+"__") }
	return slices.ContainsFunc(o.specs, of) || slices.ContainsFunc(o.listed, of)
}

// fold returns what two spellings of a name have in common.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "", ":", "", "/", "").Replace(name))
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

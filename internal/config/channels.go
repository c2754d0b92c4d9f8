package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"

	"gopkg.in/yaml.v3"
)

// heartbeatName is the channel part of the keys that jobs run under.
const heartbeatName = "heartbeat"

// channels decodes the map of channels. The type of a channel decides which keys it
// may have.
func (d *decoder) channels(n *yaml.Node, path string, v reflect.Value) {
	m := v.Interface().(map[string]Channel)
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		name := key.Value
		if _, err := channels.NewKey(name, "x"); err != nil {
			d.problem(key.Line, at, "a channel's name has 1 to 32 characters of a-z, 0-9, _ and -", "")
			return
		}
		if name == heartbeatName {
			d.problem(key.Line, at, "this name is reserved for the jobs", "give the channel another name")
			return
		}
		d.marks[at] = mark{line: key.Line}
		kind, ok := d.channelType(name, value, key.Line, at)
		if !ok {
			return
		}
		ch := defaultChannel(kind)
		if t, tells := ch.Settings.(channels.FormTeller); tells {
			d.forms = t.Forms()
		}
		d.off = d.turnedOff(value)
		d.value(value, at, reflect.ValueOf(&ch).Elem(), field{})
		d.off = false
		d.forms = nil
		ch.Type = kind.Name
		m[name] = ch
	})
}

// ahead finds the value of a key that is needed before the others; nil if there is
// none, or it is not a scalar.
func ahead(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if value := n.Content[i+1]; n.Content[i].Value == key && value.Kind == yaml.ScalarNode {
			return value
		}
	}
	return nil
}

func (d *decoder) turnedOff(n *yaml.Node) bool {
	value := ahead(n, "enabled")
	if value == nil {
		return false
	}
	text, _, err := d.expand(value.Value)
	return err == nil && text == "false"
}

// channelType finds the type of the channel called name, or reports why it has none.
func (d *decoder) channelType(name string, n *yaml.Node, line int, at string) (found channels.Type, ok bool) {
	types := typeNames(d.opts.Types)
	kind, written := name, false
	if value := ahead(n, "type"); value != nil {
		text, _, err := d.expand(value.Value)
		if err != nil {
			d.problem(value.Line, at+".type", err.Error(), "")
			return found, false
		}
		kind = text
		written = true
		line = value.Line
	}
	switch {
	case n.Kind == yaml.SequenceNode, n.Kind == yaml.ScalarNode && n.Tag != "!!null" && !slices.Contains(types, name):
		d.problem(line, at, "is not a channel with settings", "if it is a channel's setting, indent it under the name of that channel")
		return found, false
	case !written && !slices.Contains(types, kind):
		d.problem(line, at, "has no type", "add type: "+oneOf(types))
		return found, false
	case !slices.Contains(types, kind):
		d.problem(line, at+".type", "is not a type that this version knows", "write "+oneOf(types))
		return found, false
	case kind != name && slices.Contains(types, name):
		d.problem(line, at, fmt.Sprintf("the name %s is reserved for channels of type %s, but this one has type %s", name, name, kind), "give it another name")
		return found, false
	}
	return d.opts.Types[slices.Index(types, kind)], true
}

// atTop are keys that people write at the top because other programs have them there, and
// what to write instead.
var atTop = map[string]string{
	"mcpservers":    noMCP,
	"mcp_servers":   noMCP,
	"tools":         "choose tools with agent: {tools: [time, web_fetch]}",
	"skills":        "there are none here; write what they say into the prompt of a persona: agents: {NAME: {prompt: …}}",
	"prompt":        "write agent: {system_prompt: …}",
	"system_prompt": "write agent: {system_prompt: …}",
	"token":         "a bot's token belongs to its channel: channels: {telegram: {token: …}}; the page's to http",
	"providers":     "there is one server: model: {base_url: …, api_key: …, name: …}",
	"api_key":       "write model: {api_key: …}",
}

const noMCP = "write mcp: {servers: {NAME: {command: [PROGRAM, ARGUMENT]}}}, or url in the place of command"

// unknown reports an unknown key, with a guess at what was meant.
func (d *decoder) unknown(key *yaml.Node, path string, fields []field) {
	at, want := join(path, showKey(key.Value)), ""
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if path == "" && slices.Contains(typeNames(d.opts.Types), key.Value) {
		want = "it is a channel: indent it under channels"
	} else if hint := atTop[strings.ToLower(key.Value)]; path == "" && hint != "" {
		want = hint
	} else if near := nearest(strings.ToLower(key.Value), names); near != "" {
		want = fmt.Sprintf("did you mean %q?", near)
	} else if place := d.elsewhere(key.Value, path); place != "" {
		want = "it belongs to " + place
	} else if len(names) <= 16 {
		want = "known here: " + strings.Join(names, ", ")
	}
	d.problem(key.Line, at, "unknown key", want)
}

// elsewhere finds a section that has a key of this name.
func (d *decoder) elsewhere(key, path string) string {
	for _, e := range Reference(d.opts.Types, d.opts.Rules) {
		dir, last := "the top", e.Path
		if i := strings.LastIndexByte(e.Path, '.'); i >= 0 {
			dir, last = e.Path[:i], e.Path[i+1:]
		}
		if last == key && dir != path {
			return dir
		}
	}
	return ""
}

var (
	yamlLine  = lazily.Compile(`line (\d+)`)
	tabIndent = lazily.Compile(`(?m)^ *\t[ \t]*\S`)
)

// syntax explains why the text is not YAML. It does not show the parser's message,
// which may quote the file.
func (d *decoder) syntax(data []byte, err error) {
	text, line := err.Error(), 0
	if m := yamlLine.Regexp().FindStringSubmatch(text); m != nil {
		_, _ = fmt.Sscan(m[1], &line)
	}
	if line == 0 && !strings.Contains(text, "anchor") {
		line = 1 // the parser leaves the first line out
	}
	tabs := tabIndent.Regexp().FindAllIndex(data, 10)
	for _, at := range tabs {
		d.problem(1+bytes.Count(data[:at[0]], []byte("\n")), "", "there is a tab in the indentation", "indent with spaces")
	}
	switch {
	case strings.Contains(text, "anchor"):
		d.problem(line, "", "YAML reads a value that begins with * as a reference, and this one refers to nothing", "put the value in quotes")
	case len(tabs) > 0:
	case strings.Contains(text, "mapping values are not allowed"):
		d.problem(line, "", "a colon is in the wrong place", "put values that contain \": \" in quotes, and check the indentation")
	default:
		d.problem(line, "", "not readable as YAML", "check quotes, brackets and indentation here and in the line above")
	}
}

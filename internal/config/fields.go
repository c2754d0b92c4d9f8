package config

import (
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// field is one key of a struct, with inlined structs taken apart.
type field struct {
	name, doc, example string
	emptyOK, scalar    bool
	verbatim           bool // "$" means nothing in it, but the whole may be ${file:…}
	value              reflect.Value
}

// fieldsOf lists the keys of v in the order of the source. A channel's keys
// depend on which of its pointers is set.
func fieldsOf(v reflect.Value) []field {
	var fields []field
	for i := range v.NumField() {
		t := v.Type().Field(i)
		tag, isKey := t.Tag.Lookup("yaml")
		if !isKey {
			continue
		}
		if tag == ",inline" {
			inner := v.Field(i)
			if inner.Kind() == reflect.Pointer {
				if inner.IsNil() {
					continue
				}
				inner = inner.Elem()
			}
			fields = append(fields, fieldsOf(inner)...)
			continue
		}
		fields = append(fields, field{
			name: tag, doc: t.Tag.Get("doc"), example: t.Tag.Get("example"),
			emptyOK: t.Tag.Get("empty") == "ok", scalar: t.Tag.Get("scalar") == "yes",
			verbatim: t.Tag.Get("verbatim") == "yes", value: v.Field(i),
		})
	}
	return fields
}

// scalarForm reports whether a struct may be written as one value.
func scalarForm(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t == secretType {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("scalar") == "yes" {
			return true
		}
	}
	return false
}

// Entry describes one key for documentation.
type Entry struct {
	// Path is where the key stands: "agent.max_steps",
	// "channels.<telegram>.token", "heartbeat.jobs[].name".
	Path    string
	Kind    string // "text", "whole number", "duration", …
	Default string // as in YAML; "" if there is none
	Example string
	Doc     string
}

// Reference lists every key there is, in the order of the example file.
func Reference() []Entry {
	o := Options{Home: "~", Env: func(string) (string, bool) { return "", false }}
	var entries []Entry
	var list func(path string, v reflect.Value)
	list = func(path string, v reflect.Value) {
		for _, f := range fieldsOf(v) {
			at, t := join(path, f.name), f.value.Type()
			switch {
			case t == channelsType:
				for _, kind := range channelTypes {
					ch := defaultChannel(kind)
					list(at+".<"+kind+">", reflect.ValueOf(&ch).Elem())
				}
			case t.Kind() == reflect.Struct && t != secretType:
				list(at, f.value)
			case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
				list(at+"[]", reflect.New(t.Elem()).Elem())
			default:
				entries = append(entries, Entry{Path: at, Kind: kindOf(t), Default: plain(f.value), Example: f.example, Doc: f.doc})
			}
		}
	}
	list("", reflect.ValueOf(defaults(o)).Elem())
	return entries
}

// plain is a default as text, "" for a zero value.
func plain(v reflect.Value) string {
	if v.IsZero() && v.Kind() != reflect.Bool {
		return ""
	}
	if v.Kind() == reflect.Slice {
		var items []string
		for i := range v.Len() {
			items = append(items, fmt.Sprintf("%q", v.Index(i).String()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

// Effective is the whole configuration as YAML, defaults filled in and secrets
// hidden. It shows what counts, not what was written.
func (c *Config) Effective() string {
	shown := *c
	shown.Summary.MaxTokens = c.summaryTokens()
	root := render(reflect.ValueOf(&shown).Elem())
	root.HeadComment = "Effective configuration. Source: " + c.source.String()
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return "# cannot be shown: " + err.Error() + "\n"
	}
	return b.String()
}

func render(v reflect.Value) *yaml.Node {
	t := v.Type()
	switch {
	case t == channelsType:
		return renderMap(v)
	case t.Kind() == reflect.Pointer:
		return render(v.Elem())
	case t.Kind() == reflect.Struct && t != secretType:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, f := range fieldsOf(v) {
			// What is unset and has no default is left out, so that the
			// rendering can be loaded again.
			if f.value.IsZero() && (f.example != "" || f.value.Type() == secretType || f.value.Kind() == reflect.Map) && f.value.Kind() != reflect.Bool {
				continue
			}
			n.Content = append(n.Content, text(f.name), render(f.value))
		}
		return n
	case t.Kind() == reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if t.Elem().Kind() != reflect.Struct {
			n.Style = yaml.FlowStyle
		}
		for i := range v.Len() {
			n.Content = append(n.Content, render(v.Index(i)))
		}
		return n
	}
	n := &yaml.Node{}
	if err := n.Encode(v.Interface()); err != nil {
		return text("(cannot be shown)")
	}
	return n
}

func renderMap(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	m := v.Interface().(map[string]Channel)
	for _, name := range sortedKeys(m) {
		ch := m[name]
		n.Content = append(n.Content, text(name), render(reflect.ValueOf(&ch).Elem()))
	}
	return n
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

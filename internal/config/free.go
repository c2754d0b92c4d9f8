package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Headers are values by the names of HTTP headers.
type Headers map[string]Secret

// Body are fields that a request gets, each as JSON.
type Body map[string]json.RawMessage

// MarshalYAML writes the names, and none of the values.
func (h Headers) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		n.Content = append(n.Content, text(name), text(h[name].String()))
	}
	return n, nil
}

// MarshalYAML writes JSON, which YAML contains.
func (b Body) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		var value any
		if err := json.Unmarshal(b[name], &value); err != nil {
			return nil, err
		}
		v := &yaml.Node{}
		if err := v.Encode(value); err != nil {
			return nil, err
		}
		v.Style = yaml.FlowStyle
		n.Content = append(n.Content, text(name), v)
	}
	return n, nil
}

var (
	headersType = reflect.TypeFor[Headers]()
	bodyType    = reflect.TypeFor[Body]()
)

// headers decodes a mapping whose values may be secrets.
func (d *decoder) headers(n *yaml.Node, path string, v reflect.Value) {
	all := Headers{}
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		var secret Secret
		d.scalar(value, value.Line, at, reflect.ValueOf(&secret).Elem(), field{emptyOK: true})
		all[key.Value] = secret
	})
	v.Set(reflect.ValueOf(all))
}

// body decodes a mapping of anything.
func (d *decoder) body(n *yaml.Node, path string, v reflect.Value) {
	all := Body{}
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		plain, err := d.plainValue(value)
		if err != nil {
			d.problem(value.Line, at, err.Error(), "")
			return
		}
		b, err := json.Marshal(plain)
		if err != nil {
			d.problem(value.Line, at, "cannot be written as JSON", "")
			return
		}
		all[key.Value] = b
	})
	v.Set(reflect.ValueOf(all))
}

// plainValue is n as JSON has it. References in its texts are replaced.
func (d *decoder) plainValue(n *yaml.Node) (any, error) {
	if d.nodes++; d.nodes > maxNodes {
		return nil, nil // said once for the whole file
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.plainValue(n.Alias)
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := d.plainValue(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Content[i].Value] = value
		}
		return m, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			value, err := d.plainValue(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	return d.plainScalar(n)
}

func (d *decoder) plainScalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		if n.Value == "true" || n.Value == "false" {
			return n.Value == "true", nil
		}
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i, nil
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f, nil
		}
	}
	text, _, err := d.expand(n.Value)
	if missing := (*missingError)(nil); errors.As(err, &missing) && d.opts.NoSecrets {
		return "", nil
	}
	return text, err
}

// reserved are fields of a request that Dragoman must write itself.
var reserved = []string{"messages", "input", "model", "stream", "system", "instructions"}

// body checks the fields that requests are to get.
func (v *validator) body(path string, b Body) {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if slices.Contains(reserved, name) {
			v.bad(path+"."+showKey(name), "is set by Dragoman itself", "remove it")
		}
	}
}

// headers checks names and values of HTTP headers.
func (v *validator) headers(path string, h Headers) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !headerName(name) {
			v.bad(path+"."+showKey(name), "is not a valid header name", "write letters, digits and dashes")
		}
		for _, c := range []byte(h[name].Reveal()) {
			if c < ' ' && c != '\t' || c >= 0x7f {
				v.bad(path+"."+showKey(name), "has a character that is not allowed in a header", "use plain characters only")
				break
			}
		}
	}
}

func headerName(name string) bool {
	for _, c := range []byte(name) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// Efforts are what model.reasoning and the setting of a conversation may say.
var Efforts = []string{"auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"}

// fallbacks checks the models that step in.
func (v *validator) fallbacks(m Model) {
	seen := map[string]bool{}
	for i, name := range m.Fallback {
		path := fmt.Sprintf("model.fallback[%d]", i)
		switch {
		case name == "":
			v.bad(path, "is empty", "write the name of another model of the same server")
		case name == m.Name:
			v.bad(path, "is the configured model", "write the name of another model of the same server")
		case seen[name]:
			v.bad(path, "appears twice", "keep one")
		}
		seen[name] = true
	}
	if len(m.Fallback) > 0 && m.Type == "demo" {
		v.bad("model.fallback", "the built-in demo has no other models", "remove it")
	}
}

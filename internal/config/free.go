package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"dragoman/internal/lazily"

	"gopkg.in/yaml.v3"
)

// Headers are values by the names of HTTP headers.
type Headers map[string]Secret

// Body are fields that a request gets, each as JSON.
type Body map[string]json.RawMessage

// MarshalYAML writes JSON, which YAML contains.
func (b Body) MarshalYAML() (any, error) {
	var plain map[string]any
	text, err := json.Marshal(map[string]json.RawMessage(b))
	if err == nil {
		err = yaml.Unmarshal(text, &plain)
	}
	return plain, err
}

// headers decodes a mapping whose values may be secrets.
func (d *decoder) headers(n *yaml.Node, path string, v reflect.Value) {
	all := Headers{}
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		if !headerName.Matches(key.Value) {
			d.problem(key.Line, at, "is not a valid header name", "write letters, digits and dashes")
		}
		secret := reflect.New(secretType).Elem()
		d.scalar(value, at, secret, headerField)
		all[key.Value] = secret.Interface().(Secret)
	})
	v.Set(reflect.ValueOf(all))
}

var (
	headerField = field{tag: `empty:"ok" is:"header"`}
	headerName  = lazily.Compile(`^[0-9A-Za-z_-]+$`)
)

// reserved are fields of a request that Dragoman must write itself.
var reserved = []string{"messages", "input", "model", "stream", "system", "instructions"}

// body decodes a mapping of anything.
func (d *decoder) body(n *yaml.Node, path string, v reflect.Value) {
	all := Body{}
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		if slices.Contains(reserved, key.Value) {
			d.problem(key.Line, at, "is set by Dragoman itself", "remove it")
		}
		plain, err := d.plainValue(value)
		if err == nil {
			all[key.Value], err = json.Marshal(plain)
		}
		if err != nil {
			d.problem(value.Line, at, err.Error(), "")
		}
	})
	v.Set(reflect.ValueOf(all))
}

// plainValue is n as JSON has it. References in its texts are replaced.
func (d *decoder) plainValue(n *yaml.Node) (value any, err error) {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content) && err == nil; i += 2 {
			m[n.Content[i].Value], err = d.plainValue(n.Content[i+1])
		}
		return m, err
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i := 0; i < len(list) && err == nil; i++ {
			list[i], err = d.plainValue(n.Content[i])
		}
		return list, err
	}
	switch n.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		err = n.Decode(&value)
		return value, err
	}
	text, _, err := d.expand(n.Value)
	if missing := (*missingError)(nil); errors.As(err, &missing) && d.opts.NoSecrets {
		return "", nil
	}
	return text, err
}

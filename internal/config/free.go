package config

import (
	"encoding/json"
	"errors"
	"reflect"

	"gopkg.in/yaml.v3"
)

// Body are fields added to requests, each as JSON.
type Body map[string]json.RawMessage

// MarshalYAML writes the fields as plain YAML.
func (b Body) MarshalYAML() (any, error) {
	var plain map[string]any
	text, err := json.Marshal(map[string]json.RawMessage(b))
	if err == nil {
		err = yaml.Unmarshal(text, &plain)
	}
	return plain, err
}

func (d *decoder) table(n *yaml.Node, path string, v reflect.Value, f field) {
	all := reflect.MakeMap(v.Type())
	d.keys(n, path, func(key, value *yaml.Node, _ string) {
		at := promptPath(path, key.Value)
		if form := forms[f.tag.Get("names")]; form != nil {
			if what, want := form(key.Value); what != "" {
				d.problem(key.Line, at, what, want)
			}
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, at, element, f)
		all.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
	if all.Len() > 0 {
		v.Set(all)
	}
}

func (d *decoder) json(n *yaml.Node, path string, v reflect.Value) {
	plain, err := d.plainValue(n)
	if err == nil {
		var text json.RawMessage
		text, err = json.Marshal(plain)
		v.Set(reflect.ValueOf(text))
	}
	if err != nil {
		d.problem(n.Line, path, err.Error(), "")
	}
}

// plainValue is n for json.Marshal. References in its texts are replaced.
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

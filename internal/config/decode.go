package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// maxNodes bounds what aliases can blow a file up to.
const maxNodes = 100_000

// decoder puts YAML into a Config. It goes on after a problem, so that all of
// them are found at once.
type decoder struct {
	file, base string
	opts       Options
	problems   Problems
	marks      map[string]mark // by path: where each value stands
	nodes      int
	// absent are the secrets that are not there and need not be.
	absent Problems
	// off: what is being read belongs to a channel that is turned off.
	off bool
	// fatal: the file could not be read as one YAML document, so there is
	// nothing to validate.
	fatal bool
	// literalSecret: the file itself holds a secret, not a reference to one.
	literalSecret bool
}

// mark remembers where a value was written.
type mark struct {
	line int
	// expanded: the value came from a variable or a file, so no message may
	// show it.
	expanded bool
}

func (d *decoder) problem(line int, path, what, want string) {
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Path: path, What: what, Want: want})
}

func (d *decoder) config(n *yaml.Node, c *Config) {
	d.value(n, "", reflect.ValueOf(c).Elem(), field{})
	if d.nodes > maxNodes {
		d.problems = Problems{{File: d.file, What: "its aliases (*name) make it too large", Want: "write the values out"}}
		d.fatal = true
	}
}

var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[Duration]()
	sizeType     = reflect.TypeFor[Size]()
	threshType   = reflect.TypeFor[Threshold]()
	channelsType = reflect.TypeFor[map[string]Channel]()
)

// value decodes n into v, which stands at path and is described by f.
func (d *decoder) value(n *yaml.Node, path string, v reflect.Value, f field) {
	if d.nodes++; d.nodes > maxNodes {
		return
	}
	line := n.Line
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if _, seen := d.marks[path]; !seen {
		d.marks[path] = mark{line: line}
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.problem(line, path, "YAML tags (!name) are not supported here", "remove the tag")
		return
	}
	null := n.Kind == yaml.ScalarNode && n.Tag == "!!null"
	switch t := v.Type(); {
	case t == channelsType:
		if !null {
			d.channels(n, path, v)
		}
	case t == promptsType:
		if !null {
			d.prompts(n, path, v)
		}
	case t == headersType || t == bodyType:
		switch {
		case null:
		case t == headersType:
			d.headers(n, path, v)
		default:
			d.body(n, path, v)
		}
	case t.Kind() == reflect.Struct && t != secretType:
		if f.scalar && n.Kind == yaml.ScalarNode && !null {
			d.scalarStruct(n, path, v)
		} else if !null || f.scalar {
			d.mapping(n, path, v)
		}
	case t.Kind() == reflect.Slice:
		d.sequence(n, path, v)
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		before := len(d.problems)
		if d.value(n, path, fresh.Elem(), f); len(d.problems) == before {
			v.Set(fresh)
		}
	default:
		d.scalar(n, line, path, v, f)
	}
}

// mapping decodes the keys of a struct.
func (d *decoder) mapping(n *yaml.Node, path string, v reflect.Value) {
	fields := fieldsOf(v)
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		for _, f := range fields {
			if f.name == key.Value {
				d.value(value, at, f.value, f)
				return
			}
		}
		d.unknown(key, path, fields)
	})
}

// keys calls each for every key of a mapping, once.
func (d *decoder) keys(n *yaml.Node, path string, each func(key, value *yaml.Node, at string)) {
	if n.Kind != yaml.MappingNode {
		d.problem(n.Line, path, "expected keys here, like key: value", "")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch first, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.problem(key.Line, path, "a key must be one word", "")
		case key.Tag == "!!merge":
			d.problem(key.Line, path, "merge keys (<<) are not supported here", "write the keys out")
		case twice:
			d.problem(key.Line, join(path, showKey(key.Value)), fmt.Sprintf("this key appears twice, first in line %d", first), "keep one")
		default:
			seen[key.Value] = key.Line
			each(key, value, join(path, showKey(key.Value)))
		}
		if d.nodes++; d.nodes > maxNodes {
			return
		}
	}
}

func (d *decoder) sequence(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		what, want := "expected a list, like [a, b]", "put it in brackets"
		if n.Tag == "!!null" {
			what, want = "has no value", "write [] for an empty list, or remove the line"
		}
		d.problem(n.Line, path, what, want)
		return
	}
	list := reflect.MakeSlice(v.Type(), 0, min(len(n.Content), 1024))
	for i, item := range n.Content {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, fmt.Sprintf("%s[%d]", path, i), element, field{scalar: scalarForm(element.Type())})
		list = reflect.Append(list, element)
		if d.nodes > maxNodes {
			return
		}
	}
	v.Set(list)
}

// scalarStruct decodes the short form of a struct: its one main field.
func (d *decoder) scalarStruct(n *yaml.Node, path string, v reflect.Value) {
	for _, f := range fieldsOf(v) {
		if f.scalar {
			d.scalar(n, n.Line, path, f.value, f)
			return
		}
	}
}

// scalar decodes one value. Text in messages is shown only if it was written
// literally and is not a secret.
func (d *decoder) scalar(n *yaml.Node, line int, path string, v reflect.Value, f field) {
	kind := kinds[kindOf(v.Type())]
	switch {
	case n.Kind != yaml.ScalarNode:
		d.problem(line, path, "expected "+kind.want, "")
		return
	case n.Tag == "!!null":
		d.problem(line, path, "has no value", "give it one, or remove the line")
		return
	}
	text, used, err := d.textOf(n.Value, f)
	d.marks[path] = mark{line: line, expanded: used}
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		switch {
		case d.off:
			return // nothing will use it
		case d.opts.NoSecrets && v.Type() == secretType:
			d.absent = append(d.absent, Problem{File: d.file, Line: line, Path: path, What: err.Error()})
			return
		}
	}
	if err != nil {
		d.problem(line, path, err.Error(), "")
		return
	}
	if v.Type() == secretType {
		d.secret(line, path, v, f, text, used)
		return
	}
	if err := kind.set(v, text); err != nil {
		noun, _, _ := strings.Cut(kind.want, ",")
		what := "is not " + noun
		if !used && len(text) <= 40 {
			what = strconv.Quote(text) + " " + what
		}
		d.problem(line, path, what, "write "+kind.want)
	}
}

func (d *decoder) secret(line int, path string, v reflect.Value, f field, text string, used bool) {
	switch {
	case text == "" && !f.emptyOK:
		d.problem(line, path, "is empty", "give it a value, or remove the line")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		d.problem(line, path, "has a line break or a control character inside", "keep the secret on one line")
	default:
		d.literalSecret = d.literalSecret || (!used && text != "")
		v.Set(reflect.ValueOf(NewSecret(text)))
	}
}

// scalarKind is how one kind of value is written and read.
type scalarKind struct {
	want string
	set  func(v reflect.Value, text string) error
}

var kinds = map[string]scalarKind{
	"text":          {"text", parsed(func(s string) (string, error) { return s, nil })},
	"secret":        {"text", nil},
	"true or false": {"true or false", parsed(parseBool)},
	"whole number": {"a whole number, like 10", parsed(func(s string) (int, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int(n), err
	})},
	"number": {"a number, like 0.7", parsed(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })},
	"duration": {"a time span, like 30s, 10m or 24h", parsed(func(s string) (Duration, error) {
		n, err := time.ParseDuration(s)
		return Duration(n), err
	})},
	"whole number or none": {"a whole number, like 10, or none", parsed(parseThreshold)},
	"size":                 {"a size, like 4096 or 256KiB", parsed(parseSize)},
}

// parsed sets a value only if its text could be read, so that no half-read
// value causes a second, misleading problem.
func parsed[T any](parse func(string) (T, error)) func(reflect.Value, string) error {
	return func(v reflect.Value, text string) error {
		value, err := parse(text)
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	}
}

// parseBool knows two words only: that "yes" or "1" count elsewhere is a trap.
func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, strconv.ErrSyntax
	}
	return s == "true", nil
}

// kindOf names the kind of a type, for the decoder and the reference.
func kindOf(t reflect.Type) string {
	switch {
	case t == secretType:
		return "secret"
	case t == durationType:
		return "duration"
	case t == sizeType:
		return "size"
	case t == threshType:
		return "whole number or none"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "whole number"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Map:
		return "names and values"
	}
	return "text"
}

// join adds a key to a path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// showKey is key as it may appear in a message. What does not look like a key
// may be a secret whose line lost its key, so it is not repeated.
func showKey(key string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if key != "" && len(key) <= 40 && strings.Trim(key, letters) == "" {
		return key
	}
	return "(a key with unusual characters)"
}

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/internal/setting"

	"gopkg.in/yaml.v3"
)

// maxNodes bounds how far aliases can blow up a file.
const maxNodes = 100_000

// decoder puts YAML into a Config and checks each value by the tags of its setting.
// It continues after a problem, to find all of them at once.
type decoder struct {
	file, base string
	opts       Options
	problems   Problems
	marks      map[string]mark // by path
	// absent are the missing secrets that Options.NoSecrets allows.
	absent Problems
	// off: the decoder is inside a channel that is turned off.
	off bool
	// forms are those of the type of the channel that the decoder is inside.
	forms map[string]func(text string) (what, want string)
	// fatal: the file is not one YAML document, so there is nothing to validate.
	fatal bool
	// literalSecret: the file itself holds a secret, not a reference to one.
	literalSecret bool
}

// mark is where a value came from. Problems that are found after decoding need it.
type mark struct {
	line int
	// expanded: the value came from a variable or a file, so no message may
	// show it.
	expanded bool
	// file is the file that the whole value came from.
	file string
}

func (d *decoder) problem(line int, path, what, want string) {
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Path: path, What: what, Want: want})
}

var (
	secretType   = reflect.TypeFor[Secret]()
	channelsType = reflect.TypeFor[map[string]Channel]()
	jsonType     = reflect.TypeFor[json.RawMessage]()
)

// settle replaces the aliases below n by their values and returns the number of
// nodes, or maxNodes or more if there are too many. known has the sizes of the
// nodes counted so far; a node inside itself counts as too many.
func settle(n *yaml.Node, known map[*yaml.Node]int) int {
	if size, seen := known[n]; seen {
		return size
	}
	known[n] = maxNodes
	size := 1
	for i, child := range n.Content {
		if line := child.Line; child.Kind == yaml.AliasNode {
			size = min(size+settle(child.Alias, known), maxNodes)
			instead := *child.Alias
			instead.Line = line
			n.Content[i] = &instead
		} else {
			size = min(size+settle(child, known), maxNodes)
		}
	}
	known[n] = size
	return size
}

// value decodes n into v, the setting f at path.
func (d *decoder) value(n *yaml.Node, path string, v reflect.Value, f field) {
	if _, seen := d.marks[path]; !seen {
		d.marks[path] = mark{line: n.Line}
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.problem(n.Line, path, "YAML tags (!name) are not supported here", "remove the tag")
		return
	}
	null := n.Kind == yaml.ScalarNode && n.Tag == "!!null"
	t := v.Type()
	switch main := shortForm(v); {
	case main.name != "" && n.Kind == yaml.ScalarNode && !null:
		d.scalar(n, path, main.value, main)
	case main.name == "" && null && (isSection(t) || t.Kind() == reflect.Map):
	case t == channelsType:
		d.channels(n, path, v)
	case t == jsonType:
		d.json(n, path, v)
	case t == toolsType && n.Kind == yaml.MappingNode:
		d.toolRules(n, path, v, f)
	case t.Kind() == reflect.Map:
		d.table(n, path, v, f)
	case isSection(t):
		d.mapping(n, path, v)
	case t.Kind() == reflect.Slice:
		d.sequence(n, path, v, f)
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		before := len(d.problems)
		d.value(n, path, fresh.Elem(), f)
		if len(d.problems) == before {
			v.Set(fresh)
		}
	default:
		d.scalar(n, path, v, f)
	}
}

// shortForm is the setting in v whose value may be written instead of all of v. Its
// name is empty if there is none.
func shortForm(v reflect.Value) (main field) {
	if isSection(v.Type()) {
		for _, f := range fieldsOf(v) {
			if f.tag.Get("short") == "yes" {
				return f
			}
		}
	}
	return main
}

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

// keys calls each for every key of a mapping. A repeated key is a problem.
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
	}
}

// sequence decodes a list. A repeated entry is a problem: it has no effect, so
// something else was meant.
func (d *decoder) sequence(n *yaml.Node, path string, v reflect.Value, f field) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" && f.tag.Get("single") == "ok" {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}}
	}
	if n.Kind != yaml.SequenceNode {
		what, want := "expected a list, like [a, b]", "put it in brackets"
		if n.Tag == "!!null" {
			what, want = "has no value", "write [] for an empty list, or remove the line"
		}
		d.problem(n.Line, path, what, want)
		return
	}
	list, seen := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)), map[string]bool{}
	for i, item := range n.Content {
		at, element := fmt.Sprintf("%s[%d]", path, i), list.Index(i)
		same := element
		name := at
		instead := "keep one"
		if isSection(element.Type()) {
			setDefaults(element)
			for _, setting := range fieldsOf(element) {
				if setting.tag.Get("once") == "yes" {
					same = setting.value
					name = join(at, setting.name)
					instead = "keep one, or give it another name"
				}
			}
		}
		d.value(item, at, element, f)
		if same.Kind() == reflect.String && f.tag.Get("repeat") != "ok" {
			if seen[same.String()] {
				d.problem(item.Line, name, "appears twice", instead)
			}
			seen[same.String()] = true
		}
	}
	v.Set(list)
}

// scalar decodes one value. Messages show its text only if it was written literally
// and is not a secret.
func (d *decoder) scalar(n *yaml.Node, path string, v reflect.Value, f field) {
	kind, line := kinds[v.Type()], n.Line
	switch {
	case n.Kind != yaml.ScalarNode:
		d.problem(line, path, "expected "+kind.want, "")
		return
	case n.Tag == "!!null":
		d.problem(line, path, "has no value", "give it one, or remove the line")
		return
	}
	text, used, err := d.textOf(n.Value, f)
	d.marks[path] = mark{line: line, expanded: used, file: d.fileOf(n.Value)}
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		switch {
		case d.off:
			return // the channel is turned off
		case d.opts.NoSecrets && v.Type() == secretType:
			d.absent = append(d.absent, Problem{File: d.file, Line: line, Path: path, What: err.Error()})
			v.Set(reflect.ValueOf(setting.AbsentSecret()))
			return
		}
	}
	if err != nil {
		d.problem(line, path, err.Error(), "")
		return
	}
	if v.Type() == secretType {
		d.secret(line, path, v, f, text, n.Value, used)
		return
	}
	if err := kind.set(v, text); err != nil {
		noun, _, _ := strings.Cut(kind.want, ",")
		what := "is not " + noun
		if !used && len(text) <= 40 {
			what = strconv.Quote(text) + " " + what
		}
		d.problem(line, path, what, "write "+kind.want)
		return
	}
	d.check(line, path, v, f, text)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// showKey is key as messages may show it. Text that does not look like a key may be
// a secret on a line that lost its key, so it is not repeated.
func showKey(key string) string {
	if keyForm.Matches(key) {
		return key
	}
	return "(a key with unusual characters)"
}

var keyForm = lazily.Compile(`^[0-9A-Za-z_-]{1,40}$`)

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
		if form := d.form(f.tag.Get("names")); form != nil {
			if what, want := form(key.Value); what != "" {
				d.problem(key.Line, at, what, want)
			}
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if isSection(element.Type()) {
			setDefaults(element)
		}
		d.value(value, at, element, f)
		all.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
	if all.Len() > 0 {
		v.Set(all)
	}
}

// toolsType is the type of a list of tools, which may also be a table.
var toolsType = reflect.TypeFor[ToolList]()

// ruleWords are the settings of the rule of a tool.
var ruleWords = field{name: "rule", tag: `oneof:"allow ask deny"`}

// toolRules decodes a table of tools and their rules.
func (d *decoder) toolRules(n *yaml.Node, path string, v reflect.Value, f field) {
	var list ToolList
	d.keys(n, path, func(key, value *yaml.Node, at string) {
		name := reflect.New(reflect.TypeFor[string]()).Elem()
		rule := reflect.New(reflect.TypeFor[string]()).Elem()
		before := len(d.problems)
		d.value(key, at, name, f)
		d.value(value, at, rule, ruleWords)
		if len(d.problems) == before {
			list = append(list, name.String()+ruleSign+rule.String())
		}
	})
	slices.Sort(list)
	v.Set(reflect.ValueOf(list))
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

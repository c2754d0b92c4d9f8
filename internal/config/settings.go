package config

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/admission"

	"gopkg.in/yaml.v3"
)

// field is one setting. Its tags describe it completely:
//
//	yaml     the key
//	doc      the documentation
//	default  the default; words for a list
//	range    the allowed numbers: "1..10", or "0,64..1000"
//	oneof    the allowed words, or the name of a list in lists
//	is       the required form, a name in forms or one that the channel's type tells
//	names    the required form of the names in a map
//	empty    "ok": may be empty, whatever the tags above say
//	repeat   "ok": the list may have an entry twice
//	once     "yes": unique among the entries of the list around it
//	single   "ok": a list may be written as its only entry alone
//	short    "yes": an entry of a list may be written as this value alone
//	apart    "yes": a secret of a channel that no other setting may repeat
//	verbatim "yes": "$" is a plain character, except that the whole value may be ${file:…}
type field struct {
	name  string
	tag   reflect.StructTag
	value reflect.Value
}

// fieldsOf lists the settings of v in the order of the source, with inlined
// structs taken apart. A channel's include those of its type. An inlined map is a section
// for each of its names.
func fieldsOf(v reflect.Value) (fields []field) {
	for i := range v.NumField() {
		t := v.Type().Field(i)
		name, options, _ := strings.Cut(t.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			inner := v.Field(i)
			for inner.Kind() == reflect.Interface || inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			switch {
			case inner.Kind() == reflect.Map:
				fields = append(fields, sectionsOf(inner)...)
			case inner.IsValid():
				fields = append(fields, fieldsOf(inner)...)
			}
		case name != "" && name != "-":
			fields = append(fields, field{name, t.Tag, v.Field(i)})
		}
	}
	return fields
}

// sectionsOf are the settings in a map, which are pointers to structs, by their names.
func sectionsOf(m reflect.Value) (fields []field) {
	for _, key := range m.MapKeys() {
		fields = append(fields, field{name: key.String(), value: m.MapIndex(key).Elem().Elem()})
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return fields
}

func isSection(t reflect.Type) bool { return t.Kind() == reflect.Struct && t != secretType }

func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v) {
		text, has := f.tag.Lookup("default")
		switch {
		case isSection(f.value.Type()):
			setDefaults(f.value)
		case has && f.value.Kind() == reflect.Slice:
			f.value.Set(reflect.ValueOf(strings.Fields(text)))
		case has:
			if err := kinds[f.value.Type()].set(f.value, text); err != nil {
				panic(fmt.Sprintf("config: the default of %s: %v", f.name, err))
			}
		}
	}
}

// Entry describes one key for documentation.
type Entry struct {
	// Path is like "agent.max_steps", "channels.<telegram>.token" or
	// "heartbeat.jobs[].name".
	Path    string
	Kind    string // "text", "whole number, 1 to 10", "duration", …
	Default string // as in YAML; "" if there is none
	Doc     string
}

// Reference lists all keys, in the order of the example file, with those of channels and
// rules of these types.
func Reference(types []channels.Type, rules []admission.Type) (entries []Entry) {
	var list func(path string, v reflect.Value)
	list = func(path string, v reflect.Value) {
		for _, f := range fieldsOf(v) {
			at, t := join(path, f.name), f.value.Type()
			switch {
			case t == channelsType:
				for _, kind := range types {
					ch := defaultChannel(kind)
					list(at+".<"+kind.Name+">", reflect.ValueOf(&ch).Elem())
				}
			case isSection(t):
				list(at, f.value)
			case (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && isSection(t.Elem()):
				element := reflect.New(t.Elem()).Elem()
				setDefaults(element)
				place := at + "[]"
				if t.Kind() == reflect.Map {
					place = at + ".NAME"
				}
				list(place, element)
			default:
				kind := kindOf(t)
				if numbers := f.tag.Get("range"); numbers != "" {
					kind += ", " + rangeText(numbers)
				}
				doc := strings.Replace(f.tag.Get("doc"), "{types}", oneOf(typeNames(types)), 1)
				entries = append(entries, Entry{Path: at, Kind: kind, Default: plain(f.value), Doc: doc})
			}
		}
	}
	o := Options{Rules: rules, Home: "~", Env: func(string) (string, bool) { return "", false }}
	list("", reflect.ValueOf(defaults(o)).Elem())
	return entries
}

// plain is a default as text, "" for a zero value.
func plain(v reflect.Value) string {
	switch {
	case v.IsZero() && v.Kind() != reflect.Bool:
		return ""
	case v.Kind() == reflect.Slice:
		return strings.ReplaceAll(fmt.Sprintf("%q", v.Interface()), `" "`, `", "`)
	}
	return fmt.Sprint(v.Interface())
}

// Effective is the whole configuration as YAML, with defaults filled in and secrets
// hidden. Unset keys without a default are left out, so the text can be loaded
// again.
func (c *Config) Effective() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Effective configuration. Source: %s\n", c.source)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	var root yaml.Node
	err := root.Encode(c)
	unquoteKeys(&root)
	if err == nil {
		err = enc.Encode(&root)
	}
	if err != nil {
		return "# cannot be shown: " + err.Error() + "\n"
	}
	return b.String()
}

// unquoteKeys removes needless quotes from keys. The encoder quotes "n", for
// example, which old YAML read as "no".
func unquoteKeys(n *yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			child.Style = 0
		}
		unquoteKeys(child)
	}
}

// fill sets each key below path that the file does not have to the preset's value.
func (v *validator) fill(path string, section, preset reflect.Value) {
	from := fieldsOf(preset)
	for i, f := range fieldsOf(section) {
		at := join(path, f.name)
		switch {
		case isSection(f.value.Type()):
			v.fill(at, f.value, from[i].value)
		case !v.written(at):
			f.value.Set(from[i].value)
		}
	}
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "names and values"
	}
	return kinds[t].name
}

func defaults(o Options) *Config {
	c := &Config{
		StateDir: o.stateDir(), Channels: map[string]Channel{}, Limits: Limits{Rules: map[string]admission.Settings{}},
		Summary: Summary{Preset: window.DefaultPreset, Compaction: window.Presets[window.DefaultPreset]}, Prune: presetPrune(window.DefaultPrunePreset),
	}
	for _, kind := range o.Rules {
		c.Limits.Rules[kind.Name] = kind.Settings()
	}
	setDefaults(reflect.ValueOf(c).Elem())
	return c
}

// defaultChannel is a channel of that type with its defaults. Everybody who can
// reach the page or the terminal may talk there; on a network the default is nobody.
func defaultChannel(kind channels.Type) Channel {
	ch := Channel{Type: kind.Name, Settings: kind.Settings()}
	if ch.Local() {
		ch.Allow = []string{"*"}
	}
	setDefaults(reflect.ValueOf(&ch).Elem())
	return ch
}

// addDefaultChannels adds the page and the terminal, unless the file has them. Both
// can be turned off with enabled: false.
func (c *Config) addDefaultChannels(types []channels.Type) {
	for _, kind := range types {
		_, taken := c.Channels[kind.Name]
		if ch := defaultChannel(kind); ch.Local() && !taken && len(c.OfType(kind.Name)) == 0 {
			c.Channels[kind.Name] = ch
		}
	}
}

// typeNames are the names of types, in their order.
func typeNames(types []channels.Type) []string {
	names := make([]string, len(types))
	for i, kind := range types {
		names[i] = kind.Name
	}
	return names
}

// Changed lists the paths of the settings in which two configurations differ,
// sorted. It leaves out those that a pattern of except matches, and everything below
// them; "*" stands for one name. It returns no values, so no secrets.
func Changed(was, is *Config, except ...string) (list []string) {
	skip := func(setting string) bool {
		return slices.ContainsFunc(except, func(pattern string) bool {
			// Settings are matched like paths, where a star ends at a slash.
			ok, _ := path.Match(strings.ReplaceAll(pattern, ".", "/"), strings.ReplaceAll(setting, ".", "/"))
			return ok
		})
	}
	var differ func(a, b reflect.Value, at string)
	differ = func(a, b reflect.Value, at string) {
		switch {
		case skip(at) || reflect.DeepEqual(a.Interface(), b.Interface()):
		case a.Type() == channelsType:
			old, now := a.Interface().(map[string]Channel), b.Interface().(map[string]Channel)
			for _, name := range append(sortedKeys(old), sortedKeys(now)...) {
				was, is := old[name], now[name]
				if was.Type == is.Type {
					differ(reflect.ValueOf(&was).Elem(), reflect.ValueOf(&is).Elem(), join(at, name))
				} else {
					list = append(list, join(at, name)) // another type, or none
				}
			}
		case isSection(a.Type()):
			other := fieldsOf(b)
			for i, f := range fieldsOf(a) {
				differ(f.value, other[i].value, join(at, f.name))
			}
		default:
			list = append(list, at)
		}
	}
	differ(reflect.ValueOf(was).Elem(), reflect.ValueOf(is).Elem(), "")
	slices.Sort(list)
	return slices.Compact(list)
}

package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/internal/event"
)

// Efforts are the values of model.reasoning and of a conversation's setting.
var Efforts = []string{"auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"}

// BuiltinTools are the names of the built-in tools.
var BuiltinTools = []string{
	"forget", "list_dir", "read_attachment", "read_file", "recall", "remember", "search_history", "time", "web_fetch", "write_file",
}

// lists are the lists of words that the tag oneof can name.
var lists = map[string]func() []string{
	"efforts": func() []string { return Efforts },
	"events": func() (all []string) {
		for _, name := range event.Names() {
			all = append(all, string(name))
		}
		return all
	},
	"prune presets":   window.PrunePresetNames,
	"store types":     func() []string { return StoreTypes },
	"summary presets": window.PresetNames,
	"tools":           func() []string { return BuiltinTools },
}

// gone are former values of settings, and what to write instead.
var gone = map[string]string{
	"store.type memory": "write sqlite, and for a store that forgets also a state_dir in a tmpfs, like /dev/shm/dragoman",
}

// words are the allowed values of the setting; none means any.
func (f field) words() []string {
	tag := f.tag.Get("oneof")
	if list := lists[tag]; list != nil {
		return list()
	}
	return strings.Fields(tag)
}

func (d *decoder) check(line int, path string, v reflect.Value, f field, text string) {
	if text == "" && f.tag.Get("empty") == "ok" {
		return
	}
	shown := d.show(path, text)
	if words := f.words(); len(words) > 0 {
		if i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, text) }); i >= 0 {
			v.SetString(words[i])
		} else {
			want := oneOf(words)
			if near := nearest(strings.ToLower(text), words); near != "" && shown != "this" {
				want = fmt.Sprintf("did you mean %q? %s", near, want)
			}
			if instead := gone[path+" "+strings.ToLower(text)]; instead != "" {
				want = instead
			}
			d.problem(line, path, shown+" is not a known value", want)
		}
	}
	if f.tag.Get("is") == "file" {
		d.readable(line, path, v)
	}
	if form := forms[f.tag.Get("is")]; form != nil {
		if what, want := form(text); what != "" {
			if before, _, quotes := strings.Cut(what, " placeholder, "); quotes && d.marks[path].expanded {
				what = before + " placeholder"
			}
			d.problem(line, path, strings.Replace(what, "%s", shown, 1), want)
			return
		}
	}
	if allowed := f.tag.Get("range"); allowed != "" && !within(v, allowed) {
		if shown != "this" {
			shown = text
		}
		d.problem(line, path, shown+" is out of range", "write "+rangeText(allowed))
	}
}

func rangeText(tag string) string {
	return strings.ReplaceAll(strings.ReplaceAll(tag, ",", ", or "), "..", " to ")
}

// within reports whether a number is in one of the ranges of a tag.
func within(v reflect.Value, ranges string) bool {
	number := func(v reflect.Value) float64 {
		if v.CanFloat() {
			return v.Float()
		}
		return float64(v.Int())
	}
	bound := func(text string) float64 {
		b := reflect.New(v.Type()).Elem()
		if err := kinds[v.Type()].set(b, text); err != nil {
			panic(fmt.Sprintf("config: the range %s: %v", ranges, err))
		}
		return number(b)
	}
	for part := range strings.SplitSeq(ranges, ",") {
		low, high, both := strings.Cut(part, "..")
		if !both {
			high = low
		}
		if n := number(v); n >= bound(low) && n <= bound(high) {
			return true
		}
	}
	return false
}

// readable makes the path of a file absolute and checks that the file can be read.
func (d *decoder) readable(line int, path string, v reflect.Value) {
	name := d.opts.absolute(v.String(), d.base)
	v.SetString(name)
	switch info, err := os.Stat(name); {
	case d.off: // the channel is turned off
	case err != nil:
		d.problem(line, path, "the file cannot be read: "+reason(err)+credentialHint(name), "")
	case !info.Mode().IsRegular():
		d.problem(line, path, "is not a regular file", "")
	}
}

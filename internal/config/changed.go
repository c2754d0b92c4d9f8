package config

import (
	"path"
	"reflect"
	"slices"
	"strings"
)

// Changed lists the settings in which two configurations differ, by their paths
// and sorted. What a pattern of except matches, and what is below it, is left
// out; "*" stands for one name. No value is told, so no secret is.
func Changed(was, is *Config, except ...string) []string {
	var list []string
	differ(reflect.ValueOf(*was), reflect.ValueOf(*is), "", func(setting string) bool {
		for _, pattern := range except {
			// Settings are matched like paths, where a star ends at a slash.
			slashed := strings.ReplaceAll(pattern, ".", "/")
			if ok, _ := path.Match(slashed, strings.ReplaceAll(setting, ".", "/")); ok {
				return true
			}
		}
		return false
	}, &list)
	slices.Sort(list)
	return slices.Compact(list)
}

// differ adds the settings below name in which a and b differ.
func differ(a, b reflect.Value, name string, skip func(string) bool, list *[]string) {
	if skip(name) || reflect.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	below := func(key string) string { return strings.TrimPrefix(name+"."+key, ".") }
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() && a.Elem().Kind() == reflect.Struct:
		differ(a.Elem(), b.Elem(), name, skip, list)
	case a.Kind() == reflect.Map:
		for _, key := range append(a.MapKeys(), b.MapKeys()...) {
			old, now := a.MapIndex(key), b.MapIndex(key)
			if old.IsValid() && now.IsValid() {
				differ(old, now, below(key.String()), skip, list)
			} else {
				*list = append(*list, below(key.String()))
			}
		}
	case a.Kind() == reflect.Struct && hasSettings(a.Type()):
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			at := name
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" {
				at = below(key) // else its settings are those of the struct around it
			}
			differ(a.Field(i), b.Field(i), at, skip, list)
		}
	default:
		*list = append(*list, name)
	}
}

// hasSettings reports whether t has settings of its own, as a [Secret] has not.
func hasSettings(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && (f.Tag.Get("yaml") != "" || f.Anonymous) {
			return true
		}
	}
	return false
}

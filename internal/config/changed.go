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
	differ(reflect.ValueOf(was).Elem(), reflect.ValueOf(is).Elem(), "", func(setting string) bool {
		return slices.ContainsFunc(except, func(pattern string) bool {
			// Settings are matched like paths, where a star ends at a slash.
			ok, _ := path.Match(strings.ReplaceAll(pattern, ".", "/"), strings.ReplaceAll(setting, ".", "/"))
			return ok
		})
	}, &list)
	slices.Sort(list)
	return slices.Compact(list)
}

// differ adds the settings at and below a path in which a and b differ.
func differ(a, b reflect.Value, at string, skip func(string) bool, list *[]string) {
	switch t := a.Type(); {
	case skip(at) || reflect.DeepEqual(a.Interface(), b.Interface()):
	case t == channelsType:
		old, now := a.Interface().(map[string]Channel), b.Interface().(map[string]Channel)
		for _, name := range append(sortedKeys(old), sortedKeys(now)...) {
			was, is := old[name], now[name]
			if was.Type == is.Type {
				differ(reflect.ValueOf(&was).Elem(), reflect.ValueOf(&is).Elem(), join(at, name), skip, list)
			} else {
				*list = append(*list, join(at, name)) // another type, or none
			}
		}
	case t.Kind() == reflect.Struct && t != secretType:
		other := fieldsOf(b)
		for i, f := range fieldsOf(a) {
			differ(f.value, other[i].value, join(at, f.name), skip, list)
		}
	default:
		*list = append(*list, at)
	}
}

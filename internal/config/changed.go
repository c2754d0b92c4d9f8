package config

import (
	"path"
	"reflect"
	"slices"
	"strings"
)

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

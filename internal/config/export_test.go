package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"dragoman/channels"
)

// Incomplete lists what the declaration of a type of channels lacks, or has wrong, as its
// author would have to read it. Loading a configuration takes all this for granted.
func Incomplete(kind channels.Type) (flaws []string) {
	wrong := func(format string, args ...any) {
		flaws = append(flaws, "type "+kind.Name+": "+fmt.Sprintf(format, args...))
	}
	if _, err := channels.NewKey(kind.Name, "x"); err != nil || kind.Name == heartbeatName {
		wrong("this is no name that a channel can have")
	}
	one, other := kind.Settings(), kind.Settings()
	if v := reflect.ValueOf(one); v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		wrong("Settings returns no pointer to a struct")
		return flaws
	}
	if one == other && reflect.TypeOf(one).Elem().Size() > 0 {
		wrong("Settings returns the same struct twice")
	}
	identities := one.Identities()
	for _, e := range identities {
		if _, err := regexp.Compile(e.Form); err != nil {
			wrong("a form in Identities: %v", err)
		}
	}
	vouched := func(e channels.Identity) bool { return e.What == "" }
	if _, local := one.(channels.Local); !local && !slices.ContainsFunc(identities, vouched) {
		wrong("Identities has no form without What, so that nobody could be allowed")
	}
	taken := map[string]bool{"type": true}
	for _, f := range fieldsOf(reflect.ValueOf(Access{})) {
		taken[f.name] = true
	}
	for _, f := range fieldsOf(reflect.ValueOf(one).Elem()) {
		if taken[f.name] {
			wrong("the key %s is taken", f.name)
		}
		taken[f.name] = true
	}
	d := &decoder{marks: map[string]mark{}}
	if t, tells := one.(channels.FormTeller); tells {
		d.forms = t.Forms()
	}
	d.incomplete("", reflect.ValueOf(one).Elem(), wrong)
	return flaws
}

// incomplete reports tags of the settings in v that mean nothing, and defaults that they
// do not allow.
func (d *decoder) incomplete(path string, v reflect.Value, wrong func(string, ...any)) {
	for _, f := range fieldsOf(v) {
		at, t := join(path, f.name), f.value.Type()
		if t.Kind() == reflect.Slice && isSection(t.Elem()) {
			t, at = t.Elem(), at+"[]"
		}
		if isSection(t) {
			d.incomplete(at, reflect.New(t).Elem(), wrong)
			continue
		}
		if f.tag.Get("doc") == "" {
			wrong("%s has no doc", at)
		}
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if _, known := kinds[t]; !known {
			wrong("%s: no setting can be a %s", at, t)
			continue
		}
		for _, tag := range []string{"is", "names"} {
			if name := f.tag.Get(tag); name != "" && name != "file" && d.form(name) == nil {
				wrong("%s: there is no form %q", at, name)
			}
		}
		if text, has := f.tag.Lookup("default"); has && f.value.Kind() != reflect.Slice {
			value := reflect.New(t).Elem()
			if err := kinds[t].set(value, text); err != nil {
				wrong("%s: the default is no %s", at, kinds[t].name)
				continue
			}
			before := len(d.problems)
			d.check(0, at, value, f, text)
			if len(d.problems) > before {
				wrong("%s: the default %s", at, d.problems[before].What)
			}
		}
	}
}

package api_test

import (
	"encoding"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/people"
)

// Each verb has a path of its own, a scope, a sentence, and flat arguments that are
// named in the path or sent beside it.
func TestTable(t *testing.T) {
	word := regexp.MustCompile(`\{(\w+)\}`)
	seen := map[string]bool{}
	for _, r := range api.Table() {
		verb := r.Method + " " + r.Path
		if seen[word.ReplaceAllString(verb, "{}")] {
			t.Errorf("%s is in the table twice", verb)
		}
		seen[word.ReplaceAllString(verb, "{}")] = true
		if r.OwnSecret != (r.Scope == "") {
			t.Errorf("%s needs the scope %q, and OwnSecret is %v: want one of the two", verb, r.Scope, r.OwnSecret)
		}
		if !r.OwnSecret && !slices.Contains(people.Scopes(), r.Scope) {
			t.Errorf("%s needs the scope %q, which nobody has", verb, r.Scope)
		}
		if !strings.HasSuffix(r.Doc, ".") || len(r.Doc) < 12 {
			t.Errorf("%s has no sentence: %q", verb, r.Doc)
		}
		names := map[string]bool{}
		for field := range r.Args.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names[name] = true
			if field.Anonymous || name == "" {
				t.Errorf("%s: the argument %s has no name of its own", verb, field.Name)
			}
		}
		for _, found := range word.FindAllStringSubmatch(r.Path, -1) {
			if !names[found[1]] {
				t.Errorf("%s: there is no argument %s", verb, found[1])
			}
		}
	}
}

// jsonName is how fields are called on the wire.
var jsonName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// What goes over the wire is named there and belongs to this package: a field that the
// domain gains or renames is not shown to anybody by accident.
func TestWireTypes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	text := reflect.TypeFor[encoding.TextMarshaler]()
	var check func(verb string, of reflect.Type)
	check = func(verb string, of reflect.Type) {
		if of == nil || seen[of] || of.Implements(text) {
			return
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			check(verb, of.Elem())
		case reflect.Struct:
			if !strings.HasSuffix(of.PkgPath(), "internal/api") {
				t.Errorf("%s sends %s, which is not a wire type", verb, of)
			}
			for field := range of.Fields() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if !field.Anonymous && !jsonName.MatchString(name) {
					t.Errorf("%s: %s.%s is called %q on the wire", verb, of, field.Name, name)
				}
				check(verb, field.Type)
			}
		}
	}
	for _, r := range api.Table() {
		check(r.Method+" "+r.Path, r.Args)
		check(r.Method+" "+r.Path, r.Answer)
	}
}

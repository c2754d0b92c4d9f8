package api_test

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
)

// object is a JSON object of the description.
type object = map[string]any

// schemas makes JSON schemas of wire types. Structs become components with a name.
type schemas struct {
	components object
	words      map[string]string // the comments of the sources, by "Type" and "Type.Field"
}

// newSchemas reads the comments of this package.
func newSchemas(t *testing.T) *schemas {
	t.Helper()
	s := &schemas{components: object{}, words: map[string]string{}}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, file := range files {
		if name := file.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			parsed, err := parser.ParseFile(set, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, s.note)
		}
	}
	return s
}

// note keeps the comments of a declaration of types.
func (s *schemas) note(n ast.Node) bool {
	decl, is := n.(*ast.GenDecl)
	if !is || decl.Tok != token.TYPE {
		return true
	}
	for _, one := range decl.Specs {
		spec := one.(*ast.TypeSpec)
		s.words[spec.Name.Name] = sentence(decl.Doc.Text())
		fields, is := spec.Type.(*ast.StructType)
		if !is {
			continue
		}
		for _, field := range fields.Fields.List {
			for _, name := range field.Names {
				s.words[spec.Name.Name+"."+name.Name] = sentence(field.Doc.Text() + " " + field.Comment.Text())
			}
		}
	}
	return false
}

// reference is a link of a Go comment.
var reference = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// sentence is a comment on one line.
func sentence(comment string) string {
	return reference.ReplaceAllString(strings.Join(strings.Fields(comment), " "), "$1")
}

// component is the name of a struct's schema.
func component(of reflect.Type) string {
	name := of.Name()
	if outer, inner, found := strings.Cut(name, "["); found {
		inner = strings.TrimSuffix(inner, "]")
		name = inner[strings.LastIndexByte(inner, '.')+1:] + outer
	}
	return string(unicode.ToUpper(rune(name[0]))) + name[1:]
}

var (
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
	keyType  = reflect.TypeFor[channels.Key]()
	mayType  = reflect.TypeFor[people.Scope]()
)

// of is the schema of a type, where it is used.
func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == nil || t == rawType:
		return object{}
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t == keyType:
		s.components["Key"] = object{"type": "string", "description": "A conversation, like telegram:123456.", "examples": []any{"web:default"}}
		return object{"$ref": "#/components/schemas/Key"}
	case t == mayType:
		return object{"type": "string", "enum": people.Scopes()}
	case t.Implements(textType):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Pointer:
		return object{"anyOf": []any{s.of(t.Elem()), object{"type": "null"}}}
	case reflect.Struct:
		name := component(t)
		if _, known := s.components[name]; !known {
			s.components[name] = nil // it may be in itself
			s.components[name] = s.structure(t)
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	panic("a wire type of an unknown kind: " + t.String())
}

// structure is the schema of a struct itself.
func (s *schemas) structure(t reflect.Type) object {
	properties := object{}
	required := []string{}
	s.fields(t, true, properties, &required)
	all := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		all["required"] = required
	}
	if words := s.words[strings.SplitN(t.Name(), "[", 2)[0]]; words != "" {
		all["description"] = words
	}
	return all
}

// fields adds the fields of a struct, with those of structs that it embeds. always: the
// struct itself is always there.
func (s *schemas) fields(t reflect.Type, always bool, properties object, required *[]string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				s.fields(inner.Elem(), false, properties, required)
			} else {
				s.fields(inner, always, properties, required)
			}
			continue
		}
		optional := strings.Contains(options, "omit")
		one := field.Type
		if optional && one.Kind() == reflect.Pointer {
			one = one.Elem() // it is left out, and never null
		}
		schema := s.of(one)
		if words := s.words[strings.SplitN(t.Name(), "[", 2)[0]+"."+field.Name]; words != "" {
			schema["description"] = words
		}
		properties[name] = schema
		if always && !optional {
			*required = append(*required, name)
		}
	}
}

// arguments are the fields of a verb's arguments with their schemas.
func (s *schemas) arguments(r api.Route) (properties object, required []string) {
	properties = object{}
	s.fields(r.Args, true, properties, &required)
	return properties, required
}

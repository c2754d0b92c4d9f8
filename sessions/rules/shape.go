package rules

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Shape is which names the objects have, at every depth, that a type of ours
// becomes in JSON. Every other name is one of others, and so is one of ours in
// other letters. A nil Shape is of what may hold anything: a text, a time,
// metadata.
type Shape struct {
	fields map[string]*Shape // of an object
	elem   *Shape            // of a list, or of an object that has any names
	list   bool
	// ids are the fields by which the elements of a list are told apart; none:
	// by where they stand.
	ids []string
}

// listIDs are those of lists of ours whose elements come and go, by the name of
// the list.
var listIDs = map[string][]string{
	"summaries": {"generation", "covers_seq"}, "generations": {"id"}, "waiting": {"seq"}, "deliveries": {"id"},
}

// ShapeOf is the shape of T. What is called one of any holds anything.
func ShapeOf[T any](any ...string) *Shape {
	s := shapeOf(reflect.TypeFor[T]())
	for _, name := range any {
		s.fields[name] = nil
	}
	return s
}

// ShapeOfList is the shape of a list that is called name in what holds it.
func ShapeOfList[T any](name string) *Shape {
	s := shapeOf(reflect.TypeFor[[]T]())
	s.ids = listIDs[name]
	return s
}

func shapeOf(t reflect.Type) *Shape {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		if elem := shapeOf(t.Elem()); elem != nil {
			return &Shape{elem: elem, list: t.Kind() == reflect.Slice}
		}
	case reflect.Struct:
		s := &Shape{fields: map[string]*Shape{}}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			s.fields[name] = shapeOf(f.Type)
			if of := s.fields[name]; of != nil && of.list {
				of.ids = listIDs[name]
			}
		}
		return s
	}
	return nil
}

// Has reports whether name is one of ours.
func (s *Shape) Has(name string) bool {
	_, ours := s.fields[name]
	return ours
}

// Field is the shape of the field called name.
func (s *Shape) Field(name string) *Shape { return s.fields[name] }

// Fits reports whether raw can be one of ours: an object that has a name of
// ours, or a list of such that have what they are told apart by.
func (s *Shape) Fits(raw []byte) bool {
	fits := string(raw) == "null"
	switch {
	case s == nil || fits:
		return true
	case s.list && raw[0] == '[':
		fits = true
		Elements(raw, func(e []byte) {
			_, told := s.id(e)
			fits = fits && s.elem.Fits(e) && (told || len(s.ids) == 0)
		})
	case s.fields != nil && raw[0] == '{':
		Members(raw, func(name, _ []byte) { fits = fits || s.Has(string(name)) })
	}
	return fits
}

// Strange reports whether raw has fields of others.
func (s *Shape) Strange(raw []byte) (found bool) {
	switch {
	case s == nil:
	case s.list:
		Elements(raw, func(e []byte) { found = found || s.elem.Strange(e) })
	case s.fields == nil:
		Members(raw, func(_, v []byte) { found = found || !s.elem.Fits(v) || s.elem.Strange(v) })
	default:
		Members(raw, func(name, v []byte) {
			if !found {
				of, ours := s.fields[string(name)]
				found = !ours || of.Strange(v)
			}
		})
	}
	return found
}

// Split tells ours in raw from theirs.
func (s *Shape) Split(raw []byte) (own []byte, theirs Places) {
	x := rewriter{theirs: Places{}}
	x.value(s, raw, "")
	return x.b.Bytes(), x.theirs
}

// Put is raw with theirs where they belong, behind ours. Those that have no
// place in it, or whose name is taken there, are left.
func (s *Shape) Put(raw []byte, theirs Places) (with []byte, left Places) {
	x := rewriter{put: theirs, left: maps.Clone(theirs)}
	x.value(s, raw, "")
	return x.b.Bytes(), x.left
}

// rewriter copies JSON without the fields of others, which go to theirs, or
// with those to put.
type rewriter struct {
	b         bytes.Buffer
	theirs    Places
	put, left Places
}

// value copies raw, which stands at a place.
func (x *rewriter) value(s *Shape, raw []byte, at string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case s == nil, len(raw) == 0, raw[0] != '{' && raw[0] != '[', s.list != (raw[0] == '['):
		x.b.Write(raw)
	case s.list:
		x.list(s, raw, at)
	default:
		x.object(s, raw, at)
	}
}

func (x *rewriter) list(s *Shape, raw []byte, at string) {
	x.b.WriteByte('[')
	n, times := 0, map[string]int{}
	Elements(raw, func(e []byte) {
		if n > 0 {
			x.b.WriteByte(',')
		}
		id, told := s.id(e)
		if !told {
			id = strconv.Itoa(n)
		}
		if times[id]++; times[id] > 1 {
			id += "~" + strconv.Itoa(times[id]) // which no name has
		}
		x.value(s.elem, e, inside(at, id))
		n++
	})
	x.b.WriteByte(']')
}

// id is what an element of a list is called, if it has all that tells it.
func (s *Shape) id(element []byte) (id string, told bool) {
	parts := make([]string, len(s.ids))
	Members(element, func(name, v []byte) {
		i := slices.Index(s.ids, string(name))
		if i < 0 {
			return
		}
		parts[i] = string(v)
		var text string
		if json.Unmarshal(v, &text) == nil {
			parts[i] = text
		}
		parts[i] = placeName.Replace(parts[i])
	})
	return strings.Join(parts, "/"), len(parts) > 0 && !slices.Contains(parts, "")
}

func (x *rewriter) object(s *Shape, raw []byte, at string) {
	x.b.WriteByte('{')
	first, taken := true, map[string]bool{}
	begin := func(name string) {
		if !first {
			x.b.WriteByte(',')
		}
		first = false
		label, _ := json.Marshal(name) // no text fails to encode
		x.b.Write(append(label, ':'))
	}
	Members(raw, func(member, v []byte) {
		name := string(member)
		of, ours := s.fields[name]
		if s.fields == nil {
			of, ours = s.elem, s.elem.Fits(v)
		}
		if x.theirs != nil && !ours {
			x.theirs.Add(at, name, v)
			return
		}
		begin(name)
		taken[name] = true
		if ours {
			x.value(of, v, inside(at, placeName.Replace(name)))
		} else {
			x.b.Write(v)
		}
	})
	if fields, here := x.put[at]; here {
		delete(x.left, at)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if v := fields[name]; taken[name] || s.Has(name) || s.fields == nil && s.elem.Fits(v) {
				x.left.Add(at, name, v)
				continue
			}
			begin(name)
			x.b.Write(fields[name])
		}
	}
	x.b.WriteByte('}')
}

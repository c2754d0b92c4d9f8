package rules

import (
	"bytes"
	"strconv"
	"strings"
)

// Twice is the place of the first name that stands twice in an object of ours
// in raw, as "messages/3/id". Readers of JSON keep the last of the two.
func (s *Shape) Twice(raw []byte) (place string, found bool) {
	return s.find(raw, func() func(*Shape, []byte, []byte) bool {
		var few [][]byte // most objects have few names
		var many map[string]bool
		return func(_ *Shape, name, _ []byte) (twice bool) {
			for _, other := range few {
				twice = twice || bytes.Equal(other, name)
			}
			if twice = twice || many[string(name)]; len(few) < 16 {
				few = append(few, name)
				return twice
			}
			if many == nil {
				many = map[string]bool{}
			}
			many[string(name)] = true
			return twice
		}
	})
}

// Unknown is the place of the first name in raw that is not ours, if
// [Shape.Strange] says that there is one, and the name of ours that it is in
// other letters, "" if it is none.
func (s *Shape) Unknown(raw []byte) (place, ours string, found bool) {
	place, found = s.find(raw, func() func(*Shape, []byte, []byte) bool {
		return func(of *Shape, name, v []byte) bool {
			if of.fields == nil {
				return !of.elem.Fits(v)
			}
			if of.Has(string(name)) {
				return false
			}
			for known := range of.fields {
				if strings.EqualFold(known, string(name)) {
					ours = known
				}
			}
			return true
		}
	})
	return place, ours, found
}

// find is the place of the first name in objects of ours that is odd; what asks
// so is made anew for each object.
func (s *Shape) find(raw []byte, object func() (odd func(of *Shape, name, value []byte) bool)) (place string, found bool) {
	look := func(of *Shape, name string, v []byte) {
		var at string
		if at, found = of.find(v, object); found {
			place = inside(name, at)
		}
	}
	switch {
	case s == nil:
	case s.list:
		n := 0
		Elements(raw, func(e []byte) {
			if !found {
				look(s.elem, strconv.Itoa(n), e)
			}
			n++
		})
	default:
		odd := object()
		Members(raw, func(member, v []byte) {
			if found {
				return
			}
			if odd(s, member, v) {
				place, found = placeName.Replace(string(member)), true
				return
			}
			of := s.elem
			if s.fields != nil {
				of = s.fields[string(member)]
			}
			if of != nil {
				look(of, placeName.Replace(string(member)), v)
			}
		})
	}
	return place, found
}

package postgres

import (
	"slices"
	"testing"
)

// A message of which a part is missing is none, whichever part it is.
func TestAssemble(t *testing.T) {
	part := func(id string, more int, text string) note {
		return note{Kind: isCall, From: "other", ID: id, More: more, Rest: text != "a", Data: []byte(text)}
	}
	for name, c := range map[string]struct {
		parts []note
		want  []string
	}{
		"whole":                 {[]note{part("1", 2, "a"), part("1", 1, "b"), part("1", 0, "c")}, []string{"abc"}},
		"one after another":     {[]note{part("1", 1, "a"), part("1", 0, "b"), part("2", 0, "a")}, []string{"ab", "a"}},
		"without its beginning": {[]note{part("1", 1, "b"), part("1", 0, "c")}, nil},
		"without its middle":    {[]note{part("1", 2, "a"), part("1", 0, "c")}, nil},
		"another in between":    {[]note{part("1", 1, "a"), part("2", 0, "a"), part("1", 0, "b")}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{}
			var got []string
			for _, n := range c.parts {
				if w.assemble(&n) {
					got = append(got, string(n.Data))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("assembled %q, want %q", got, c.want)
			}
		})
	}
}

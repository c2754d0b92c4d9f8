package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions/rules"
)

type inner struct {
	ID   string `json:"id"`
	N    int    `json:"n,omitempty"`
	Deep *struct {
		At time.Time `json:"at"`
	} `json:"deep"`
	Hidden int `json:"-"`
}

type outer struct {
	inner
	Any       map[string]json.RawMessage `json:"any"`
	Rows      []inner                    `json:"rows"`
	Summaries []struct {
		Generation string `json:"generation"`
		Covers     int    `json:"covers_seq"`
	} `json:"summaries"`
	Turns map[string][]inner `json:"turns"`
}

var shape = rules.ShapeOf[outer]()

// What is ours is told from what is theirs at every depth, and a place names
// where each stood.
func TestSplit(t *testing.T) {
	for _, tt := range []struct{ raw, own, theirs string }{
		{`{"id":"a","any":{"x":{"y":1}}}`, `{"id":"a","any":{"x":{"y":1}}}`, `{}`},
		{`{"ID":"a","-":1,"n":2,"deep":{"at":null,"x":0}}`, `{"n":2,"deep":{"at":null}}`, `{"":{"-":1,"ID":"a"},"deep":{"x":0}}`},
		{`{"rows":[{"n":1},7,{"x":null,"deep":{"y":2}}]}`, `{"rows":[{"n":1},7,{"deep":{}}]}`, `{"rows/2":{"x":null},"rows/2/deep":{"y":2}}`},
		{
			`{"summaries":[{"covers_seq":3,"generation":"a/~","x":1},{"generation":"a/~","covers_seq":3,"x":2},{"x":3}]}`,
			`{"summaries":[{"covers_seq":3,"generation":"a/~"},{"generation":"a/~","covers_seq":3},{}]}`,
			`{"summaries/2":{"x":3},"summaries/a~1~0/3":{"x":1},"summaries/a~1~0/3~2":{"x":2}}`,
		},
		{
			`{"turns":{"a":[],"b/c":[{"n":1,"x":2}],"d":5,"e":[{"x":1}],"f":null,"g":{}}}`, `{"turns":{"a":[],"b/c":[{"n":1}],"f":null}}`,
			`{"turns":{"d":5,"e":[{"x":1}],"g":{}},"turns/b~1c/0":{"x":2}}`,
		},
		{`[{"x":1}]`, `[{"x":1}]`, `{}`},
	} {
		own, theirs := shape.Split([]byte(tt.raw))
		text, err := json.Marshal(theirs)
		if err != nil || string(own) != tt.own || string(text) != tt.theirs {
			t.Errorf("Split(%s) = %s, %s, want %s, %s", tt.raw, own, text, tt.own, tt.theirs)
		}
	}
}

// A field takes no name that is there, and what has no place is left.
func TestPut(t *testing.T) {
	theirs := rules.Places{
		"": {"id": raw("1"), "x": raw("2")}, "rows/1": {"y": raw("3")}, "rows/0": {"there": raw("4"), "z": raw("5")}, "turns": {"t": raw("[]"), "u": raw("6")},
	}
	with, left := shape.Put([]byte(`{"rows":[{"there":0}],"turns":{"t":[]}}`), theirs)
	if want := `{"rows":[{"there":0,"z":5}],"turns":{"t":[],"u":6},"x":2}`; string(with) != want {
		t.Errorf("Put = %s, want %s", with, want)
	}
	want := rules.Places{"": {"id": raw("1")}, "rows/1": {"y": raw("3")}, "rows/0": {"there": raw("4")}, "turns": {"t": raw("[]")}}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// FuzzShape splits and puts together again: nothing is lost, nothing is twice,
// and what is ours alone has nothing of others.
func FuzzShape(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"rows":[{"n":1,"x":[{}]},{"deep":{"at":"","y":2}}],"turns":{"t":[{"id":"","z":0}],"u":7}}`,
		`{"summaries":[{"generation":"g","covers_seq":1,"x":1},{"generation":"g","covers_seq":1,"x":2}],"any":{"zz":1}}`, `{"rows":{"x":1},"x":1,"x":2}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || !utf8.Valid(data) {
			t.Skip()
		}
		own, theirs := shape.Split(data)
		if strange := shape.Strange(data); strange != (len(theirs) > 0) || shape.Strange(own) || !json.Valid(own) {
			t.Fatalf("Split(%s) = %s, %v, and strange is %v", data, own, theirs, strange)
		}
		with, left := shape.Put(own, theirs)
		if _, twice := shape.Twice(data); len(left) > 0 && twice && json.Valid(with) {
			return // a name of ours has two values, and the second is kept beside the document
		}
		if len(left) > 0 || !json.Valid(with) {
			t.Fatalf("Put(%s, %v) = %s, and %v is left", own, theirs, with, left)
		}
		again, same := shape.Split(with)
		if diff := cmp.Diff(theirs, same); diff != "" || !bytes.Equal(again, own) {
			t.Errorf("after Put(%s): %s, want %s (-want +got):\n%s", with, again, own, diff)
		}
	})
}

// Of two fields with one name the one that joins counts; the other is kept
// where no document shows it. Two that say the same are one.
func TestPlacesJoin(t *testing.T) {
	for name, tt := range map[string]struct{ one, two, want string }{
		"apart":      {`{"a":{"x":1}}`, `{"a":{"y":2},"b":{"x":3}}`, `{"a":{"x":1,"y":2},"b":{"x":3}}`},
		"the same":   {`{"a":{"x":1}}`, `{"a":{"x":1}}`, `{"a":{"x":1}}`},
		"both":       {`{"a/b":{"x":1,"z":0}}`, `{"a/b":{"x":2}}`, `{"a/b":{"x":2,"z":0},"imported_places/a/b":{"x":1}}`},
		"at the top": {`{"":{"x":1}}`, `{"":{"x":2}}`, `{"":{"x":2},"imported_places":{"x":1}}`},
		"to none":    {`{}`, `{"a":{"x":2}}`, `{"a":{"x":2}}`},
		"of none":    {`{"a":{"x":1}}`, `{}`, `{"a":{"x":1}}`},
	} {
		var one, two rules.Places
		if err := errors.Join(json.Unmarshal([]byte(tt.one), &one), json.Unmarshal([]byte(tt.two), &two)); err != nil {
			t.Fatal(err)
		}
		one.Join(two)
		text, err := json.Marshal(one)
		if err != nil || string(text) != tt.want {
			t.Errorf("%s: joined they are %s, %v, want %s", name, text, err, tt.want)
		}
		if left, err := json.Marshal(two); err != nil || string(left) != tt.two {
			t.Errorf("%s: what joined became %s, %v", name, left, err)
		}
	}
}

// A name that stands twice is found in every object of ours, however many names
// it has, and in none of others.
func TestTwice(t *testing.T) {
	var many strings.Builder
	for n := range 40 {
		fmt.Fprintf(&many, `"n%d":1,`, n)
	}
	for raw, want := range map[string]string{
		`{"id":"a","n":1}`:                             "",
		`{"id":"a","i\u0064":1}`:                       "id",
		`{"theirs":1,"theirs":1}`:                      "theirs",
		`{"rows":[{},{"n":1},{"n":1,"x":0,"n":1}]}`:    "rows/2/n",
		`{"turns":{"a/b":[{"id":"a","id":"a"}]}}`:      "turns/a~1b/0/id",
		`{"turns":{"a":[],"a":[]}}`:                    "turns/a",
		`{"any":{"x":1,"x":2},"theirs":{"n":1,"n":2}}`: "",
		`{` + many.String() + `"z":1}`:                 "",
		`{` + many.String() + `"n2":1}`:                "n2",
		`{` + many.String() + `"n39":1}`:               "n39",
		`7`:                                            "",
	} {
		if got, found := shape.Twice([]byte(raw)); got != want || found != (want != "") {
			t.Errorf("Twice(%s) = %q, %t, want %q", raw, got, found, want)
		}
	}
}

// What Strange sees Unknown names, with the name of ours that was meant.
func TestUnknown(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{"id":"a","n":1}`:                     {},
		`{"n":1,"ID":7}`:                       {"ID", "id"},
		`{"mood":7,"ID":7}`:                    {"mood", ""},
		`{"rows":[{"n":1},{"deep":{"AT":1}}]}`: {"rows/1/deep/AT", "at"},
		`{"turns":{"a":[],"b/c":[{"N":1}]}}`:   {"turns/b~1c", ""},
		`{"any":{"ID":1}}`:                     {},
	} {
		place, ours, found := shape.Unknown([]byte(raw))
		if place != want[0] || ours != want[1] || found != shape.Strange([]byte(raw)) || found != (place != "") {
			t.Errorf("Unknown(%s) = %q, %q, %t, want %q", raw, place, ours, found, want)
		}
	}
}

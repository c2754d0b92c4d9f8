package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions/rules"
)

type base struct {
	ID string `json:"id"`
}

type derived struct {
	base
	N      int `json:"n,omitempty"`
	Hidden int `json:"-"`
}

// Fields are ours if their names match exactly.
func TestNamesSplit(t *testing.T) {
	names := rules.NamesOf[derived]()
	for raw, want := range map[string]struct {
		ours   string
		theirs map[string]json.RawMessage
	}{
		`{"id":"a","n": 1}`:                      {`{"id":"a","n": 1}`, nil},
		` {"ID":1,"id":"a","-":[2],"n":{"x":3}}`: {`{"id":"a","n":{"x":3}}`, map[string]json.RawMessage{"ID": raw("1"), "-": raw("[2]")}},
		`{"x":null}`:                             {`{}`, map[string]json.RawMessage{"x": raw("null")}},
		`[{"x":1}]`:                              {`[{"x":1}]`, nil},
	} {
		ours, theirs := names.Split([]byte(raw))
		if diff := cmp.Diff(want.theirs, theirs); string(ours) != want.ours || diff != "" {
			t.Errorf("Split(%s) = %s, want %s; theirs (-want +got):\n%s", raw, ours, want.ours, diff)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

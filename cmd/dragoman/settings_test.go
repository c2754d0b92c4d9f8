package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/sessions"
)

// Fields of other programs are named and not shown: they may be as long as a
// document.
func TestMetaText(t *testing.T) {
	many := map[string]string{}
	for i := range 12 {
		many[fmt.Sprintf("f%02d", i)] = strings.Repeat("long ", 5000)
	}
	raw, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sessions.FieldsName, sessions.PlacesName} {
		if got := metaText(name, raw); !strings.HasPrefix(got, "f00 (25002 bytes), f01 (") || !strings.HasSuffix(got, ", and 4 more") || len(got) > 300 {
			t.Errorf("%s: %.400s", name, got)
		}
	}
	for _, value := range []string{`{"a":1}`, `"Ann"`, `3`} {
		if got := metaText("own", json.RawMessage(value)); got != value {
			t.Errorf("own metadata %s is shown as %s", value, got)
		}
	}
	if got := metaText(sessions.FieldsName, json.RawMessage(`"odd"`)); got != `"odd"` {
		t.Errorf("what is no object is shown as %s", got)
	}
}

package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/sessions/rules"
)

// FuzzMembers compares the walk through names with a decoder.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b":[{},"]}"], "\u0063\\":"\\\"", "d":{"e":null} } `, `[1, "2,3", [4], {"5":6}, true]`, `[]`, `7`, `"{"`, `{"a":-1.5e3}`, `[1]`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			t.Skip()
		}
		var object map[string]json.RawMessage
		var names, values []string
		rules.Members(data, func(name, value []byte) { names, values = append(names, string(name)), append(values, string(value)) })
		if json.Unmarshal(data, &object) != nil && len(names) > 0 {
			t.Fatalf("%s has members %q", data, names)
		}
		last := map[string]string{}
		for i, name := range names {
			last[strings.ToValidUTF8(name, "\ufffd")] = values[i]
		}
		for name, v := range object {
			if !strings.Contains(name, "\ufffd") && last[name] != string(v) {
				t.Errorf("%q of %s is %q, want %q", name, data, last[name], v)
			}
		}
		var list []json.RawMessage
		var all []string
		rules.Elements(data, func(value []byte) { all = append(all, string(value)) })
		if err := json.Unmarshal(data, &list); err == nil && len(list) != len(all) || err != nil && len(all) > 0 {
			t.Fatalf("%s has elements %q", data, all)
		}
		for i, v := range list {
			if string(v) != all[i] {
				t.Errorf("element %d of %s is %q", i, data, all[i])
			}
		}
	})
}

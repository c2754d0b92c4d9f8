package forms_test

import (
	"encoding/json"
	"testing"

	"dragoman/agent"
	"dragoman/internal/forms"
)

// Whatever people write, a value fits its field, or they are told why not.
func FuzzValue(f *testing.F) {
	one := 1.0
	f.Add(uint8(0), "12")
	f.Add(uint8(1), "a, 2")
	f.Add(uint8(2), "2026-11-30")
	f.Add(uint8(3), "skip")
	f.Fuzz(func(t *testing.T, kind uint8, words string) {
		field := []agent.Field{
			{Name: "v", Type: "integer", Min: &one},
			{Name: "v", Many: true, Choices: []string{"a", "b"}},
			{Name: "v", Format: "date"},
			{Name: "v", Pattern: "(((", Default: json.RawMessage(`"x"`)},
		}[kind%4]
		value, complaint := forms.ValueOf(field, words)
		n, isNumber := value.(float64)
		if value != nil && complaint == "" && isNumber && n < 1 {
			t.Errorf("%q gives %v", words, value)
		}
		if _, err := json.Marshal(value); err != nil {
			t.Error(err)
		}
	})
}

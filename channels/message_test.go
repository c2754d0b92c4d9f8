package channels_test

import (
	"testing"

	"dragoman/channels"
)

func TestPersonIs(t *testing.T) {
	person := func(name string, ids ...string) channels.Person { return channels.Person{Name: name, IDs: ids} }
	for _, tt := range []struct {
		name string
		a, b channels.Person
		same bool
	}{
		{"one id of two", person("alice", "7", "8"), person("bob", "8"), true},
		{"other ids, one name", person("alice", "7"), person("alice", "8"), false},
		{"only one has an id", person("alice", "7"), person("alice"), false},
		{"names alone", person("alice"), person("alice"), true},
		{"other names", person("alice"), person("bob"), false},
	} {
		if got := tt.a.Is(tt.b); got != tt.same {
			t.Errorf("%s: Is = %t, want %t", tt.name, got, tt.same)
		}
	}
}

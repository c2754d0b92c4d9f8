package app

import "testing"

// TestStoreTypes: a store that has a place can be looked at there, and one that
// has none cannot.
func TestStoreTypes(t *testing.T) {
	for name, s := range storeTypes {
		if place := s.name != ""; s.open == nil || (s.look != nil) != place || (s.newer != nil) != place {
			t.Errorf("%s: open, look and newer are %t, %t and %t, with the name %q", name, s.open != nil, s.look != nil, s.newer != nil, s.name)
		}
	}
}

package storage

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/config"
)

// TestStoreTypes: exactly the stores with files in the state directory have look and
// newer.
func TestStoreTypes(t *testing.T) {
	for name, s := range storeTypes {
		if place := s.name != ""; s.open == nil || (s.look != nil) != place || (s.newer != nil) != place {
			t.Errorf("%s: open, look and newer are %t, %t and %t, with the name %q", name, s.open != nil, s.look != nil, s.newer != nil, s.name)
		}
	}
}

// TestStoreTypesAreNamed: the configuration, this package and the docs name the same
// types of store.
func TestStoreTypesAreNamed(t *testing.T) {
	var files []string
	for name, s := range storeTypes {
		if s.name != "" {
			files = append(files, name)
		}
	}
	for what, lists := range map[string][2][]string{
		"storeTypes":                {config.StoreTypes, slices.Collect(maps.Keys(storeTypes))},
		"storeTypes with own files": {config.FileStores, files},
	} {
		if want, got := slices.Sorted(slices.Values(lists[0])), slices.Sorted(slices.Values(lists[1])); !slices.Equal(got, want) {
			t.Errorf("%s are %q, the configuration has %q", what, got, want)
		}
	}
	for page, section := range map[string]string{"config.example.yaml": "\nstore:\n", "docs/configuration.md": "### `store`", "docs/sessions.md": "## Where it is kept"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), section)
		for _, name := range config.StoreTypes {
			if !strings.Contains(after[:min(len(after), 2000)], name) {
				t.Errorf("%s does not mention the store %s after %q", page, name, section)
			}
		}
	}
}

package main

import "testing"

// Of a conversation that was deleted the store knows the name. An erasure
// removes it, and says so; then it is not known any more.
func TestEraseOfAName(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"telegram:7", "telegram:8"} {
		w.heard(key, "7", "hello", true)
		w.want(nil, "sessions", "delete", key, "--yes")
	}
	w.want([]string{
		"Only the name of telegram:7 is left; it will be removed too.",
		"Erased: 0 conversations", "Also removed, because only the name was left: telegram:7.\n",
	}, "sessions", "erase", "telegram:7", "--yes")
	w.want([]string{"\"names\": [\n    \"telegram:8\"\n  ]"}, "sessions", "erase", "telegram:8", "--yes", "--json")
	w.fail(exitUsage, "Dragoman has nothing of telegram:7;", "sessions", "erase", "telegram:7", "--yes")
	w.fail(exitUsage, "Dragoman has nothing of telegram:8;", "sessions", "erase", "telegram:8", "--yes")
}

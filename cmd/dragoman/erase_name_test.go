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
		"Nothing is left of telegram:7 but the name, which is removed, too.",
		"Erased: 0 conversations", "Removed, because nothing else was left of it: the name telegram:7.\n",
	}, "sessions", "erase", "telegram:7", "--yes")
	w.want([]string{"\"names\": [\n    \"telegram:8\"\n  ]"}, "sessions", "erase", "telegram:8", "--yes", "--json")
	w.fail(exitUsage, "nothing is known of telegram:7;", "sessions", "erase", "telegram:7", "--yes")
	w.fail(exitUsage, "nothing is known of telegram:8;", "sessions", "erase", "telegram:8", "--yes")
}

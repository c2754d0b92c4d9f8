package mcptest

import "maps"

// behaviours are all of them, by name. A function, because some list all the others.
func behaviours() map[string]behaviour {
	all := map[string]behaviour{}
	for _, some := range []map[string]behaviour{processes, frames, results, lists, questions, floods, traps} {
		maps.Copy(all, some)
	}
	return all
}

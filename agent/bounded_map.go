package agent

import "sync"

// maxEntries limits a [boundedMap]. At the limit all entries go and are learned again.
const maxEntries = 1024

// boundedMap holds what was learned about each K. It is safe for concurrent use, and
// the zero value is ready.
type boundedMap[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (r *boundedMap[K, V]) get(k K) (v V, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, found = r.m[k]
	return v, found
}

func (r *boundedMap[K, V]) set(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, found := r.m[k]; r.m == nil || !found && len(r.m) >= maxEntries {
		r.m = make(map[K]V)
	}
	r.m[k] = v
}

func (r *boundedMap[K, V]) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.m = nil
}

func (r *boundedMap[K, V]) forget(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, k)
}

package agent

import "sync"

// mostRemembered bounds what a [remembered] holds. When it is reached all of it is
// learned anew, which costs little.
const mostRemembered = 1024

// remembered is what is known of each K until the process ends. It is safe for
// concurrent use, and the zero value is ready.
type remembered[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (r *remembered[K, V]) get(k K) (v V, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, found = r.m[k]
	return v, found
}

func (r *remembered[K, V]) set(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, found := r.m[k]; r.m == nil || !found && len(r.m) >= mostRemembered {
		r.m = make(map[K]V)
	}
	r.m[k] = v
}

func (r *remembered[K, V]) forget(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, k)
}

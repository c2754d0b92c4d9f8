package rowstest

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions/rows"
)

// Twice is b, but it runs each step twice and discards the first result, as if another
// update had come between. An engine over it has to pass storetest.
func Twice(b rows.Backend) rows.Backend { return twice{b} }

// twice is a backend that runs each step two times. See [Twice].
type twice struct{ rows.Backend }

func (b twice) Update(ctx context.Context, keys []channels.Key, f func(rows.Reader) (rows.Changes, error)) error {
	return b.Backend.Update(ctx, keys, func(r rows.Reader) (rows.Changes, error) {
		_, _ = f(r) // the second run meets the same error
		return f(r)
	})
}

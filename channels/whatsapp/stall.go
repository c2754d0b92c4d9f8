package whatsapp

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow/store"
)

// stallTimeout returns a context that ends when limit has passed since the call, and since
// the library last stored a key with that context ([identities]).
//
// A group may have a thousand new members, and on a slow disk it takes longer than limit
// to store their keys. That work ends; a query that WhatsApp never answers does not.
func stallTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	progress := func() { timer.Reset(limit) }
	return context.WithValue(ctx, progressKey{}, progress), func() {
		timer.Stop()
		cancel(nil)
	}
}

type progressKey struct{}

// identities records progress for [stallTimeout] when a key is stored.
type identities struct{ store.IdentityStore }

// PutIdentity stores the key of a device.
func (i identities) PutIdentity(ctx context.Context, address string, key [32]byte) error {
	err := i.IdentityStore.PutIdentity(ctx, address, key)
	if progress, ok := ctx.Value(progressKey{}).(func()); ok && err == nil {
		progress()
	}
	return err
}

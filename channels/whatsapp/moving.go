package whatsapp

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow/store"
)

// whileMoving returns a context that ends when limit has passed since now, and
// since the library last stored a key with it ([identities]).
//
// A group may have a thousand new members, and storing their keys takes longer
// than limit on a slow disk. That ends by itself; a question that WhatsApp does
// not answer does not.
func whileMoving(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	moved := func() { timer.Reset(limit) }
	return context.WithValue(ctx, movedKey{}, moved), func() {
		timer.Stop()
		cancel(nil)
	}
}

type movedKey struct{} // of a func() in the context of whileMoving

// identities says that something moves when a key is stored.
type identities struct{ store.IdentityStore }

// PutIdentity stores the key of a device.
func (i identities) PutIdentity(ctx context.Context, address string, key [32]byte) error {
	err := i.IdentityStore.PutIdentity(ctx, address, key)
	if moved, ok := ctx.Value(movedKey{}).(func()); ok && err == nil {
		moved()
	}
	return err
}

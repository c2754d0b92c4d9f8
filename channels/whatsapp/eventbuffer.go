//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.mau.fi/util/dbutil"
	"go.mau.fi/whatsmeow/store"
)

// eventBuffer is the library's buffer of decrypted messages, but saves one commit per
// message: it removes the plaintext of a stored message later, in the commit that decrypts the next
// one, or in flush. After a crash in between, the plaintext stays in the device file
// until it is too old. The inbox knows the message, so it is not answered twice.
//
// If the device file fails, eventBuffer returns a cancellation. For any other error the library
// would assume that the message cannot be decrypted, and acknowledge it. After a
// cancellation it leaves the message to the next connection.
type eventBuffer struct {
	store.EventBuffer
	db     *dbutil.Database
	failed func(error)

	mu    sync.Mutex
	taken [][32]byte // hashes of stored messages whose plaintext must be removed
}

// ClearBufferedEventPlaintext records that a plaintext can be removed.
func (l *eventBuffer) ClearBufferedEventPlaintext(_ context.Context, hash [32]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = append(l.taken, hash)
	return nil
}

// GetBufferedEvent finds a message. If a stored message still has its plaintext, it goes
// to the intake again, and the inbox recognizes it.
func (l *eventBuffer) GetBufferedEvent(ctx context.Context, hash [32]byte) (*store.BufferedEvent, error) {
	e, err := l.EventBuffer.GetBufferedEvent(ctx, hash)
	if err != nil {
		err = l.cancelled(err)
	}
	return e, err
}

// DoDecryptionTxn runs do and removes the plaintexts of stored messages in one commit.
func (l *eventBuffer) DoDecryptionTxn(ctx context.Context, do func(context.Context) error) error {
	l.mu.Lock()
	taken := slices.Clone(l.taken)
	l.mu.Unlock()
	undecryptable := false
	err := l.EventBuffer.DoDecryptionTxn(ctx, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			// If the device file has failed, its transaction can run no further query.
			_, broken := l.db.Exec(ctx, `SELECT 1`)
			undecryptable = broken == nil
			return err
		}
		for _, hash := range taken {
			if err := l.EventBuffer.ClearBufferedEventPlaintext(ctx, hash); err != nil {
				return err
			}
		}
		return nil
	})
	if undecryptable {
		return err
	}
	if err != nil {
		return l.cancelled(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = slices.DeleteFunc(l.taken, func(hash [32]byte) bool { return slices.Contains(taken, hash) })
	return nil
}

// cancelled wraps a failure of the device file as a cancellation.
func (l *eventBuffer) cancelled(err error) error {
	l.failed(err)
	return fmt.Errorf("%w (%w)", err, context.Canceled)
}

const flushTimeout = 5 * time.Second

func (l *eventBuffer) flush(ctx context.Context) error {
	l.mu.Lock()
	nothing := len(l.taken) == 0
	l.mu.Unlock()
	if nothing {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := l.DoDecryptionTxn(ctx, func(context.Context) error { return nil }); err != nil {
		return fmt.Errorf("whatsapp: remove plaintext from the device file: %w", err)
	}
	return nil
}

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

// late is the library's buffer of decrypted messages with one commit less for
// each: the plaintext of a message that was taken is removed together with the
// decryption of the next one, and now and then where there is no next one. A
// crash in between leaves a plaintext in the device file until it is too old
// to be kept; the message itself is known to the inbox.
//
// And if the store fails, the message is not taken for one that cannot be
// decrypted, which the library would acknowledge: its error is a cancellation,
// after which the library leaves the message to the next connection.
type late struct {
	store.EventBuffer
	db     *dbutil.Database
	failed func(error)

	mu    sync.Mutex
	taken [][32]byte // hashes of messages whose plaintext is to be removed
}

// ClearBufferedEventPlaintext notes that a plaintext can go.
func (l *late) ClearBufferedEventPlaintext(_ context.Context, hash [32]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = append(l.taken, hash)
	return nil
}

// GetBufferedEvent finds a message. One that was taken may have its plaintext
// still: then it is handed in again, and the inbox knows it.
func (l *late) GetBufferedEvent(ctx context.Context, hash [32]byte) (*store.BufferedEvent, error) {
	e, err := l.EventBuffer.GetBufferedEvent(ctx, hash)
	if err != nil {
		return nil, l.cancelled(err)
	}
	return e, nil
}

// DoDecryptionTxn does what is asked, and removes what can go, in one commit.
func (l *late) DoDecryptionTxn(ctx context.Context, do func(context.Context) error) error {
	l.mu.Lock()
	taken := slices.Clone(l.taken)
	l.mu.Unlock()
	undecryptable := false
	err := l.EventBuffer.DoDecryptionTxn(ctx, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			// After an error of the store itself, its transaction can do nothing.
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

// cancelled is what the library gets to see of a failure of the store.
func (l *late) cancelled(err error) error {
	l.failed(err)
	return fmt.Errorf("%w (%w)", err, context.Canceled)
}

// flushLimit bounds one removal of what is left.
const flushLimit = 5 * time.Second

// flush removes what can go.
func (l *late) flush(ctx context.Context) error {
	l.mu.Lock()
	nothing := len(l.taken) == 0
	l.mu.Unlock()
	if nothing {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	if err := l.DoDecryptionTxn(ctx, func(context.Context) error { return nil }); err != nil {
		return fmt.Errorf("whatsapp: remove plaintext from the device file: %w", err)
	}
	return nil
}

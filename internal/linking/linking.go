// Package linking links channels to phones, with one attempt at a time for each
// channel.
//
// The promise: the newest attempt wins, so that a forgotten page blocks nobody; the
// one before ends with an error that says so. An attempt ends with its context. The
// package starts no goroutines; [Links.Close] waits for the callers of its methods.
package linking

import (
	"context"
	"errors"
	"strings"
	"sync"

	"dragoman/channels"
	"dragoman/internal/lazily"
)

// Reasons for which a linking can end that are not the channel's.
var (
	errElsewhere = errors.New("linking continues in another terminal or page")
	errStopping  = errors.New("the daemon is stopping")
)

// Links runs the linkings of some channels.
type Links struct {
	find func(name string) (channels.Linker, error)

	mu      sync.Mutex
	closed  bool
	running map[string]*context.CancelCauseFunc // each ends an attempt
	using   sync.WaitGroup
}

// New makes Links for the channels that find finds. People see the errors of find.
func New(find func(name string) (channels.Linker, error)) *Links {
	return &Links{find: find, running: map[string]*context.CancelCauseFunc{}}
}

// Link links a channel. See [channels.Linker].
func (l *Links) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error) {
	if phone != "" {
		if phone, err = PhoneNumber(phone); err != nil {
			return "", err
		}
	}
	err = l.alone(ctx, name, func(ctx context.Context, ch channels.Linker) error {
		account, err = ch.Link(ctx, phone, show)
		return err
	})
	return account, err
}

// Unlink forgets a channel's account. See [channels.Linker].
func (l *Links) Unlink(ctx context.Context, name string) (told bool, err error) {
	err = l.alone(ctx, name, func(ctx context.Context, ch channels.Linker) error {
		told, err = ch.Unlink(ctx)
		return err
	})
	return told, err
}

// alone calls do, after it has ended another attempt for that channel.
func (l *Links) alone(ctx context.Context, name string, do func(context.Context, channels.Linker) error) error {
	ch, err := l.find(name)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errStopping
	}
	if other := l.running[name]; other != nil {
		(*other)(errElsewhere) // do waits until the other has released the channel
	}
	l.running[name] = &end
	l.using.Add(1)
	l.mu.Unlock()
	defer l.using.Done()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running[name] == &end {
			delete(l.running, name)
		}
	}()
	err = do(ctx, ch)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause // the channel's error only follows from it
	}
	return err
}

// Close ends all linkings, waits for them and refuses new ones.
func (l *Links) Close() {
	l.mu.Lock()
	l.closed = true
	for _, other := range l.running {
		(*other)(errStopping)
	}
	l.mu.Unlock()
	l.using.Wait()
}

var phoneForm = lazily.Compile(`^\+[1-9][0-9]{6,14}$`)

// PhoneNumber reads a phone number as people write it: "+49 170 1234567".
func PhoneNumber(s string) (string, error) {
	phone := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(s)
	if !phoneForm.Regexp().MatchString(phone) {
		return "", errors.New("the number must be complete, with + and the country code, like +491701234567")
	}
	return phone, nil
}

package app

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/console"
)

// Why a linking can end without its channel's doing.
var (
	errElsewhere = errors.New("linking continues in another terminal or page")
	errStopping  = errors.New("the daemon is stopping")
)

// links are the linkings of this daemon's channels: at most one a channel, and
// the newest wins, so that a page that somebody left open stands in nobody's
// way. It starts no goroutines; those that call it are waited for by close.
type links struct {
	channels map[string]channels.Linker
	cfg      *config.Config

	mu      sync.Mutex
	closed  bool
	running map[string]*turnOut
	using   sync.WaitGroup
}

// turnOut ends one linking, for a reason.
type turnOut struct{ end context.CancelCauseFunc }

// Link links a channel. See [channels.Linker].
func (l *links) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error) {
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
func (l *links) Unlink(ctx context.Context, name string) (told bool, err error) {
	err = l.alone(ctx, name, func(ctx context.Context, ch channels.Linker) error {
		told, err = ch.Unlink(ctx)
		return err
	})
	return told, err
}

// alone calls do when it is the only one for that channel.
func (l *links) alone(ctx context.Context, name string, do func(context.Context, channels.Linker) error) error {
	ch, ok := l.channels[name]
	if !ok {
		return errNotLinkable(name, l.cfg)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	me := &turnOut{end}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errStopping
	}
	if other := l.running[name]; other != nil {
		other.end(errElsewhere) // do waits until it has let go of the channel
	}
	if l.running == nil {
		l.running = map[string]*turnOut{}
	}
	l.running[name] = me
	l.using.Add(1)
	l.mu.Unlock()
	defer l.using.Done()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running[name] == me {
			delete(l.running, name)
		}
	}()
	err := do(ctx, ch)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause // what the channel says is only what follows from it
	}
	return err
}

// close ends all linkings and waits for them. There are none from now on.
func (l *links) close() {
	l.mu.Lock()
	l.closed = true
	for _, other := range l.running {
		other.end(errStopping)
	}
	l.mu.Unlock()
	l.using.Wait()
}

// accounts are the channels as the page sees them.
type accounts struct {
	*Daemon
	*links
}

var _ console.Accounts = accounts{}

// Channels lists the channels by name.
func (a accounts) Channels() []console.Channel {
	states, holders := a.gateway.Channels(), a.Daemon.holders()
	list := make([]console.Channel, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		list = append(list, console.Channel{
			Name: name, Type: a.Daemon.cfg.Channels[name].Type, Linkable: a.Daemon.channels.linked[name] != nil, Status: states[name], Node: holders[name],
		})
	}
	return list
}

// tellWithin is how long a line may take to reach who asked.
const tellWithin = 10 * time.Second

// serveLink links a channel and tells how it goes, one JSON object a line. It
// ends when the one who asked goes away.
func (d *Daemon) serveLink(w http.ResponseWriter, r *http.Request) {
	tell := lineWriter(w)
	q := r.URL.Query()
	account, err := d.links.Link(r.Context(), q.Get("channel"), q.Get("phone"), func(i channels.Invitation) { tell(linkLine{Invitation: i}) })
	if err != nil {
		tell(linkLine{Error: err.Error()})
		return
	}
	tell(linkLine{Account: account})
}

func (d *Daemon) serveUnlink(w http.ResponseWriter, r *http.Request) {
	tell := lineWriter(w)
	told, err := d.links.Unlink(r.Context(), r.URL.Query().Get("channel"))
	if err != nil {
		tell(linkLine{Error: err.Error()})
		return
	}
	tell(linkLine{Unlinked: true, Told: told})
}

// lineWriter begins an answer of lines.
func lineWriter(w http.ResponseWriter) func(linkLine) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	_ = out.Flush()
	return func(l linkLine) {
		_ = out.SetWriteDeadline(time.Now().Add(tellWithin))
		// Who does not hear it any more has ended the request's context too.
		_ = json.NewEncoder(w).Encode(l)
		_ = out.Flush()
	}
}

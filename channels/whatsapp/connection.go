//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// connection is one connection to WhatsApp. Each has its own client, so that messages
// that the client of a closed connection still delivers are refused, and cannot mix
// with those of the next connection.
type connection struct {
	c      *Channel
	in     channels.Intake
	file   *deviceFile
	buffer *eventBuffer
	client *whatsmeow.Client
	wire   *wire
	reader func(ctx context.Context) *reader

	ended     chan ending   // capacity 1; the first ending
	loggedIn  chan struct{} // closed after the login
	loginOnce sync.Once     // closes loggedIn
	handing   chan struct{} // capacity 1; its token lets one message at a time go to the intake
	unlinked  atomic.Bool   // the phone has removed this device
	used      atomic.Bool   // a message was stored, or sent and acknowledged
	// undecryptedSaved has capacity 1. It tells watch that a message could not be decrypted.
	undecryptedSaved chan struct{}
	loggedInAt       time.Time // set and read only by watch

	skipped skipped // watches the message that is being sent

	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // ends when the connection is closed; see enter
	cancel context.CancelFunc
	using  sync.WaitGroup

	online   bool // people see us online
	lastSign time.Time
}

func (c *Channel) newConnection(in channels.Intake, file *deviceFile, device *store.Device) *connection {
	w, buffer := c.newWire(), &eventBuffer{EventBuffer: device.EventBuffer, db: file.wrapped}
	device.EventBuffer, device.Identities = buffer, identities{device.Identities}
	k := &connection{
		c: c, in: in, file: file, buffer: buffer, undecryptedSaved: make(chan struct{}, 1), client: c.newClient(device, w), wire: w,
		ended: make(chan ending, 1), loggedIn: make(chan struct{}), handing: make(chan struct{}, 1),
	}
	k.client.Log = logger{c.log, &k.skipped}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	buffer.failed = func(err error) {
		c.log.Warn("the keys of the linked device cannot be used; connecting again", "err", err)
		k.end(dropped("the keys of the linked device cannot be read or written"))
	}
	self, number := identify(device.GetJID(), device.GetLID()), device.GetJID().Device
	k.reader = func(ctx context.Context) *reader {
		return &reader{
			channel: c.name, self: self, device: number, names: c.o.Names, selfChat: !c.o.NoSelfChat,
			command:  c.isCommand,
			sent:     func(chat types.JID, who identity, id string) (string, error) { return k.sentText(ctx, chat, who, id) },
			complete: func(who identity) (identity, error) { return file.complete(ctx, who) },
			nameOf:   func(who identity) string { return k.nameOf(ctx, who) },
			chatOf:   func(who identity) (string, error) { return file.chatOf(ctx, who, k.joiner(ctx)) },
		}
	}
	return k
}

// newClient returns a client of the library whose settings lose no message and leave
// decisions to us.
func (c *Channel) newClient(device *store.Device, w *wire) *whatsmeow.Client {
	client := whatsmeow.NewClient(device, logger{log: c.log})
	client.EnableDecryptedEventBuffer = true // A decrypted message survives a crash,
	client.SynchronousAck = true             // and is acknowledged after the handler has returned.
	client.UseRetryMessageStore = true       // Sent messages survive too, for phones that ask again.
	client.EnableAutoReconnect = false       // Run reconnects, with bounded pauses.
	client.DisableLoginAutoReconnect = true
	client.AutomaticMessageRerequestFromPhone = true
	client.ManualHistorySyncDownload = true // We do not want the phone's old messages.
	client.SetForceActiveDeliveryReceipts(true)
	title, version := c.o.Title, *c.version.Load()
	client.GetClientPayload = func() *waWa6.ClientPayload { return payload(device, title, version) }
	client.SetWebsocketHTTPClient(w.Client)
	client.SetPreLoginHTTPClient(w.Client)
	client.SetMediaHTTPClient(w.Client)
	return client
}

// serve connects. It returns when the connection has ended and nothing uses it.
func (k *connection) serve(ctx context.Context, tries *channels.Backoff) ending {
	// When ctx ends, the library must be able to finish its work, unless it is still
	// dialling.
	library, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	k.client.BackgroundEventCtx = library
	k.client.AddEventHandlerWithSuccessStatus(func(evt any) bool { return k.handle(ctx, evt) })
	defer func() {
		k.c.live.CompareAndSwap(k, nil)
		// A message that is being sent would wait for the library to reconnect, which is
		// turned off.
		//lint:ignore SA1019 there is no other way to tell it
		k.client.DangerousInternals().ExpectDisconnect()
		k.close()
		k.wire.hangUp(k.client)
		k.flush(context.WithoutCancel(ctx))
	}()
	dialling := context.AfterFunc(ctx, stop)
	if err := k.client.ConnectContext(library); err != nil {
		if ctx.Err() == nil {
			k.c.log.Warn("connecting failed, will try again", "err", err)
		}
		return dropped("WhatsApp cannot be reached")
	}
	if !dialling() {
		return ending{}
	}
	end := k.watch(ctx, tries)
	if ctx.Err() == nil {
		k.c.reportEnd(end) // now, because closing takes a moment
	}
	return end
}

// watch waits until the connection ends, and does the periodic work.
func (k *connection) watch(ctx context.Context, tries *channels.Backoff) ending {
	look := time.NewTicker(k.c.checkEvery)
	defer look.Stop()
	loggedIn, login := k.loggedIn, time.After(k.c.loginTimeout)
	var alive <-chan time.Time           // set at the login
	var pending <-chan time.Time         // set while messages could not be decrypted
	var undecryptedSaved <-chan struct{} // nil until the login
	defer func() {
		if k.used.Load() || !k.loggedInAt.IsZero() && time.Since(k.loggedInAt) >= k.c.steadyAfter {
			tries.Failed = 0
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ending{}
		case end := <-k.ended:
			return end
		case <-loggedIn:
			loggedIn = nil
			login = nil
			undecryptedSaved = k.undecryptedSaved
			k.loggedInAt = time.Now()
			alive = time.After(survivalTime)
			k.c.live.Store(k)
			k.c.report(channels.StateConnected, "", "")
			pending = time.After(0) // for messages of the last connection
		case <-undecryptedSaved:
			pending = time.After(0)
		case <-pending:
			if next := k.handleUndecrypted(ctx); next >= 0 {
				pending = time.After(next)
			}
		case <-alive:
			if err := k.c.crashes.forget(); err != nil {
				k.c.log.Warn("could not delete the crash reports from before this login", "err", err)
			}
		case <-login:
			return dropped("WhatsApp did not answer the login")
		case <-look.C:
			if !k.client.IsConnected() {
				return dropped("the connection to WhatsApp was lost")
			}
			k.goOffline(ctx)
			k.flush(ctx)
		}
	}
}

// flush removes the plaintexts of stored messages from the device file.
func (k *connection) flush(ctx context.Context) {
	if err := k.buffer.flush(ctx); err != nil && ctx.Err() == nil {
		k.c.log.Warn("could not remove stored messages from the device file yet", "err", err)
	}
}

// end ends the connection with e, unless it has ended already.
func (k *connection) end(e ending) {
	select {
	case k.ended <- e:
	default:
	}
}

// enter announces a user of the connection. The returned context ends when the
// connection does, and close waits until leave is called. ok is false if the connection
// is closed.
func (k *connection) enter(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(k.ctx, cancel)
	k.using.Add(1)
	return ctx, func() {
		stop()
		cancel()
		k.using.Done()
	}, true
}

// close cancels all users of the connection and waits until they have left.
func (k *connection) close() {
	k.mu.Lock()
	k.cancel()
	k.mu.Unlock()
	k.using.Wait()
}

// handle handles an event of the library, on the library's goroutines. It returns false
// if the message must not be acknowledged, also after a panic: the library's own
// recovery would acknowledge it.
func (k *connection) handle(ctx context.Context, evt any) (stored bool) {
	defer func() {
		if p := recover(); p != nil {
			k.c.log.Error("panic in the handler of an event", "event", fmt.Sprintf("%T", evt), "err", fmt.Sprintf("panic of type %T", p))
			k.end(dropped("a bug interrupted the handling of a message"))
			stored = false
		}
	}()
	switch e := evt.(type) {
	case *events.Message:
		return k.receive(ctx, e)
	case *events.UndecryptableMessage:
		k.onUndecryptable(ctx, e)
	case *events.GroupInfo:
		k.onGroupInfo(ctx, e)
	case *events.JoinedGroup:
		k.reopen(ctx, e.JID.ToNonAD().String())
	case *events.Connected:
		k.loginOnce.Do(func() { close(k.loggedIn) })
	case *events.KeepAliveTimeout:
		if time.Since(e.LastSuccess) > pingTimeout {
			k.end(dropped("WhatsApp no longer answers"))
		}
	default:
		if end, ends := k.c.endOf(evt); ends {
			if _, out := evt.(*events.LoggedOut); out {
				k.unlinked.Store(true)
			}
			k.end(end)
		}
	}
	return true
}

// pingTimeout is how long pings may stay unanswered. They are sent about twice a minute.
const pingTimeout = 90 * time.Second

// endOf returns the ending for an event that ends the connection.
func (c *Channel) endOf(evt any) (ending, bool) {
	switch e := evt.(type) {
	case *events.Disconnected:
		return dropped("the connection to WhatsApp was lost"), true
	case *events.StreamError:
		return dropped("WhatsApp ended the connection (error " + markup.Clip(markup.Line(e.Code), 20) + ")"), true
	case *events.ManualLoginReconnect:
		return dropped("WhatsApp asks for a new connection"), true
	case *events.LoggedOut:
		if e.OnConnect {
			return c.needsPairing(fmt.Sprintf("WhatsApp refuses this device (%d)", int(e.Reason))), true
		}
		return c.needsPairing("the device was removed on the phone"), true
	case *events.StreamReplaced:
		return needsPerson(reasonReplaced, "replaced: another program uses this same linked device (perhaps a copy of its file); stop that program, then restart"), true
	case *events.TemporaryBan:
		return banned(e), true
	case *events.ClientOutdated:
		return c.outdated(), true
	case *events.ConnectFailure:
		return ending{
			state: channels.StateDown, reason: reasonRefused, after: 5 * time.Minute,
			detail: fmt.Sprintf("WhatsApp refuses the connection (%d); trying again in 5 minutes", int(e.Reason)),
		}, true
	}
	return ending{}, false
}

// banned is the ending of a ban. If WhatsApp does not say when it ends, we try every
// hour; trying more often would not shorten it.
func banned(e *events.TemporaryBan) ending {
	wait := e.Expire
	until := "until " + time.Now().Add(e.Expire).UTC().Format("2006-01-02 15:04 UTC")
	if e.Expire <= 0 {
		wait, until = time.Hour, "for an unknown time"
	}
	return ending{
		state: channels.StateDown, reason: reasonBanned, after: wait,
		detail: fmt.Sprintf("banned %s by WhatsApp (reason %d); it will connect again after that; write to fewer people who do not know you", until, int(e.Code)),
	}
}

// outdated is the ending of a connection whose version WhatsApp refuses. Only with
// web_version: auto can waiting help.
func (c *Channel) outdated() ending {
	v := *c.version.Load()
	if v.IsZero() {
		v = store.GetWAVersion()
	}
	if c.o.WebVersion == VersionAuto {
		c.version.Store(&store.WAVersionContainer{}) // The next fetchVersion asks again.
		return ending{
			state: channels.StateDown, reason: reasonOutdated, after: outdatedPause,
			detail: fmt.Sprintf("outdated: WhatsApp refuses version %s; asking for a newer one in an hour; if that does not help, update dragoman", v),
		}
	}
	return needsPerson(reasonOutdated, fmt.Sprintf("outdated: WhatsApp refuses version %s; write web_version: auto, or update dragoman, and restart", v))
}

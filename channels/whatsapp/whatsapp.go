//go:build !nowhatsapp

// Package whatsapp connects Dragoman to WhatsApp as a linked device, through
// go.mau.fi/whatsmeow.
//
// # Promise
//
// Inbound: a message is acknowledged to WhatsApp only after the intake has stored it.
// A key decrypts only once, so the device file keeps the plaintext until then, and
// a message that was decrypted but not stored comes again from there. Messages go to
// the intake one by one, in WhatsApp's order. A message that the intake refuses blocks
// those after it. If that lasts too long, we connect again, and WhatsApp repeats all
// unacknowledged messages.
//
// A message that cannot be decrypted is quarantined and requested again. When it
// arrives, it is resolved ([channels.Resolver]). If it does not arrive in time, a
// message that says so goes to its conversation.
//
// Outbound: [Channel.Send] returns nil only after WhatsApp's server has the message.
// The id on WhatsApp is derived from Outbound.ID, so phones show the message once
// however often it is sent ([channels.Deduper]). The device file keeps sent messages
// for a while, because phones that could not decrypt one ask for it again.
//
// # Identity
//
// A person has a phone number and a LID, an id that does not show the number. Both are
// ids of the sender ("+123…", "456…@lid"), and both lead to the same conversation. Its
// key has the phone number. A conversation that began before the number was known is
// joined with it later ([channels.Joiner]). See [identity].
//
// # Failures
//
// While no device is linked, or after the phone has unlinked it, Run waits for
// [Channel.Link]. It waits until a ban is over. A version that WhatsApp refuses, and
// a second program that uses the same device, need a person; Status says what to do.
// Run retries all other errors with growing, jittered waits, and returns only when its
// context ends (but see Options.Shared).
//
// # Files
//
// A message contains what is needed to download and decrypt its file. [Channel.Fetch]
// does that, also after a restart, as long as WhatsApp keeps the file.
//
// # Goroutines
//
// Run waits for all handlers that the library called, and for every Send that uses its
// connection. The library's goroutines end with the connection, a moment later. No
// text, key or pairing code appears in any log line or error.
package whatsapp

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// Options configure a [Channel]. Only Device is required.
type Options struct {
	// Device is the SQLite file with the keys of the linked device. It is created if
	// it is missing. No other program may use it, and an old copy of it must never be
	// restored: see docs/whatsapp.md.
	Device string
	// Database, if set, opens a PostgreSQL database that has the device instead. The
	// crash reports are still next to Device. With own, the caller becomes the only
	// writer, until another node does: then the database's errors are [ErrTaken].
	// Without own, the caller may read and erase.
	Database func(ctx context.Context, own bool) (*sql.DB, error)
	// Names are the assistant's names in groups. A message that addresses one of them
	// is meant for the assistant; see channels.SpokenTo.
	Names []string
	// Title is the device's name on the phone's list of linked devices; "Dragoman" if
	// empty.
	Title string
	// WebVersion is the version of WhatsApp Web that we claim to be, like
	// "2.3000.1234567890". "auto" asks WhatsApp for the current version; empty uses
	// the library's.
	WebVersion string
	// NoTyping turns off the typing indicator.
	NoTyping bool
	// NoReadMarks turns off read marks. Otherwise a message is marked as read when an
	// answer to it is begun or sent, so strangers see no marks.
	NoReadMarks bool
	// NoSelfChat ignores the chat in which the owner of the number writes to
	// themselves. Everything that the owner writes elsewhere is always ignored.
	NoSelfChat bool
	// Patience is how long we wait for a new copy of a message that could not be
	// decrypted before its sender is told; 2 minutes if 0.
	Patience time.Duration
	// Proxy chooses the proxy of a request, as in http.Transport; none if nil.
	Proxy func(*http.Request) (*url.URL, error)
	// HTTP, if set, makes all connections, and Proxy is ignored.
	HTTP *http.Client
	// Shared says that several nodes take turns to use this device. A connection that
	// replaces ours then ends Run with channels.ErrElsewhere. Without Shared, Run waits
	// for a person.
	Shared bool
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
}

// ErrTaken is the error of a database whose device another node uses now.
var ErrTaken = errors.New("another node uses the linked device now")

// Channel is one linked device. It is made by [New].
type Channel struct {
	name string
	o    Options
	log  *slog.Logger

	memory   *memory
	crashes  crashes
	albums   albums
	commands atomic.Pointer[[]channels.Command] // see SetCommands
	slot     chan struct{}                      // capacity 1; whoever has put its token in may use the device file
	linked   chan struct{}                      // capacity 1; Link and Unlink tell Run that the device has changed
	sends    sendQueue
	blocked  blockedChats
	live     atomic.Pointer[connection]
	// These are the constants with the same names. Tests shorten them.
	steadyAfter, onlineFor, checkEvery, loginTimeout, handInTimeout, sendTimeout time.Duration

	status channels.StatusTracker

	version atomic.Pointer[store.WAVersionContainer] // to claim; zero for the library's, or before WhatsApp was asked
	// interruption makes Run release the device file for a moment; nil before it is used.
	interruption atomic.Pointer[context.CancelFunc]
}

var (
	_ channels.Channel   = (*Channel)(nil)
	_ channels.Typer     = (*Channel)(nil)
	_ channels.Splitter  = (*Channel)(nil)
	_ channels.Reporter  = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)
	_ channels.Deduper   = (*Channel)(nil)
	_ channels.Fetcher   = (*Channel)(nil)
	_ channels.Eraser    = (*Channel)(nil)
	_ channels.Sharer    = (*Channel)(nil)
	_ channels.Reviver   = (*Channel)(nil)
)

// New returns the channel called name. It starts nothing and opens no file.
func New(name string, o Options) (*Channel, error) {
	if _, err := channels.NewKey(name, "1"); err != nil {
		return nil, fmt.Errorf("whatsapp: %w", err)
	}
	if o.Device == "" {
		return nil, errors.New("whatsapp: a file for the device is needed")
	}
	version, err := ParseVersion(o.WebVersion)
	if err != nil {
		return nil, err
	}
	o.Title = cmp.Or(o.Title, "Dragoman")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Names = slices.DeleteFunc(slices.Clone(o.Names), func(s string) bool { return strings.TrimSpace(s) == "" })
	c := &Channel{
		name: name, o: o, log: o.Logger.With("channel", name),
		crashes: crashes{o.Device + ".crashes"}, memory: newMemory(), sends: sendQueue{missed: map[types.JID]bool{}}, slot: make(chan struct{}, 1), linked: make(chan struct{}, 1),
		steadyAfter: steadyAfter, onlineFor: onlineFor, checkEvery: checkEvery, loginTimeout: loginTimeout, handInTimeout: handInTimeout, sendTimeout: sendTimeout,
	}
	c.version.Store(&version)
	c.status.Report(channels.Status{State: channels.StateDown, Detail: "not started"})
	return c, nil
}

// Name is the instance's name.
func (c *Channel) Name() string { return c.name }

// Deduplicates implements [channels.Deduper]; see [messageID].
func (c *Channel) Deduplicates() {}

// SetCommands sets the words after a "/" that are for us in a group, where there may be
// other bots. WhatsApp has no list of commands to register them in.
func (c *Channel) SetCommands(m channels.Menu) {
	c.commands.Store(&m.Known)
}

func (c *Channel) isCommand(word string) bool {
	all := c.commands.Load()
	return all != nil && slices.ContainsFunc(*all, func(known channels.Command) bool { return strings.EqualFold(known.Name, word) })
}

// Status reports the state of the connection, and what a person should do.
func (c *Channel) Status() channels.Status { return c.status.Status() }

func (c *Channel) report(state channels.State, reason, detail string) {
	c.reportEnd(ending{state: state, reason: reason, detail: detail})
}

func (c *Channel) reportEnd(e ending) {
	if c.status.Report(channels.Status{State: e.state, Reason: e.reason, Detail: e.detail, Unused: e.unused}) {
		c.log.Info("channel state changed", "state", string(e.state), "reason", e.reason, "detail", e.detail)
	}
}

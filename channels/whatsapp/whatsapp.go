// Package whatsapp connects Dragoman to WhatsApp as a linked device, through
// go.mau.fi/whatsmeow.
//
// Promise, inbound: a message is acknowledged to WhatsApp only after the
// intake took it. Decrypting uses up a key, so the plaintext is kept in the
// device file until then; a message that was decrypted and not taken is handed
// in again from there. Messages are handed in one after the other, in
// WhatsApp's order; one that is refused holds the others back. If that lasts
// too long the connection is made anew, and WhatsApp repeats what was not
// acknowledged.
//
// What cannot be decrypted is set aside, asked for again and settled when it
// comes ([channels.Resolver]); if it does not come in time, its conversation is
// told by a message that says so.
//
// Promise, outbound: Send returns nil when WhatsApp's server has the message.
// The message's id on WhatsApp is made from Outbound.ID, so phones show it once
// however often it is sent ([channels.Deduper]). What was sent stays in the
// device file for a while, for phones that could not decrypt it and ask again.
//
// Identity: a person has a phone number and a LID, a number without meaning
// that WhatsApp uses more and more. Both are handed on as ids ("+123…",
// "456…@lid"), and both lead to the same conversation, whose key has the phone
// number once that is known: one that began without is joined to it
// ([channels.Joiner]). See [identity].
//
// Failure cases of Run: a device that is not linked, or was unlinked from the
// phone, waits for [Channel.Link]; a ban is waited for; a refused version and
// a second program with the same device need a person; all of that is said in
// Status. Everything else is tried again with a growing, jittered pause. Run
// itself returns only when its context ends. Failure cases of Send: see
// [Channel.Send].
//
// Files: a message names its file and what it can be fetched with, and
// [Channel.Fetch] gets it, also after a restart, for as long as WhatsApp keeps
// it, which it does not tell.
//
// Goroutines: Run waits for every handler it was called back in and for every
// Send that uses its connection. Those of whatsmeow end with the connection,
// a moment later. No text, key or pairing code is in any log line or error.
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
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/store"
)

// Options of a channel. Only Device must be set.
type Options struct {
	// Device is the SQLite file with the keys of the linked device. It is made
	// when it is missing. Nothing else may use it, and a copy of it may never
	// be put back: see docs/whatsapp.md.
	Device string
	// Database, if set, opens a PostgreSQL database that has the device instead; what
	// crashes leave is still beside Device. Who owns it is the only one who can
	// write there until somebody else does: then errors of the database are
	// [ErrTaken]. Others may look, and erase.
	Database func(ctx context.Context, own bool) (*sql.DB, error)
	// Names are what people call the assistant in groups: a message that
	// begins with one of them and a colon, a comma or an @ is meant for it.
	Names []string
	// Title is how the phone lists the linked device; "Dragoman" if empty.
	Title string
	// WebVersion is the version of WhatsApp Web to claim, "2.3000.1234567890";
	// "auto" asks WhatsApp for the current one; empty is the library's.
	WebVersion string
	// NoTyping shows nobody that an answer is being written.
	NoTyping bool
	// NoReadMarks leaves the ticks of messages grey. With read marks a message
	// is marked when an answer to it is begun or sent, so strangers see none.
	NoReadMarks bool
	// NoSelfChat ignores also what the owner of the number writes to
	// themselves. All else that the owner writes is always ignored.
	NoSelfChat bool
	// Patience is how long a message that could not be decrypted may take to
	// come again before its sender is told; 2 minutes if 0.
	Patience time.Duration
	// Proxy picks the proxy of a request, as in http.Transport; none if nil.
	Proxy func(*http.Request) (*url.URL, error)
	// HTTP is used for every connection if set, and Proxy is not.
	HTTP *http.Client
	// Shared says that several nodes use this device, one at a time. A connection
	// that replaces ours ends Run with channels.ErrElsewhere, where a person has to
	// end it otherwise.
	Shared bool
	// Logger is silent if nil.
	Logger *slog.Logger
}

// ErrTaken: another node uses the device now.
var ErrTaken = errors.New("another node uses the linked device now")

// Channel is one linked device. Make it with [New].
type Channel struct {
	name string
	o    Options
	log  *slog.Logger

	memory   *memory
	crashes  crashes
	albums   albums
	commands []string
	slot     chan struct{} // holds one token: who has it uses the device file
	linked   chan struct{} // Link and Unlink tell Run that the device is another now
	sends    line
	live     atomic.Pointer[connection]
	// saidJoin: it was logged that conversations cannot be joined.
	saidJoin atomic.Bool
	// The constants of these names; tests do not wait that long.
	steadyAfter, onlineFor, lookEvery, loginLimit, handLimit, sendLimit time.Duration

	status channels.StatusTracker

	mu      sync.Mutex
	version store.WAVersionContainer // to claim; zero: the library's, or not asked for yet
	// interruption makes Run let go of the device file for a moment.
	interruption context.CancelFunc
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
	_ channels.Reviver   = (*Channel)(nil)
)

// New makes the channel called name. It opens and connects to nothing.
func New(name string, o Options) (*Channel, error) {
	if _, err := channels.NewKey(name, "1"); err != nil {
		return nil, fmt.Errorf("whatsapp: %w", err)
	}
	if o.Device == "" {
		return nil, errors.New("whatsapp: no file is named for the device")
	}
	version, err := ParseVersion(o.WebVersion)
	if err != nil {
		return nil, err
	}
	o.Title = cmp.Or(o.Title, "Dragoman")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Names = slices.DeleteFunc(slices.Clone(o.Names), func(s string) bool { return strings.TrimSpace(s) == "" })
	c := &Channel{
		name: name, o: o, log: o.Logger.With("channel", name), version: version,
		crashes: crashes{o.Device + ".crashes"}, memory: newMemory(), slot: make(chan struct{}, 1), linked: make(chan struct{}, 1),
		steadyAfter: steadyAfter, onlineFor: onlineFor, lookEvery: lookEvery, loginLimit: loginLimit, handLimit: handLimit, sendLimit: sendLimit,
	}
	c.status.Report(channels.Status{State: channels.StateDown, Detail: "not started"})
	return c, nil
}

// Name is the instance's name.
func (c *Channel) Name() string { return c.name }

// Deduplicates names the ability; see [messageID].
func (c *Channel) Deduplicates() {}

// SetCommands remembers which words after a "/" are meant for us in a group,
// where other bots may listen too. WhatsApp has no list to register them in.
func (c *Channel) SetCommands(commands []channels.Command) {
	c.commands = nil
	for _, command := range commands {
		c.commands = append(c.commands, strings.ToLower(command.Name))
	}
}

func (c *Channel) isCommand(word string) bool {
	return slices.Contains(c.commands, strings.ToLower(word))
}

// Status says how the connection is doing, and what to do about it.
func (c *Channel) Status() channels.Status { return c.status.Status() }

func (c *Channel) report(state channels.State, reason, detail string) {
	c.reportEnd(ending{state: state, reason: reason, detail: detail})
}

func (c *Channel) reportEnd(e ending) {
	if c.status.Report(channels.Status{State: e.state, Reason: e.reason, Detail: e.detail, Unused: e.unused}) {
		c.log.Info("channel state changed", "state", string(e.state), "reason", e.reason, "detail", e.detail)
	}
}

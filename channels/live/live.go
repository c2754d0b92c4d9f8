// Package live is a chat whose readers are attached to our own processes: the
// web page and the terminal. It implements what the two have in common, as a
// [channels.Channel] with an HTTP API beside it.
//
// The promise. A message that the API answered with 200 is on disk. An answer
// counts as delivered once it stands in the store's feed, so [Hub.Send]
// succeeds while nobody looks; whoever attaches later reads it there. What
// viewers are sent while they are attached is a copy of the feed's end, in the
// feed's order, and the sequence number of the last item is all that a viewer
// needs to go on after a broken connection or a restart of the daemon. Items
// may be repeated around a reconnect and carry ids, so that viewers can tell.
//
// Only the signs of an answer being written (previews, notes, thoughts) live in memory
// alone. They are shown to a viewer who attaches in the middle, and are
// forgotten when nothing was heard of them for [signLife].
//
// Where several nodes share a store, each runs a hub of the channel, and a viewer
// may be attached to any of them ([Options.Broadcast]). What is durable each reads
// from the feed; signs are told to the nodes with viewers of that room.
//
// Failures. A viewer that does not read is cut off when its bounded buffer is
// full and comes back by itself; it never delays anyone. If the feed cannot be
// read, the viewers of that room are cut off too and read it when they return.
// Without a running [Hub.Run] posts and new viewers get 503, and Send fails as
// not sent.
//
// The package starts no goroutines: it works in those of the HTTP server and
// of the callers. Run returns after the last post it let in has ended, and
// tells every viewer to go.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
)

const (
	// signLife is how long a preview or a typing sign is believed. Typing is
	// repeated about every 4 seconds while a turn runs.
	signLife = 15 * time.Second
	// previewEvery lets an answer appear about as fast as a screen can show it.
	previewEvery = 50 * time.Millisecond
	// acceptWithin bounds handing a message to the intake.
	acceptWithin = 15 * time.Second
	// feedWithin bounds one reading of the feed.
	feedWithin = 5 * time.Second
)

// Item is one thing that a person saw in a room: what they wrote, or what was
// delivered to them.
type Item struct {
	// Seq orders the items of a room. 0 is an item whose place is not known.
	Seq int64 `json:"seq"`
	// ID is the client's id of a message, or the delivery's id of an answer.
	ID string `json:"id"`
	// From is "person" or "dragoman".
	From string    `json:"from"`
	Name string    `json:"name,omitempty"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// State is the delivery's state, for answers.
	State string `json:"state,omitempty"`
	// Waiting marks a person's message that has no answer yet.
	Waiting bool `json:"waiting,omitempty"`
	// Files are what came with a person's message.
	Files []File `json:"files,omitempty"`
	// Failed marks what says that there is no answer.
	Failed bool `json:"failed,omitempty"`
	// Replaces names the turn whose preview this answer ends.
	Replaces string `json:"replaces,omitempty"`
}

// The values of [Item.From].
const (
	FromPerson   = "person"
	FromDragoman = "dragoman"
)

// Feed returns at most limit items of k with Seq < before (0: the newest),
// oldest first. A message and what answered it must be in it from the moment
// they are committed.
type Feed func(ctx context.Context, k channels.Key, before int64, limit int) ([]Item, error)

// PageRoom is the room of a page that names none. The page itself, and the
// question who may open it, are the console's.
const PageRoom = "default"

// Options configure a [Hub]. Name, Room and Feed must be set.
type Options struct {
	// Name is the channel instance, the first part of the keys.
	Name string
	// Room is the room of requests that name none.
	Room string
	Feed Feed
	// MaxText bounds one message, in bytes. 0: 256 KiB.
	MaxText int
	// Files keeps what is sent with messages. Nil: nothing can be.
	Files Files
	// MaxFile is the size of the largest file, for those who send.
	MaxFile int64
	// Thoughts shows what the model thinks while it works.
	Thoughts bool
	// Broadcast tells the hubs of this channel on other nodes something, which
	// [Hub.ReceiveBroadcast] takes there. Nil: there are none.
	Broadcast func(ctx context.Context, words []byte) error
	// MaxViewers bounds the attached viewers over all rooms. 0: 64.
	MaxViewers int
	// Beat is how often viewers hear that the connection lives. 0: 15 s.
	Beat   time.Duration
	Logger *slog.Logger // nil: discard
}

// Hub is one live channel instance.
type Hub struct {
	opts  Options
	log   *slog.Logger
	serve http.Handler

	mu       sync.Mutex
	intake   channels.Intake // nil while Run does not run
	life     context.Context //nolint:containedctx // Run's
	since    time.Time
	posts    sync.WaitGroup // posts that use intake; Add under mu
	rooms    map[channels.Key]*room
	viewers  int
	commands []channels.Command

	stirred chan struct{} // capacity 1: other nodes are to be told of a sign

	uploads chan struct{} // held while a file comes in; those beyond its capacity wait
}

var (
	_ channels.Channel   = (*Hub)(nil)
	_ channels.Typer     = (*Hub)(nil)
	_ channels.Previewer = (*Hub)(nil)
	_ channels.Thinker   = (*Hub)(nil)
	_ channels.Retractor = (*Hub)(nil)
	_ channels.Reporter  = (*Hub)(nil)
	_ channels.Commander = (*Hub)(nil)
	_ channels.Mirror    = (*Hub)(nil)
)

var (
	errNotRunning = errors.New("live: the channel is not running")
	errNoRoom     = errors.New("live: no such room")
)

// New makes a hub. It refuses options that cannot work.
func New(o Options) (*Hub, error) {
	if o.Feed == nil {
		return nil, errors.New("live: new: Options.Feed is missing")
	}
	if !channels.IsName(o.Room) {
		return nil, fmt.Errorf("live: new: %q is no room name (a-z, 0-9, _ and -, at most 32)", o.Room)
	}
	if _, err := channels.NewKey(o.Name, o.Room); err != nil {
		return nil, fmt.Errorf("live: new: %w", err)
	}
	o.MaxText = cmp.Or(o.MaxText, 256<<10)
	o.MaxViewers = cmp.Or(o.MaxViewers, 64)
	o.Beat = cmp.Or(o.Beat, 15*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	h := &Hub{
		opts: o, log: o.Logger.With("channel", o.Name), since: time.Now(),
		rooms: map[channels.Key]*room{}, life: context.Background(),
		uploads: make(chan struct{}, uploads), stirred: make(chan struct{}, 1),
	}
	h.serve = h.routes()
	return h, nil
}

// Name implements [channels.Channel].
func (h *Hub) Name() string { return h.opts.Name }

// MirrorsStore implements [channels.Mirror].
func (h *Hub) MirrorsStore() {}

// Run lets messages in until ctx ends. Then it refuses new ones, ends the
// context of those that are being stored and waits for them, and sends the
// viewers away.
func (h *Hub) Run(ctx context.Context, in channels.Intake) error {
	h.mu.Lock()
	h.intake, h.life, h.since = in, ctx, time.Now()
	h.mu.Unlock()

	h.tellSigns(ctx)

	h.mu.Lock()
	h.intake, h.since = nil, time.Now()
	h.mu.Unlock()
	h.posts.Wait()
	return nil
}

// Status implements [channels.Reporter].
func (h *Hub) Status() channels.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.intake == nil {
		return channels.Status{State: channels.StateConnecting, Detail: "not started", Since: h.since}
	}
	return channels.Status{State: channels.StateConnected, Since: h.since}
}

// SetCommands implements [channels.Commander]: viewers get the commands when
// they attach and complete them.
func (h *Hub) SetCommands(cmds []channels.Command) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append([]channels.Command(nil), cmds...)
}

// begin lets one post in while Run runs: it gives the intake to hand it to, a
// context that ends with the request or with Run, and what to call at the end.
func (h *Hub) begin(ctx context.Context) (_ context.Context, in channels.Intake, end func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.intake == nil {
		return ctx, nil, nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, acceptWithin)
	stop := context.AfterFunc(h.life, cancel)
	h.posts.Add(1)
	return ctx, h.intake, func() {
		stop()
		cancel()
		h.posts.Done()
	}, true
}

// enter returns the room of k for use until leave. Rooms exist while somebody
// uses them or an answer is being shown in them, so their number is bounded by
// the viewers, the posts and the running turns.
func (h *Hub) enter(k channels.Key) *room {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[k]
	if r == nil {
		h.sweep()
		r = newRoom(k)
		h.rooms[k] = r
	}
	r.users++
	return r
}

func (h *Hub) leave(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.users--
	if r.users == 0 && r.silent(time.Now()) {
		delete(h.rooms, r.key)
	}
}

// sweep forgets rooms in which an answer was begun that nobody watched and
// that never ended. h.mu is held.
func (h *Hub) sweep() {
	now := time.Now()
	for k, r := range h.rooms {
		if r.users == 0 && r.silent(now) {
			delete(h.rooms, k)
		}
	}
}

// feed reads a page of the feed and makes it fit for showing: NUL characters
// and broken UTF-8 have no place in a stream of text. What the feed gave may be
// its own and read by others at the same time, so it is not written to.
func (h *Hub) feed(ctx context.Context, k channels.Key, before int64, limit int) ([]Item, error) {
	items, err := h.opts.Feed(ctx, k, before, limit)
	items = slices.Clone(items)
	for i := range items {
		items[i].Text = clean(items[i].Text)
		items[i].mark()
		items[i].Files = slices.Clone(items[i].Files)
		for n := range items[i].Files {
			items[i].Files[n].Name = clean(items[i].Files[n].Name)
		}
	}
	return items, err
}

func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// key is the key of the room called name, which a person may have typed.
func (h *Hub) key(name string) (channels.Key, error) {
	name = cmp.Or(name, h.opts.Room)
	if !channels.IsName(name) {
		return channels.Key{}, errNoRoom
	}
	return channels.NewKey(h.opts.Name, name)
}

// Package live is a chat whose viewers connect to our own process: the web page and
// the terminal. It implements what the two have in common, as a [channels.Channel]
// with an HTTP API.
//
// The promise. A message that the API answered with 200 is on disk. An answer counts
// as delivered once it is in the store's feed, so [Hub.Send] succeeds without
// viewers; whoever attaches later reads it there. Attached viewers get a copy of the
// feed's end, in the feed's order. The sequence number of the last item is all a
// viewer needs to continue after a broken connection or a restart of the daemon.
// Items may be repeated after a reconnect; viewers recognise them by their ids.
//
// Only the progress of an answer (previews, notes, thoughts) is kept in memory alone.
// A viewer who attaches in the middle gets it. It is forgotten when it was not
// renewed for [previewLife].
//
// Where several nodes share a store, each runs a hub of the channel, and viewers may
// attach to any of them ([Options.Broadcast]). Each hub reads items from the feed;
// progress is sent to the nodes with viewers of that room.
//
// Failures. A viewer that does not read is cut off when its bounded buffer is full,
// and reconnects by itself; it never delays anyone. If the feed cannot be read, the
// viewers of that room are cut off too and read it when they return. While [Hub.Run]
// is not running, posts and new viewers get 503, and Send returns
// [channels.NotSent].
//
// The package starts no goroutines: it runs in those of the HTTP server and of the
// callers. Run returns after the last accepted post has ended, and disconnects every
// viewer.
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
	// previewLife is how long a preview or typing sign is shown unless it is renewed.
	// Typing is repeated about every 4 seconds while a turn runs.
	previewLife = 15 * time.Second
	// previewEvery lets an answer appear about as fast as a screen can show it.
	previewEvery = 50 * time.Millisecond
	// acceptTimeout bounds handing a message to the intake.
	acceptTimeout = 15 * time.Second
	// feedTimeout bounds one reading of the feed.
	feedTimeout = 5 * time.Second
)

// Item is one entry of a room's history: a message from a person, or an answer that
// was delivered to them.
type Item struct {
	// Seq orders the items of a room. 0: its position is unknown.
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
	// Files came with a person's message.
	Files []File `json:"files,omitempty"`
	// Failed marks an apology in place of an answer.
	Failed bool `json:"failed,omitempty"`
	// Asks is the id of the question that it asks: "/allow ID" and "/deny ID" answer it.
	Asks string `json:"asks,omitempty"`
	// Wants marks what asks for words: the person's next message is the answer.
	Wants bool `json:"wants,omitempty"`
	// Replaces names the turn whose preview this answer ends.
	Replaces string `json:"replaces,omitempty"`
}

// The values of [Item.From].
const (
	FromPerson   = "person"
	FromDragoman = "dragoman"
)

// Feed returns at most limit items of k with Seq < before (0: the newest), oldest
// first. It must show messages and answers as soon as they are committed.
type Feed func(ctx context.Context, k channels.Key, before int64, limit int) ([]Item, error)

// PageRoom is the web page's default room.
const PageRoom = "default"

// Visitor is who sends a request.
type Visitor struct {
	// ID is their identity on this channel.
	ID string
	// Chat returns the chat of their room of that name, the second part of its key. Two
	// visitors must not get the same one. Nil: the name itself.
	Chat func(room string) string
}

// Options configure a [Hub]. Name, Room, Feed and Visitor must be set.
type Options struct {
	// Name is the channel instance, the first part of the keys.
	Name string
	// Room is the default room of requests.
	Room string
	Feed Feed
	// Visitor says who sends a request. Whoever serves [Hub.Handler] has let them in.
	Visitor func(*http.Request) Visitor
	// MaxText bounds one message, in bytes. 0: 256 KiB.
	MaxText int
	// Files stores files sent with messages. Nil: none can be sent.
	Files Files
	// MaxFile is the size limit for one file, in bytes.
	MaxFile int64
	// Thoughts shows the model's reasoning while it works.
	Thoughts bool
	// Broadcast sends messages to the hubs of this channel on other nodes, for their
	// [Hub.ReceiveBroadcast]. Nil: there are no other nodes.
	Broadcast func(ctx context.Context, messages []byte) error
	// MaxViewers bounds the attached viewers over all rooms. 0: 64.
	MaxViewers int
	// Beat is how often viewers get a sign that the connection lives. 0: 15 s.
	Beat   time.Duration
	Logger *slog.Logger // nil: discard
}

// Hub is one live channel instance.
type Hub struct {
	opts  Options
	log   *slog.Logger
	serve http.Handler

	mu      sync.Mutex
	intake  channels.Intake // nil while Run does not run
	life    context.Context //nolint:containedctx // Run's
	status  channels.StatusTracker
	posts   sync.WaitGroup // posts that use intake; Add under mu
	rooms   map[channels.Key]*room
	viewers int
	menu    channels.Menu

	previewChanged chan struct{} // capacity 1: wakes broadcastPreviews

	uploads chan struct{} // held during an upload; more uploads than its capacity wait
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

// New makes a hub. It returns an error for options that cannot work.
func New(o Options) (*Hub, error) {
	if o.Feed == nil || o.Visitor == nil {
		return nil, errors.New("live: new: Options.Feed or Options.Visitor is missing")
	}
	if !channels.IsRoom(o.Room) {
		return nil, fmt.Errorf("live: new: %q is no room name (a-z, 0-9, _ and -, at most 64)", o.Room)
	}
	if _, err := channels.NewKey(o.Name, o.Room); err != nil {
		return nil, fmt.Errorf("live: new: %w", err)
	}
	o.MaxText = cmp.Or(o.MaxText, 256<<10)
	o.MaxViewers = cmp.Or(o.MaxViewers, 64)
	o.Beat = cmp.Or(o.Beat, 15*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	h := &Hub{
		opts: o, log: o.Logger.With("channel", o.Name),
		rooms: map[channels.Key]*room{}, life: context.Background(),
		uploads: make(chan struct{}, uploads), previewChanged: make(chan struct{}, 1),
	}
	h.serve = h.routes()
	h.status.Report(notStarted)
	return h, nil
}

// Name implements [channels.Channel].
func (h *Hub) Name() string { return h.opts.Name }

// MirrorsStore implements [channels.Mirror].
func (h *Hub) MirrorsStore() {}

// Run accepts messages until ctx ends. Then it refuses new ones, cancels those being
// stored and waits for them, and disconnects the viewers.
func (h *Hub) Run(ctx context.Context, in channels.Intake) error {
	h.mu.Lock()
	h.intake, h.life = in, ctx
	h.mu.Unlock()
	h.status.Report(channels.Status{State: channels.StateConnected})

	h.broadcastPreviews(ctx)

	h.mu.Lock()
	h.intake = nil
	h.mu.Unlock()
	h.status.Report(notStarted)
	h.posts.Wait()
	return nil
}

// Status implements [channels.Reporter].
func (h *Hub) Status() channels.Status { return h.status.Status() }

var notStarted = channels.Status{State: channels.StateConnecting, Detail: "not started"}

// SetCommands implements [channels.Commander]. Viewers get the commands when they
// attach, for completion.
func (h *Hub) SetCommands(m channels.Menu) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.menu = m
}

// offered are the commands for whoever writes in k. The caller holds h.mu.
func (h *Hub) offered(k channels.Key) []channels.Command {
	list := h.menu.Private
	if !strings.Contains(k.Chat(), "/") { // a room of whoever runs Dragoman
		list = h.menu.Operator
	}
	return append([]channels.Command{}, list...)
}

// beginPost admits one post while Run is running. It returns the intake, a context
// that ends with the request or with Run, and end, which the caller must call.
func (h *Hub) beginPost(ctx context.Context) (_ context.Context, in channels.Intake, end func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.intake == nil {
		return ctx, nil, nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	stop := context.AfterFunc(h.life, cancel)
	h.posts.Add(1)
	return ctx, h.intake, func() {
		stop()
		cancel()
		h.posts.Done()
	}, true
}

// acquire returns the room of k; the caller must release it. A room exists while it
// is in use or shows an answer being written, so the number of rooms is bounded by
// the viewers, the posts and the running turns.
func (h *Hub) acquire(k channels.Key) *room {
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

func (h *Hub) release(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.users--
	if r.users == 0 && r.idle(time.Now()) {
		delete(h.rooms, r.key)
	}
}

// sweep forgets unused rooms whose preview has expired. The caller holds h.mu.
func (h *Hub) sweep() {
	now := time.Now()
	for k, r := range h.rooms {
		if r.users == 0 && r.idle(now) {
			delete(h.rooms, k)
		}
	}
}

// feed reads a page of the feed and removes NUL characters and invalid UTF-8, which a
// text stream cannot carry. It copies the items, because the feed may share them with
// other readers.
func (h *Hub) feed(ctx context.Context, k channels.Key, before int64, limit int) ([]Item, error) {
	items, err := h.opts.Feed(ctx, k, before, limit)
	items = slices.Clone(items)
	for i := range items {
		items[i].Text = clean(items[i].Text)
		items[i].ID = strings.TrimSuffix(items[i].ID, ownMark(k))
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

// key returns the key of the visitor's room called name, which they may have typed.
func (h *Hub) key(v Visitor, name string) (channels.Key, error) {
	name = cmp.Or(name, h.opts.Room)
	if !channels.IsRoom(name) {
		return channels.Key{}, errNoRoom
	}
	if v.Chat != nil {
		name = v.Chat(name)
	}
	return channels.NewKey(h.opts.Name, name)
}

// isRoom reports whether k is a room of this hub, whoever it belongs to: the name of a
// room follows the last "/" of its chat, if there is one.
func (h *Hub) isRoom(k channels.Key) bool {
	return k.Channel() == h.opts.Name && channels.IsRoom(roomName(k))
}

// roomName is what a room's visitors call it.
func roomName(k channels.Key) string {
	return k.Chat()[strings.LastIndexByte(k.Chat(), '/')+1:]
}

// ownMark is what the ids of messages in k have in the store beside those that clients
// choose. The store knows a message by its channel and id, and clients may choose the same
// id in two rooms. It is "" in the page's own room, where ids have always been alone.
func ownMark(k channels.Key) string {
	if k.Chat() == PageRoom {
		return ""
	}
	return "@" + k.Chat()
}

// Package background runs commands that take long beside the conversations that they belong
// to.
//
// The promise: what a command left comes back to its chat exactly once, as a message that the
// next turn answers, whatever crashes. A command that the daemon's end has ended comes back as
// interrupted. At most [MostHere] commands run in a chat and [MostAll] on a node, each for at
// most [MostTime]; whoever may use the chat's tools can list and stop them.
//
// A command in the background is a note of its chat from before it starts until its message is
// stored. The message has an id that follows from the note, so a message that is stored twice
// is one.
//
//	what happens                              then
//	the command ends, fails, takes too long   a message says so, with what it printed
//	it is stopped                             nothing more: whoever stopped it was told
//	a crash before the note                   nothing ran; the turn's journal says what it knows
//	a crash after it                          the message says "interrupted"; nothing runs on
//	the store cannot take the message         it is tried again until the daemon ends, and then
//	                                          comes back as interrupted
//	another node stops it                     the node that runs it sees that in the note
//	its node never comes back                 another one says "interrupted" when its time is over
//	the chat is erased                        its note is gone, and so the command is ended
//
// Goroutines: one for each command, and [Book.Run], which waits for them.
package background

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Limits.
const (
	MostTime = 30 * time.Minute
	MostHere = 2
	MostAll  = 4

	kind      = "command"
	counter   = "last" // the note that has the number of a chat's last command
	grace     = time.Minute
	showEvery = 30 * time.Second
	lookEvery = 5 * time.Second // at the note: was it stopped elsewhere?
)

// Store keeps the notes: an engine.Store.
type Store interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Chats is where commands belong: a gateway.
type Chats interface {
	// CommandEnded stores e as a message of its chat. nil: it is durable. It is safe to repeat.
	CommandEnded(ctx context.Context, e Ended) error
	// ShowCommand shows text in the chat in place of the message called shown, "" for none,
	// and returns the message that shows it, "" if none does. An empty text takes it away.
	ShowCommand(ctx context.Context, k channels.Key, id, shown, text string) string
}

// Options tune a book. The zero value works.
type Options struct {
	Node string // of several that share the store
	Now  func() time.Time
	Log  *slog.Logger
	// ShowEvery is how often progress is shown at most. 0: each 30 seconds.
	ShowEvery time.Duration
}

// Book has the commands that run in the background.
type Book struct {
	store Store
	chats Chats
	o     Options
	end   context.Context // of the commands
	stop  context.CancelFunc

	mu      sync.Mutex
	running map[string]*command // by their ids
	closed  bool
	all     sync.WaitGroup
}

// command is one that runs in this process.
type command struct {
	record
	ctx    context.Context // ends with the command's life
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	tail   []byte
}

// errStopped is why a command ends that somebody stopped.
var errStopped = errors.New("background: somebody stopped it")

// New makes a book.
func New(store Store, chats Chats, o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ShowEvery == 0 {
		o.ShowEvery = showEvery
	}
	b := &Book{store: store, chats: chats, o: o, running: map[string]*command{}}
	b.end, b.stop = context.WithCancel(context.Background())
	return b
}

// runs reports whether a command runs here.
func (b *Book) runs(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[id] != nil
}

// reserve keeps a place for cmd, which done gives back.
func (b *Book) reserve(cmd *command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return Refusal("Dragoman is stopping")
	}
	cmd.ctx, cmd.cancel = context.WithCancelCause(b.end)
	b.running[cmd.ID] = cmd
	b.all.Add(1)
	return nil
}

// done forgets a command that has ended here.
func (b *Book) done(cmd *command) {
	cmd.cancel(nil)
	b.mu.Lock()
	delete(b.running, cmd.ID)
	b.mu.Unlock()
	b.all.Done()
}

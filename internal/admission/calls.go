package admission

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Underway is a call of the model that runs, as it is noted in the store. It has no words of
// anybody.
type Underway struct {
	ID string `json:"id"` // of the call; no other has it
	// Turn is the turn that called, and Within the call of a tool whose task did; "": the turn
	// itself. Steps are the answers of the model that the journal had of it by then.
	Turn   string `json:"turn"`
	Within string `json:"within,omitempty"`
	Steps  int    `json:"steps,omitempty"`
	Call
	// Cost is what the input costs, as far as its price is known.
	Cost float64 `json:"cost,omitempty"`
	// Key, Owner and Job are those of the [Turn].
	Key   channels.Key `json:"key,omitzero"`
	Owner string       `json:"owner,omitempty"`
	Job   string       `json:"job,omitempty"`

	began time.Time
}

// callsKind is the kind of the notes about running calls. The owner is the process that
// makes the calls.
const callsKind = "calls"

const (
	// NotedAfter is how long a call runs before it is noted, and how often a node writes at
	// most. A call that ends before costs no write, so nearly all cost none.
	NotedAfter = 5 * time.Second
	// callsLook is how often a node looks for calls to note.
	callsLook = time.Second
	// believed is how long other nodes believe a note that its node has not written again.
	believed = 3 * NotedAfter
	// callsInNote is how many calls a note has. Each takes at most a kilobyte.
	callsInNote = 50
)

// Noter is the part of a store in which calls are noted.
type Noter interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Calls are the calls of the model that run on this node. Those that run for longer than
// [NotedAfter] are in notes of the store: the other nodes read there what is reserved here,
// and whoever goes on with a turn after a crash learns which of its calls was cut.
//
// Failures:
//
//	the store cannot be written   The log warns, and the node tries again a second later.
//	                              Until then the others do not know of the call, and a crash
//	                              makes it free.
//	the daemon dies               Its notes stay for two days. The turn that goes on finds its
//	                              call there, by the turn's name. For the other nodes they are
//	                              too old after 15 seconds, and reserve nothing.
//	it dies a second time, before The call is in the journal ([sessions.StepCut]), by its ID,
//	the turn has ended            so it is found there and not charged again. One that was cut
//	                              the second time has another ID.
//	it dies after the turn ended  A turn that has ended does not run again, so nobody looks for
//	                              its calls.
//	a call ends, and the daemon   If the journal has its answer, it was not cut. Else it is
//	dies before the note says so  charged, because its answer is lost.
//	a turn is tried again later   Its calls leave the note before anybody can go on with it.
//	clocks differ by more than    What another node runs is reserved for longer, or not at all.
//	ten seconds
//	a backup is restored          Its notes are left out: the turns are another time's.
//
// Goroutines: none but that of Run.
type Calls struct {
	store Noter
	opts  CallsOptions
	node  string // the owner of its notes

	began chan struct{} // capacity 1: Run has something to look after

	mu      sync.Mutex
	running map[string]Underway // by ID
	// noted are the IDs in the notes of the store, and wrote is when these were written.
	noted map[string]bool
	wrote time.Time
	// left are the calls of earlier processes, if no other node changes them.
	left []Underway
	read bool // left is known

	writing sync.Mutex // held while notes are written
}

// CallsOptions are those of Calls.
type CallsOptions struct {
	// Shared says that other nodes use the same store.
	Shared bool
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nobody is told
}

// NewCalls returns calls that are noted in store.
func NewCalls(store Noter, o CallsOptions) *Calls {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Calls{store: store, opts: o, node: "process " + rand.Text(), began: make(chan struct{}, 1), running: map[string]Underway{}, noted: map[string]bool{}}
}

// Begin adds a call that begins now, and returns its ID.
func (c *Calls) Begin(u Underway) (id string) {
	u.ID = rand.Text()[:16]
	u.began = c.opts.Now()
	c.mu.Lock()
	c.running[u.ID] = u
	c.mu.Unlock()
	select {
	case c.began <- struct{}{}:
	default:
	}
	return u.ID
}

// End removes the call with that ID, which has ended; "": there is none.
func (c *Calls) End(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

// In returns the calls of a turn that run on this node, in no order.
func (c *Calls) In(turn string) (all []Underway) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.running {
		if u.Turn == turn {
			all = append(all, u)
		}
	}
	return all
}

// Leave is called before somebody else may go on with a turn, whose calls with these IDs have
// ended: they leave the notes. Those that are not there cost nothing.
func (c *Calls) Leave(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	noted := slices.ContainsFunc(ids, func(id string) bool { return c.noted[id] })
	c.mu.Unlock()
	if !noted {
		return nil
	}
	return c.write(ctx)
}

// Run notes the calls that run, until ctx ends.
func (c *Calls) Run(ctx context.Context) {
	look := time.NewTicker(callsLook)
	defer look.Stop()
	for {
		look.Stop()
		select {
		case <-ctx.Done():
			return
		case <-c.began:
		}
		look.Reset(callsLook)
		for c.busy() {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
			if !c.due() {
				continue
			}
			c.writing.Lock()
			err := c.write(ctx)
			c.writing.Unlock()
			if err != nil && ctx.Err() == nil {
				c.opts.Logger.Warn("what the model is asked now cannot be noted, will retry; a crash would not count it in budgets", "err", err)
			}
		}
	}
}

// busy reports whether a call runs, or is noted.
func (c *Calls) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running)+len(c.noted) > 0
}

// due reports whether notes must be written now.
func (c *Calls) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Now()
	if now.Sub(c.wrote) < NotedAfter {
		return false
	}
	for id := range c.noted {
		_, runs := c.running[id]
		if !runs || c.opts.Shared { // the other nodes must see that we live
			return true
		}
	}
	for id, u := range c.running {
		if !c.noted[id] && now.Sub(u.began) >= NotedAfter {
			return true
		}
	}
	return false
}

// write writes the notes of this node: all calls that run, if one of them runs for long.
// c.writing is held.
func (c *Calls) write(ctx context.Context) error {
	c.mu.Lock()
	now := c.opts.Now()
	all := slices.SortedFunc(maps.Values(c.running), func(a, b Underway) int { return strings.Compare(a.ID, b.ID) })
	long := func(u Underway) bool { return c.noted[u.ID] || now.Sub(u.began) >= NotedAfter }
	if !slices.ContainsFunc(all, long) {
		all = nil
	}
	c.mu.Unlock()
	notes, err := notesOf(all)
	if err != nil {
		return err
	}
	err = c.store.ChangeNotes(ctx, callsKind, c.node, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		for i := len(notes); i < len(have); i++ {
			remove = append(remove, noteName(i))
		}
		return notes, remove, nil
	})
	if err != nil {
		return fmt.Errorf("admission: note running calls: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noted = map[string]bool{}
	for _, u := range all {
		c.noted[u.ID] = true
	}
	c.wrote = now
	return nil
}

// notesOf are the notes with all calls.
func notesOf(all []Underway) (notes []sessions.Note, err error) {
	for some := range slices.Chunk(all, callsInNote) {
		data, err := json.Marshal(some)
		if err != nil {
			return nil, fmt.Errorf("admission: note running calls: %w", err)
		}
		notes = append(notes, sessions.Note{Name: noteName(len(notes)), Data: data})
	}
	return notes, nil
}

// noteName is the name of the i-th note of a node.
func noteName(i int) string { return fmt.Sprintf("%03d", i) }

// othersNoted reads the calls in the notes of other processes that fresh lets count.
func (c *Calls) othersNoted(ctx context.Context, fresh func(at time.Time) bool) (all []Underway, err error) {
	notes, err := c.store.Notes(ctx, sessions.NoteFilter{Kind: callsKind})
	if err != nil {
		return nil, fmt.Errorf("admission: read running calls: %w", err)
	}
	for _, n := range notes {
		if n.Owner == c.node || !fresh(n.At) {
			continue
		}
		var some []Underway
		err := json.Unmarshal(n.Data, &some)
		if err == nil { // else it is of another version
			all = append(all, some...)
		}
	}
	return all, nil
}

// Elsewhere returns the calls that run on other nodes now.
func (c *Calls) Elsewhere(ctx context.Context) ([]Underway, error) {
	if !c.opts.Shared {
		return nil, nil
	}
	now := c.opts.Now()
	return c.othersNoted(ctx, func(at time.Time) bool { return now.Sub(at) < believed })
}

package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

const (
	// maxWaiting is how many letters may wait for one hook. Each has some 500 bytes.
	maxWaiting = 1000
	// confirmWithin is how long a letter waits that was stored with a turn, before it is
	// sent although nobody said that the turn is stored: its process was killed.
	confirmWithin = 2 * time.Second
	maxRetryAfter = 24 * time.Hour
	// storeAgain is the pause after the store failed.
	storeAgain = 10 * time.Second
)

// pauses are those after each failure, of three days together.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// sender posts the letters of one URL, one at a time, in its own goroutine.
type sender struct {
	Hook
	// number, the index in the configuration, and host are for the log. The path of a URL
	// may be secret.
	number  atomic.Int32
	host    string
	http    *http.Client
	wake    chan struct{} // capacity 1: there may be something to send
	retired chan struct{} // closed when the hook is replaced
	waiting atomic.Int64  // letters that wait, as far as known
	off     atomic.Bool

	failing  outage    // used by the goroutine of deliver only
	paused   time.Time // until then nothing is sent; the same
	dropping outage    // guarded by Hooks.mu

	mu sync.Mutex
	// confirmed are the letters whose turn is stored, with their final words.
	confirmed map[string]json.RawMessage
	// kept are the ids of letters that are stored with a turn, until it is published.
	kept map[aboutTurn]string
}

// aboutTurn names an event that was stored with a turn.
type aboutTurn struct {
	event stream.Name
	key   channels.Key
	turn  string
}

// keep gives the letter of e its id, which no letter had before: another turn may have the
// same name after its conversation was deleted.
func (s *sender) keep(e *stream.Event) string {
	id := newID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= maxWaiting { // of turns that were not stored; all others are only sent a little later
		clear(s.kept)
	}
	s.kept[aboutTurn{e.Event, e.Key, e.Turn}] = id
	return id
}

// idOf is the id of the letter of e; "" if it is not known any more.
func (s *sender) idOf(e *stream.Event) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	about := aboutTurn{e.Event, e.Key, e.Turn}
	id := s.kept[about]
	delete(s.kept, about)
	return id
}

// hostOf is the host of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "its server"
	}
	return u.Host
}

// freeName is the name of a hook that no other in taken has, and takes it.
func freeName(hook Hook, taken map[string]bool) string {
	first := cmp.Or(hook.Name, strings.ReplaceAll(hostOf(hook.URL), ":", "-")+"-"+hashOf(hook.URL)[:6])
	name := first
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	taken[name] = true
	return name
}

// senderFor is the sender of hook: the present one if nothing changed. The caller holds h.mu.
func (h *Hooks) senderFor(hook Hook, number int) *sender {
	for _, s := range h.senders {
		if reflect.DeepEqual(s.Hook, hook) {
			s.number.Store(int32(number))
			return s
		}
	}
	s := &sender{
		Hook: hook, host: hostOf(hook.URL), http: newClient(), wake: make(chan struct{}, 1), retired: make(chan struct{}),
		confirmed: map[string]json.RawMessage{}, kept: map[aboutTurn]string{},
	}
	s.number.Store(int32(number))
	if h.post != nil {
		h.post(s)
	}
	return s
}

// label is the name of s in the log.
func (s *sender) label() string { return fmt.Sprintf("hooks[%d] %s", s.number.Load(), s.host) }

func (s *sender) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// retire ends the goroutine of s.
func (s *sender) retire() { close(s.retired) }

// confirm says that the letter of that id was stored, and what it is to say.
func (s *sender) confirm(id string, body json.RawMessage) {
	s.mu.Lock()
	if len(s.confirmed) < maxWaiting { // without it, the letter is only sent a little later
		s.confirmed[id] = body
	}
	s.mu.Unlock()
	s.waiting.Add(1) // until the next look, which counts them all
	s.ring()
}

// body is what a letter says, and whether it may be sent before it is due.
func (s *sender) body(e *envelope) (body json.RawMessage, confirmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if said, found := s.confirmed[e.id]; found {
		return said, e.Attempts == 0
	}
	return e.Body, false
}

func (s *sender) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.confirmed, id)
}

// full reports whether s can have no more letters.
func (s *sender) full() bool { return s.off.Load() || s.waiting.Load() >= maxWaiting }

// Keep returns the notes by which events about a turn outlive a crash: whoever commits the
// turn stores them with it, and publishes the events with Kept set afterwards. It does not
// ask for the events if no hook posts any.
func (h *Hooks) Keep(ask func() []stream.Event) []sessions.Note {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.senders) == 0 {
		return nil
	}
	var notes []sessions.Note
	events := ask()
	for _, s := range h.senders {
		for i := range events {
			if !slices.Contains(s.On, events[i].Event) || s.full() {
				continue
			}
			l, err := letterOf(s, s.keep(&events[i]), &events[i])
			if err != nil {
				continue
			}
			l.due = h.opts.Now().Add(confirmWithin)
			n, err := l.note()
			if err == nil {
				notes = append(notes, n)
			}
		}
	}
	return notes
}

// unwritten is an event that is not a letter yet.
type unwritten struct {
	s *sender
	e stream.Event
}

// emitTo has s send e. The caller holds h.mu.
func (h *Hooks) emitTo(s *sender, e stream.Event) {
	if !e.Kept {
		if h.closed || s.full() {
			h.dropLetter(s, e)
			return
		}
		select {
		case h.unwritten <- &unwritten{s, e}:
		default:
			h.dropLetter(s, e)
		}
		return
	}
	id := s.idOf(&e)
	body, err := json.Marshal(e)
	switch {
	case id == "" && s.full():
		h.dropLetter(s, e)
	case id == "" || err != nil:
		s.ring() // if it was stored, it is sent as it is
	default:
		s.confirm(id, body)
	}
}

// dropLetter counts an event that s does not get. The caller holds h.mu.
func (h *Hooks) dropLetter(s *sender, e stream.Event) {
	h.opts.Count(string(e.Event), "dropped")
	if s.dropping.note(h.opts.Now()) {
		h.opts.Logger.Warn("a hook cannot keep up or is off; events are dropped", "hook", s.label(), "event", string(e.Event), "dropped", s.dropping.count)
	}
}

// write makes letters of events until unwritten is closed. If the store cannot write, an
// event is sent at once, and once.
func (h *Hooks) write(life context.Context) {
	for u := range h.unwritten {
		l, err := letterOf(u.s, newID(), &u.e)
		if err == nil {
			err = h.put(life, &l)
		}
		if err == nil {
			u.s.waiting.Add(1)
			u.s.ring()
			continue
		}
		h.opts.Logger.Warn("an event for a hook could not be stored; it is sent once", "hook", u.s.label(), "event", string(u.e.Event), "err", err)
		got := u.s.post(life, l.id, l.Body, h.opts.Now())
		h.opts.Count(string(u.e.Event), outcomeOf(got.err))
	}
}

func outcomeOf(err error) string {
	slow := (*slowError)(nil)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &slow):
		return "timeout"
	}
	return "failed"
}

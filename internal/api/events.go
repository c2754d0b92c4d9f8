package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/internal/stream"
	"dragoman/internal/web"
)

// Listening is where events come from: a [stream.Hub].
type Listening interface {
	Listen(ctx context.Context, f stream.Filter, after string) (*stream.Listener, error)
}

// EventQuery says which events somebody wants.
type EventQuery struct {
	// Key are the conversations that the events are about; none: all that the caller may
	// read, and what is about no conversation.
	Key []channels.Key `json:"key,omitempty"`
	// Type are the events' names; none: all.
	Type []stream.Name `json:"type,omitempty"`
	// After is the id of the last event that the caller has handled. The header
	// Last-Event-ID says the same.
	After string `json:"after,omitempty"`
}

// Limits of streams of events.
const (
	// beatEvery is how often a comment shows that the connection lives. Proxies and
	// clients give up after a minute or more.
	beatEvery = 15 * time.Second
	// frameWithin is how long a reader may take for what is there.
	frameWithin = 20 * time.Second
	// maxStreams is how many streams of events there may be at the port, and maxShare how
	// many of them one person may have. The socket, and with it whoever has to look why
	// there are too many, is not limited.
	maxStreams = 256
	maxShare   = 32
)

// errStopping is why streams end with the daemon.
var errStopping = errors.New("api: the daemon stops")

// errFull and errShare refuse a stream too many.
var (
	errFull = &respond.Refusal{
		Status: http.StatusServiceUnavailable, RetryAfter: beatEvery,
		Sentence: "Too many programs listen to events. One stream for all that you may see is enough.",
	}
	errShare = &respond.Refusal{
		Status: http.StatusTooManyRequests, RetryAfter: beatEvery,
		Sentence: "You have too many streams of events. One for all that you may see is enough.",
	}
)

// events streams what happens, until the caller leaves, is too slow or may no longer be
// there, or the daemon stops. Every event of the stream is asked for anew: see eventSight.
func (s *server) events(w http.ResponseWriter, r *http.Request, q EventQuery) error {
	if s.Listening == nil {
		return ErrNoDaemon
	}
	for _, name := range q.Type {
		if !slices.ContainsFunc(eventTypes, func(t EventType) bool { return t.Name == string(name) && t.streamed }) {
			return refuse("type", "there are no events of the type %s", name)
		}
	}
	for _, k := range q.Key {
		if _, err := s.read(r.Context(), k); err != nil {
			return err
		}
	}
	if who := caller(r.Context()); !who.AtSocket() {
		if err := s.streams.begin(who.ID); err != nil {
			return err
		}
		defer s.streams.end(who.ID)
	}
	ctx, done := s.untilStopping(r.Context())
	defer done()
	after := cmp.Or(q.After, r.Header.Get("Last-Event-ID"))
	l, err := s.Listening.Listen(ctx, s.eventFilter(q), after)
	if errors.Is(err, stream.ErrCursor) {
		return refuse("after", "after is the id of an event of this stream; leave it out to begin now")
	}
	if err != nil {
		return err
	}
	defer l.Close()
	out := newFrames(w)
	began := ""
	if after == "" {
		began = l.Cursor()
	}
	out.hello(s.Now(), began)
	out.last(s.Now(), s.passEvents(ctx, l, out))
	return nil
}

// passEvents passes events on until the stream ends, and returns why. "": nobody reads.
func (s *server) passEvents(ctx context.Context, l *stream.Listener, out *frames) (why string) {
	for out.flush() {
		waiting, cancel := context.WithTimeout(ctx, beatEvery)
		events, err := l.Next(waiting)
		cancel()
		for i := range events {
			out.event(eventOf(&events[i].Event), events[i].Cursor)
		}
		switch {
		case err == nil:
		case errors.Is(context.Cause(ctx), errStopping):
			return "stopping"
		case errors.Is(context.Cause(ctx), web.ErrAccessEnded):
			return "token"
		case ctx.Err() != nil:
			return ""
		case errors.Is(err, context.DeadlineExceeded):
			out.beat(l.Cursor())
		case errors.Is(err, stream.ErrSlow):
			return "slow"
		default:
			s.Logger.Error("a stream of events failed", "err", err)
			return "failed"
		}
	}
	return ""
}

// eventFilter is what a listener with these wishes gets.
func (s *server) eventFilter(q EventQuery) stream.Filter {
	names := q.Type
	if len(names) == 0 {
		for _, t := range eventTypes {
			if t.streamed {
				names = append(names, stream.Name(t.Name))
			}
		}
	}
	return stream.Filter{
		Names: names,
		See: func(e *stream.Event) bool {
			return len(q.Key) == 0 || slices.Contains(q.Key, e.Key)
		},
		May: func(ctx context.Context, e *stream.Event) (bool, error) { return s.eventSight(ctx, e, len(q.Key) > 0) },
	}
}

// eventSight reports whether the caller may see e now. Reading along is recorded, and told
// to those who are read, where the caller named the conversation; else it is left out, as
// in lists. What is about no conversation needs the scope that its list needs.
func (s *server) eventSight(ctx context.Context, e *stream.Event, named bool) (bool, error) {
	who := caller(ctx)
	switch {
	case e.Event == stream.PairingChange, e.Event == stream.PeopleChange:
		return who.May(people.Operate), nil
	case e.Event == stream.TokenChange, e.Event == stream.SettingsChange:
		return who.May(people.Admin), nil
	case e.Person != "":
		me, err := s.person(ctx)
		return me == e.Person, err
	case e.Event == stream.JobDone, e.Event == stream.JobChange:
		return s.seesJob(ctx, e.Job)
	case e.Key.IsZero():
		return who.May(people.Read), nil
	case named || who.AtSocket() && e.Text != "":
		sight, err := s.Reads.Read(ctx, who, e.Key)
		return sight.May, err
	}
	sight, err := s.sight(ctx, e.Key)
	if err == nil && !sight.May && e.Event == stream.ApprovalChange {
		return s.decidesUnread(ctx, s.deciding(ctx), e.Key) // as the list has it
	}
	return sight.May, err
}

// seesJob reports whether the list of jobs shows the caller a job, or did while it was a
// reminder of theirs. "" is several.
func (s *server) seesJob(ctx context.Context, name string) (bool, error) {
	if name == "" || caller(ctx).May(people.Operate) {
		return true, nil
	}
	own, err := s.ownReminder(ctx, name)
	if own || err != nil {
		return own, err
	}
	mine, err := s.seenJobs(ctx)
	return slices.ContainsFunc(mine, func(j Job) bool { return j.Name == name }), err
}

// untilStopping is a context that also ends when the daemon stops. The caller calls done.
func (s *server) untilStopping(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-s.Stopping: // never, if it is nil
			cancel(errStopping)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		waiting.Wait()
	}
}

// streamCount counts the streams of events at the port. Its zero value counts none.
type streamCount struct {
	mu  sync.Mutex
	n   int
	per map[string]int // by person
}

// begin counts one more of a person, unless there are too many.
func (c *streamCount) begin(person string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.per[person] >= maxShare:
		return errShare
	case c.n >= maxStreams:
		return errFull
	}
	if c.per == nil {
		c.per = map[string]int{}
	}
	c.n++
	c.per[person]++
	return nil
}

func (c *streamCount) end(person string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	c.per[person]--
	if c.per[person] == 0 {
		delete(c.per, person)
	}
}

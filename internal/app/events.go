package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"dragoman/internal/gateway"
	"dragoman/internal/hooks"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// openEvents makes the stream of events, and has the store tell it what it stores.
func (d *Daemon) openEvents(store *engine.Store) {
	d.events = stream.New(stream.Options{Source: storedEvents{store}, Cut: d.countCut})
	row := func(r sessions.Recent) { d.events.Publish(eventOf(&r)) }
	outcome := func(o sessions.Occurrence) { d.events.Publish(jobEvent(o)) }
	store.Watch(row, outcome)
}

// eventOf is the event about a row of a queue.
func eventOf(r *sessions.Recent) stream.Event {
	e := stream.Event{Event: stream.MessageAccepted, Key: r.Key, Seq: r.Seq, ID: r.ID, At: r.At}
	if r.State != "" {
		e.Event = stream.DeliveryChanged
		e.State = r.State
		e.Attempts = r.Attempts
		e.Turn = r.Turn
		e.At = time.Time{} // of the change, not of the row
	}
	return e
}

func jobEvent(o sessions.Occurrence) stream.Event {
	at := o.At
	if o.Changed.After(at) {
		at = o.Changed
	}
	return stream.Event{Event: stream.JobDone, At: at, Job: o.Job, Due: o.Due, Outcome: o.Outcome, Why: o.Why}
}

// storedEvents finds in the store what a listener missed.
type storedEvents struct{ *engine.Store }

// Since implements [stream.Source].
func (s storedEvents) Since(ctx context.Context, t time.Time, limit int, see func(*stream.Event) bool) (events []stream.Event, whole bool, err error) {
	list, whole, err := s.Rows(ctx, t)
	if err != nil || !whole {
		return nil, whole, err
	}
	add := func(e stream.Event) {
		if len(events) < limit && see(&e) {
			events = append(events, e)
		}
	}
	for i := range list {
		add(list[i])
	}
	// The newest by their due times may be old by At: a late one, or one of a job that took
	// long. So all are looked at, whatever the listener may see.
	outcomes, err := s.Occurrences(ctx, "", math.MaxInt)
	if err != nil {
		return nil, false, err
	}
	var done []stream.Event
	for _, o := range outcomes {
		if e := jobEvent(o); !e.At.Before(t) {
			done = append(done, e)
		}
	}
	slices.SortStableFunc(done, func(a, b stream.Event) int { return a.At.Compare(b.At) })
	for i := range done {
		add(done[i])
	}
	return events, true, nil
}

// Rows implements [stream.Source].
func (s storedEvents) Rows(ctx context.Context, t time.Time) (events []stream.Event, whole bool, err error) {
	list, whole, err := s.Recent(ctx, t)
	if err != nil || !whole {
		return nil, whole, err
	}
	for i := range list {
		events = append(events, eventOf(&list[i]))
	}
	return events, true, nil
}

// States implements [stream.Source].
func (s storedEvents) States(ctx context.Context, rows []stream.Ref) ([]stream.Event, error) {
	var events []stream.Event
	for _, ref := range rows {
		d, err := s.Row(ctx, ref.Key, ref.Seq)
		if errors.Is(err, sessions.ErrNotFound) {
			continue // it was erased
		}
		if err != nil {
			return nil, err
		}
		events = append(events, eventOf(&d))
	}
	return events, nil
}

// The calls between nodes about events: to ask for news, and to tell them.
const (
	askNewsMethod = "events.ask"
	newsMethod    = "events.news"
)

// otherNodes are those that share the store, for the follower of the events.
type otherNodes struct{ sessions.Peers }

// AskForNews implements [stream.Others].
func (o otherNodes) AskForNews(ctx context.Context) error { return o.tell(ctx, askNewsMethod, nil) }

// TellNews implements [stream.Others].
func (o otherNodes) TellNews(ctx context.Context, n stream.News) error {
	args, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return o.tell(ctx, newsMethod, args)
}

func (o otherNodes) tell(ctx context.Context, method string, args []byte) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return everybody(ctx, o.Peers, method, args)
}

// openFollower makes listeners here learn what other nodes do.
func (d *Daemon) openFollower() {
	if d.peers != nil {
		d.follower = stream.NewFollower(d.events, otherNodes{d.peers}, func(err error) {
			d.log.Warn("cannot follow what other nodes do; will try again", "err", err)
		})
	}
}

// newsMethods are the calls of other nodes about events.
func newsMethods(f *stream.Follower) map[string]gateway.Method {
	if f == nil {
		return nil
	}
	return map[string]gateway.Method{
		askNewsMethod: func(context.Context, []byte) ([]byte, error) {
			f.Asked()
			return nil, nil
		},
		newsMethod: func(ctx context.Context, args []byte) ([]byte, error) {
			var n stream.News
			if err := json.Unmarshal(args, &n); err != nil {
				return nil, err
			}
			return nil, f.Told(ctx, n)
		},
	}
}

// feedHooks passes the events for hooks on, until stop is called. stop returns when the
// hooks have those that came before.
func feedHooks(from *stream.Hub, to *hooks.Hooks, log *slog.Logger) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	l := listenForHooks(from, to)
	go func() {
		defer close(done)
		for {
			events, err := l.Next(ctx)
			for _, e := range events {
				to.Emit(e.Event)
			}
			switch {
			case errors.Is(err, stream.ErrSlow):
				log.Warn("events came faster than they could be passed to the hooks; some are lost")
				l.Close()
				l = listenForHooks(from, to)
				to.Missed()
			case ctx.Err() != nil && err != nil:
				l.Close()
				emitRest(l, to)
				return
			}
		}
	}()
	return func() {
		end()
		<-done
	}
}

// emitRest passes on what came before l was closed.
func emitRest(l *stream.Listener, to *hooks.Hooks) {
	for {
		rest, err := l.Next(context.Background())
		if err != nil {
			return
		}
		for _, e := range rest {
			to.Emit(e.Event)
		}
	}
}

// listenForHooks listens to what a hook of to wants now. Most daemons have no hooks, and
// then no event wakes the goroutine that passes them on.
func listenForHooks(from *stream.Hub, to *hooks.Hooks) *stream.Listener {
	wanted := func(e *stream.Event) bool { return to.Wants(e.Event) }
	l, err := from.Listen(context.Background(), stream.Filter{Names: stream.ForHooks(), See: wanted, Leaves: true}, "")
	if err != nil {
		panic("app: listen to events: " + err.Error()) // only a look for missed events can fail
	}
	return l
}

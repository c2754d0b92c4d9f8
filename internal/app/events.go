package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

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
	return stream.Event{Event: stream.JobDone, At: o.At, Job: o.Job, Due: o.Due, Outcome: o.Outcome, Why: o.Why}
}

// storedEvents finds in the store what a listener missed.
type storedEvents struct{ *engine.Store }

// Since implements [stream.Source].
func (s storedEvents) Since(ctx context.Context, t time.Time, limit int, see func(*stream.Event) bool) (events []stream.Event, whole bool, err error) {
	list, whole, err := s.Recent(ctx, t)
	if err != nil || !whole {
		return nil, whole, err
	}
	add := func(e stream.Event) {
		if len(events) < limit && see(&e) {
			events = append(events, e)
		}
	}
	for i := range list {
		add(eventOf(&list[i]))
	}
	outcomes, err := s.Occurrences(ctx, "", limit)
	if err != nil {
		return nil, false, err
	}
	for i := len(outcomes) - 1; i >= 0; i-- { // they are newest first
		if !outcomes[i].At.Before(t) {
			add(jobEvent(outcomes[i]))
		}
	}
	return events, true, nil
}

// States implements [stream.Source].
func (s storedEvents) States(ctx context.Context, deliveries []stream.Ref) ([]stream.Event, error) {
	var events []stream.Event
	for _, ref := range deliveries {
		d, err := s.Delivery(ctx, ref.Key, ref.Seq)
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

// feedHooks passes the events for hooks on, until stop is called. stop returns when the
// hooks have those that came before.
func feedHooks(from *stream.Hub, to *hooks.Hooks, log *slog.Logger) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	l := listenForHooks(from)
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
				l = listenForHooks(from)
			case ctx.Err() != nil && err != nil:
				l.Close()
				rest, _ := l.Next(context.Background()) // what came before Close
				for _, e := range rest {
					to.Emit(e.Event)
				}
				return
			}
		}
	}()
	return func() {
		end()
		<-done
	}
}

func listenForHooks(from *stream.Hub) *stream.Listener {
	l, err := from.Listen(context.Background(), stream.Filter{Names: stream.ForHooks()}, "")
	if err != nil {
		panic("app: listen to events: " + err.Error()) // only a look for missed events can fail
	}
	return l
}

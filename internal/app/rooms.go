package app

import (
	"context"
	"errors"
	"slices"

	"dragoman/channels/live"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// feedRooms tells the page and the terminal which of their conversations have changed and
// which tools run there, until ctx ends. A room that misses a change shows it with the next
// one.
func (d *Daemon) feedRooms(ctx context.Context) {
	var hubs []*live.Hub
	for _, h := range []*live.Hub{d.channels.web, d.channels.terminal} {
		if h != nil {
			hubs = append(hubs, h)
		}
	}
	ours := stream.Filter{
		Own:    true, // the hubs of several nodes tell each other
		Leaves: true,
		Names:  []stream.Name{stream.MessageAccepted, stream.DeliveryChanged, stream.TurnDone, stream.ToolBegun},
		See: func(e *stream.Event) bool {
			ours := func(h *live.Hub) bool { return h.Name() == e.Key.Channel() }
			return !shownBySend(e) && slices.ContainsFunc(hubs, ours)
		},
	}
	for ctx.Err() == nil {
		l, err := d.events.Listen(ctx, ours, "")
		if err != nil {
			return // ctx has ended: there is nothing to look up
		}
		err = passToRooms(ctx, l, hubs)
		l.Close()
		if errors.Is(err, stream.ErrSlow) {
			d.log.Debug("the rooms read events too slowly; they go on with the next ones")
		}
	}
}

// shownBySend reports whether e is about an answer that the room's Send shows: it knows
// which preview the answer replaces.
func shownBySend(e *stream.Event) bool {
	switch e.Event {
	case stream.TurnDone:
		return e.Outcome == "answered" || e.Outcome == "failed"
	case stream.DeliveryChanged:
		return e.State == sessions.DeliveryQueued || e.State == sessions.DeliverySending
	}
	return false
}

// passToRooms passes events on until l fails. Several events of one conversation are one
// look at it.
func passToRooms(ctx context.Context, l *stream.Listener, hubs []*live.Hub) error {
	for {
		events, err := l.Next(ctx)
		if err != nil {
			return err
		}
		for i, e := range events {
			tool := e.Event.Event == stream.ToolBegun
			if !tool && i+1 < len(events) && events[i+1].Key == e.Key && events[i+1].Event.Event != stream.ToolBegun {
				continue
			}
			for _, h := range hubs {
				if tool {
					h.ToolBegun(e.Key, e.Turn, e.Tool)
				} else {
					h.Changed(ctx, e.Key)
				}
			}
		}
	}
}

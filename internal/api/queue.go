package api

import (
	"context"
	"math"
	"slices"
	"time"

	"dragoman/internal/stream"
	"dragoman/sessions"
)

// Limited asks for one page of a list.
type Limited struct {
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

// QueueQuery asks for one page of the queue. Zero fields match all entries.
type QueueQuery struct {
	// Kind is in, out or aside, and State that of the entries.
	Kind  string `json:"kind,omitempty"`
	State string `json:"state,omitempty"`
	// Text must be in the key or the error; case does not matter.
	Text string `json:"text,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

// QueueItem is an entry of inbox, outbox or quarantine.
type QueueItem struct {
	ID        string    `json:"id"`   // "in/telegram:5/12", "out/telegram:5/13", "aside/irc/ID"
	Kind      string    `json:"kind"` // "in", "out", "aside"
	Key       string    `json:"key"`  // the channel alone, if the chat is not known
	State     string    `json:"state"`
	Attempts  int       `json:"attempts"`
	At        time.Time `json:"at"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	Bytes     int       `json:"bytes"`
	Text      string    `json:"text,omitempty"` // of a single entry only
	// Delivery is the id of an "out" that events and hooks have. The queue accepts it, too.
	Delivery string `json:"delivery,omitempty"`
}

func queueItemOf(i sessions.QueueItem) QueueItem {
	key := i.Channel
	if !i.Key.IsZero() {
		key = i.Key.String()
	}
	return QueueItem{
		ID: i.ID, Kind: string(i.Lane), Key: key, State: string(i.State), Attempts: i.Attempts,
		At: i.At, NotBefore: i.NotBefore, Error: i.Error, Bytes: i.Bytes, Text: i.Text, Delivery: i.Delivery,
	}
}

// Item is an entry of the queue by its id, like "out/telegram:123456/7".
type Item struct {
	ID string `json:"id"`
}

func (s *server) queue(ctx context.Context, q QueueQuery) (Page[QueueItem], error) {
	if !slices.Contains([]string{"", "in", "out", "aside"}, q.Kind) {
		return Page[QueueItem]{}, refuse("kind", "kind is in, out or aside")
	}
	items, err := s.Store.ListQueue(ctx, math.MaxInt)
	if err != nil {
		return Page[QueueItem]{}, err
	}
	at := func(i QueueItem) place { return place{At: i.At, ID: i.ID} }
	list := slices.DeleteFunc(each(items, queueItemOf), func(i QueueItem) bool {
		other := q.Kind != "" && i.Kind != q.Kind || q.State != "" && i.State != q.State
		return other || !hasWords(q.Text, i.Key, i.Error)
	})
	return pageAfter(list, at, oldestFirst, q.After, q.Limit)
}

func (s *server) queueItem(ctx context.Context, i Item) (QueueItem, error) {
	found, err := s.Store.ShowQueue(ctx, i.ID)
	if err != nil {
		return QueueItem{}, err
	}
	may := AtSocket(ctx) // also reads what belongs to no conversation
	if found.Text != "" && !found.Key.IsZero() {
		sight, err := s.found(ctx, found.Key)
		if err != nil {
			return QueueItem{}, err
		}
		may = may || sight.May && !hidesSome(sight)
	}
	if !may {
		found.Text = ""
	}
	return queueItemOf(found), nil
}

func (s *server) retry(ctx context.Context, i Item) error {
	return s.Store.RetryQueue(ctx, i.ID)
}

// drop also emits the end of a delivery, unless the gateway did so when it gave
// the delivery up.
func (s *server) drop(ctx context.Context, i Item) error {
	was, err := s.Store.ShowQueue(ctx, i.ID)
	if err != nil {
		return err
	}
	if err := s.Store.DropQueue(ctx, i.ID); err != nil {
		return err
	}
	if was.Lane == sessions.LaneOut && was.State != sessions.QueueDead {
		s.emit(stream.Event{Event: stream.DeliveryDead, Key: was.Key, Delivery: was.Delivery, Attempts: was.Attempts})
	}
	return nil
}

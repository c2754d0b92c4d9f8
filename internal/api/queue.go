package api

import (
	"context"
	"fmt"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// Limited asks for the first items of a list.
type Limited struct {
	Limit int `json:"limit,omitempty"`
}

// Item is an entry of the queue by its id, like "out/telegram:123456/7".
type Item struct {
	ID string `json:"id"`
}

func (s *server) queue(ctx context.Context, q Limited) (Page[sessions.QueueItem], error) {
	return pageOf(s.Store.ListQueue(ctx, page(q.Limit)))
}

func (s *server) queueItem(ctx context.Context, i Item) (sessions.QueueItem, error) {
	found, err := s.Store.ShowQueue(ctx, i.ID)
	if err != nil {
		return found, err
	}
	may := AtSocket(ctx) // also reads what belongs to no conversation
	k, err := channels.ParseKey(found.Key)
	if err == nil && !may {
		may, err = s.mayRead(ctx, k)
		if err != nil {
			return sessions.QueueItem{}, err
		}
	}
	if !may {
		found.Text = ""
	}
	return found, nil
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
	if was.Kind == "out" && was.State != string(sessions.DeliveryDead) {
		k, err := channels.ParseKey(was.Key)
		if err != nil {
			return fmt.Errorf("api: it was given up, but the hooks could not be notified: %w", err)
		}
		s.emit(stream.Event{Event: stream.DeliveryDead, Key: k, Delivery: was.Delivery, Attempts: was.Attempts})
	}
	return nil
}

package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A delivery that an operator gives up is reported to the hooks like one that
// the gateway gave up, and none is reported twice.
func TestDropIsTold(t *testing.T) {
	ctx := t.Context()
	s := sqlitetest.Open(t, now)
	defer s.Close()
	k := channels.MustKey("telegram:1")
	if _, err := s.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: k, ID: "a", Text: "hello"}, Answered: true, Replies: []sessions.Reply{{Text: "dead"}, {Text: "tried"}},
	}); err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	err := s.Run(running, func(ctx context.Context, c sessions.Claim) error {
		defer end()
		ds, err := s.Unsent(ctx, c, 10)
		if err != nil || len(ds) == 0 {
			return err
		}
		return errors.Join(
			s.MarkSending(ctx, c, ds[0].ID), s.MarkDead(ctx, c, ds[0].ID, "blocked"),
			s.MarkSending(ctx, c, ds[1].ID), s.Reschedule(ctx, c, ds[1].ID, began.Add(time.Hour), false, "away"),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey("telegram:2"), ID: "b", Text: "wait"}}); err != nil {
		t.Fatal(err)
	}
	var told []stream.Event
	o := optionsOf(s)
	o.Events = func(e stream.Event) { told = append(told, e) }
	c := api.InProcess(api.New(o))
	defer c.Close()
	items, err := api.ListQueue.Call(ctx, c, api.QueueQuery{Limit: 10})
	if err != nil || len(items.Data) != 3 {
		t.Fatalf("Queue = %+v, %v, want 3", items, err)
	}
	var want []stream.Event
	for _, i := range items.Data {
		if err := api.DropQueue.Call(ctx, c, api.Item{ID: i.ID}); err != nil {
			t.Error(err)
		}
		if err := api.DropQueue.Call(ctx, c, api.Item{ID: i.ID}); !errors.Is(err, sessions.ErrConflict) {
			t.Errorf("DropQueue(%s) again = %v, want ErrConflict", i.ID, err)
		}
		if i.Error == "away" {
			want = append(want, stream.Event{Event: stream.DeliveryDead, At: began, Key: k, Delivery: i.Delivery, Attempts: 1})
		}
	}
	if diff := cmp.Diff(want, told, cmpopts.EquateComparable(channels.Key{})); diff != "" || len(want) != 1 {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

package stream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/stream"
	"dragoman/sessions"
)

// others reaches nobody.
type others struct{}

func (others) AskForNews(context.Context) error            { return nil }
func (others) TellNews(context.Context, stream.News) error { return nil }

// What another process stored while nobody listened here, a listener that comes back gets
// from the store: the hub's memory has only what its own process did.
func TestComingBackAfterNobodyListened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := stream.New(stream.Options{Source: s})
		f := stream.NewFollower(h, others{}, func(err error) { t.Error(err) })
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go f.Run(ctx)

		l := listen(t, h, stream.Filter{}, "")
		h.Publish(sent(2, sessions.DeliverySent))
		_, cursor := next(t, l)
		l.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		s.rows = []stream.Event{sent(4, sessions.DeliverySent)} // of another process
		got, _ := next(t, listen(t, h, stream.Filter{}, cursor))
		if len(got) != 1 || got[0] != "delivery_changed d4 sent" {
			t.Errorf("the listener that came back got %q", got)
		}
	})
}

// A state that was read before it changed does not come after the later one.
func TestOlderStateComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := stream.New(stream.Options{Source: s})
		f := stream.NewFollower(h, others{}, func(err error) { t.Error(err) })
		l := listen(t, h, stream.Filter{}, "")
		h.Publish(sent(2, sessions.DeliverySent))
		next(t, l)
		s.states = map[int64]sessions.DeliveryState{2: sessions.DeliverySending}
		e := sent(2, sessions.DeliverySending)
		if err := f.Told(t.Context(), stream.News{Rows: []stream.Ref{{Key: e.Key, Seq: 2}}}); err != nil {
			t.Fatal(err)
		}
		nothing(t, l)
	})
}
